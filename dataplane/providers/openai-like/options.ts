/** The differences of a runtime with OpenAI's wire. */
import type { ChatBody, CompletionsBody, EmbeddingsRequest } from '../../wire/inner-form.ts'
import type { ProviderSettings } from '../../wire/provider.ts'
import type { Recogniser } from '../failures/classify.ts'
import type { ResponsesOptions } from '../native/responses.ts'
import type { TranscriptionOptions } from '../transcription/operation.ts'
import type { Takes } from './asking/conversation.ts'
import type { Repair } from './repair.ts'

export interface OpenAiLike {
  /** The member for a limit that the gateway sets. */
  readonly maxTokens: 'max_tokens' | 'max_completion_tokens'
  /** The member that the runtime does not support, or not beside the other one: a client's value moves. */
  readonly maxTokensOnly?: boolean
  /** The limit if neither client nor route sets one, because the runtime's short default would cut answers. */
  readonly maxTokensDefault?: number
  /** The gateway does not ask streams for usage: the runtime sends it anyway, or refuses to be asked. */
  readonly usageUnasked?: boolean
  /** Whether the runtime can send the usage so far with each piece of a stream; the gateway then asks for it. */
  readonly repeatsUsage?: boolean
  /** The messages that the runtime accepts unchanged; others are changed. */
  readonly takes?: Takes
  /** Members that the runtime does not support: omitted if they request nothing, else refused. */
  readonly cannot?: readonly string[]
  /** Hints without effect at the runtime: omitted. */
  readonly hints?: readonly string[]
  /** Whether the runtime limits user names, and requires types and properties in function schemas, as OpenAI does. */
  readonly isStrict?: boolean
  /** Members that clients may not set: omitted from every request. */
  readonly own?: readonly string[] | undefined
  /** The only members that the runtime accepts, if it refuses others: those are omitted. */
  readonly allow?: readonly string[]
  /** Members that need other values there; `undefined` removes a member. */
  readonly rewrite?: (body: ChatBody) => Readonly<Record<string, unknown>>
  /** Finish reasons that are failures. */
  readonly failing?: readonly string[]
  /** Other members of a stream's usage event; clients get them even if they asked for no usage. */
  readonly besideUsage?: readonly string[]
  /** Whether the runtime sends events with verdicts on content and no part of an answer; clients do not get them. */
  readonly sendsVerdicts?: boolean
  /** The model's name at the runtime, if it differs from the configured `model`. */
  readonly model?: (settings: ProviderSettings) => string
  /** Corrections of answers; the gateway then reads every event. */
  readonly repair?: Repair
  /** Differences of chat requests for upstreams with some settings. */
  readonly variant?: {
    isFor(settings: ProviderSettings): boolean
    readonly options: Partial<OpenAiLike>
  }
  /** Tried before the recognisers of every upstream. */
  readonly recognisers: readonly Recogniser[]
  /** Its embeddings; absent if it has none. */
  readonly embeddings?: EmbeddingsOptions
  /** Its legacy completions; absent if it has none. */
  readonly completions?: CompletionsOptions
  /** Its transcriptions; absent if it has none. */
  readonly transcription?: Pick<TranscriptionOptions, 'isLikeChat'>
  /** Its own Responses API, if the gateway uses that. */
  readonly responses?: Pick<ResponsesOptions, 'seals' | 'keeps'>
  /** Path and authentication if they differ from OpenAI's; `path` gets OpenAI's path. */
  readonly path?: (settings: ProviderSettings, path: string) => string
  readonly authentication?: (settings: ProviderSettings) => Readonly<Record<string, string>>
}

export interface EmbeddingsOptions {
  /** Whether clients' token numbers are valid for its models; for other models they would be other words. */
  readonly takesTokens?: boolean
  /** Hints without effect at the runtime: omitted. */
  readonly hints?: readonly string[]
  /** The only members that the runtime accepts, if it refuses all others. */
  readonly allow?: readonly string[]
  /** Members with other names at the runtime. */
  readonly rewrite?: (request: EmbeddingsRequest) => Readonly<Record<string, unknown>>
}

export interface CompletionsOptions {
  /** Members that the runtime does not support: omitted if they request nothing, else refused. */
  readonly cannot?: readonly string[]
  /** Hints without effect at the runtime: omitted. */
  readonly hints?: readonly string[]
  /** The only members that the runtime accepts, if it refuses others: those are omitted. */
  readonly allow?: readonly string[]
  /** Members that need other values there; `undefined` removes a member. */
  readonly rewrite?: (body: CompletionsBody) => Readonly<Record<string, unknown>>
  /** The prompts that it accepts; absent: texts and lists of tokens, one or several. */
  readonly prompts?: 'texts' | 'one text'
  /** Whether its streams send an empty finish reason until the end; clients would treat it as one. */
  readonly emptyReasons?: boolean
  /** The usage covers one choice: the first in a whole answer, each at its end in a stream. */
  readonly usagePerChoice?: boolean
  /** Its log probabilities have the form of chat completions, and 0 requests none. */
  readonly chatLogprobs?: boolean
}
