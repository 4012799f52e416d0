/** The parameters that an upstream may set for every request: their values, and the members that only the gateway sets. */
import { EFFORTS } from './capabilities.ts'

/** The values of a parameter. */
export type ParameterKind =
  | { readonly kind: 'number' | 'integer'; readonly least: number; readonly most: number }
  | { readonly kind: 'boolean' | 'text' | 'texts' | 'integers' | 'object' | 'objects' }
  | { readonly kind: 'one of'; readonly values: readonly string[] }

/** A parameter of one vendor's API, as that API writes it. */
export interface VendorParameter {
  readonly values: ParameterKind
  /** The object in the body that has it; absent: the body itself. */
  readonly below?: string
  /** Its name there, if that is another one. */
  readonly as?: string
  /** Whether only conversations have it; absent: legacy completions have it too. */
  readonly isOfChats?: boolean
}

/** A parameter of OpenAI's API that the gateway translates for every provider. */
export interface CommonParameter {
  readonly values: ParameterKind
  readonly isOfChats?: boolean
}

const within = (least: number, most: number): ParameterKind => ({ kind: 'number', least, most })

/** The largest number that every parser reads exactly. */
const EXACT_MOST = Number.MAX_SAFE_INTEGER
/** As in `max_tokens_default`. */
const LIMIT: ParameterKind = { kind: 'integer', least: 1, most: 10_000_000 }

/** The names of a limit of tokens; they mean the same. */
export const LIMITS = ['max_tokens', 'max_completion_tokens'] as const

export const COMMON: Readonly<Record<string, CommonParameter>> = {
  temperature: { values: within(0, 2) },
  top_p: { values: within(0, 1) },
  presence_penalty: { values: within(-2, 2) },
  frequency_penalty: { values: within(-2, 2) },
  seed: { values: { kind: 'integer', least: -EXACT_MOST, most: EXACT_MOST } },
  stop: { values: { kind: 'texts' } },
  logit_bias: { values: { kind: 'object' } },
  max_tokens: { values: LIMIT },
  max_completion_tokens: { values: LIMIT },
  reasoning_effort: { values: { kind: 'one of', values: EFFORTS }, isOfChats: true },
  verbosity: { values: { kind: 'one of', values: ['low', 'medium', 'high'] }, isOfChats: true },
  service_tier: { values: { kind: 'text' }, isOfChats: true },
}

/** Members of a vendor that have no separate parameter. */
export const EXTRA_BODY = 'extra_body'

/** Members of requests that the gateway sets, counts or checks: the client's question, its identity, the number of answers. */
export const OWNED: ReadonlySet<string> = new Set([
  'background',
  'best_of',
  'cache_salt',
  'contents',
  'conversation',
  'documents',
  'function_call',
  'functions',
  'input',
  'inputs',
  'instructions',
  'messages',
  'metadata',
  'model',
  'n',
  'previous_response_id',
  'prompt',
  'query',
  'safety_identifier',
  'store',
  'stream',
  'stream_options',
  'system',
  'systemInstruction',
  'tool_choice',
  'tools',
  'user',
])

/** Other names of the limit of tokens and of the number of answers, in the APIs of vendors. */
export const LIMITS_OF_VENDORS: ReadonlySet<string> = new Set([
  'candidateCount',
  'candidate_count',
  'maxOutputTokens',
  'maxTokens',
  'max_new_tokens',
  'max_output_tokens',
  'n_predict',
  'num_ctx',
  'num_predict',
])
