/**
 * The base of every provider that speaks OpenAI's own wire: the differences of a runtime are data.
 */
import type { ChatBody } from '../../call.ts'
import type { Dialect, Provider } from '../contract.ts'
import type { ProviderFacts } from '../facts-contract.ts'
import { classifyAnswer, type Recogniser } from '../failures/classify.ts'
import { readAnswer } from './answer.ts'
import { OTHER_NAME } from './members.ts'
import type { Repair } from './repair.ts'
import { encodeBody } from './request.ts'
import { openReader } from './stream.ts'

export interface OpenAiLike {
  /** The member that bounds a completion when the gateway sets the bound. */
  readonly maxTokens: 'max_tokens' | 'max_completion_tokens'
  /** The other of the two is not understood, or not beside it: a client's value moves. */
  readonly maxTokensOnly?: boolean
  /** The bound sent when nobody gives one, because the runtime's own default cuts answers short. */
  readonly maxTokensDefault?: number
  /** Whether messages may have the role `developer`; else it becomes `system`. */
  readonly developerRole: boolean
  /**
   * Several choices are never given there: asking for them is refused rather than answered with
   * one.
   */
  readonly oneChoice?: boolean
  /** Members without effect there, or refused, or misread. */
  readonly drop?: readonly string[]
  /** The only members understood, where all others are refused. */
  readonly allow?: readonly string[]
  /** Members that must have other values there; `undefined` removes one. */
  readonly rewrite?: (body: ChatBody) => Readonly<Record<string, unknown>>
  /** Finish reasons that are failures. */
  readonly failing?: readonly string[]
  /** Reasoning has another name there than the one most clients read. */
  readonly renamesReasoning?: boolean
  /** Events without choices and usage are noise. */
  readonly dropsEmptyChoices?: boolean
  /** What has to be put right in answers; every event is read then. */
  readonly repair?: Repair
  /** Tried before those of every upstream. */
  readonly recognisers: readonly Recogniser[]
  /** Path and authentication where they are not OpenAI's. */
  readonly path?: (dialect: Dialect) => string
  readonly authentication?: (dialect: Dialect) => Readonly<Record<string, string>>
}

export function openAiLike(facts: ProviderFacts, options: OpenAiLike): Provider {
  const { recognisers } = options
  const headersOf = headersFor(options.authentication ?? bearer)
  return {
    ...facts,
    ...(options.renamesReasoning && { marks: [OTHER_NAME] }),
    passesBytes: options.repair === undefined && options.dropsEmptyChoices !== true,
    encode: (request, dialect, maxTokens) => ({
      path: options.path?.(dialect) ?? '/chat/completions',
      headers: headersOf(dialect)[request.stream ? 'stream' : 'whole'],
      body: encodeBody(request, dialect, maxTokens, options),
    }),
    decode: (body, request) => readAnswer(body, request, options),
    openStream: (request) => openReader(request, options),
    classify: (status, headers, body) => classifyAnswer(recognisers, status, headers, body),
  }
}

type Headers = Readonly<Record<string, string>>

/** They are the same for every request of an upstream, so they are made once for it. */
function headersFor(authentication: (dialect: Dialect) => Headers) {
  const made = new WeakMap<Dialect, { readonly stream: Headers; readonly whole: Headers }>()
  return (dialect: Dialect) => {
    const known = made.get(dialect)
    if (known !== undefined) return known
    const make = (accept: string): Headers => ({
      'content-type': 'application/json',
      accept,
      // Compressed events would arrive in blocks.
      'accept-encoding': 'identity',
      ...authentication(dialect),
    })
    const fresh = { stream: make('text/event-stream'), whole: make('application/json') }
    made.set(dialect, fresh)
    return fresh
  }
}

export function bearer(dialect: Dialect): Record<string, string> {
  return dialect.credential === '' ? {} : { authorization: `Bearer ${dialect.credential}` }
}
