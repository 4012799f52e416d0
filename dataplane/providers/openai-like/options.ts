/** The differences of a runtime that speaks OpenAI's wire. */
import type { ChatBody, CompletionsBody, EmbeddingsRequest } from '../../wire/inner-form.ts'
import type { ProviderSettings } from '../../wire/provider.ts'
import type { Recogniser } from '../failures/classify.ts'
import type { ResponsesOptions } from '../native/responses.ts'
import type { TranscriptionOptions } from '../transcription/operation.ts'
import type { Takes } from './asking/conversation.ts'
import type { Repair } from './repair.ts'

export interface OpenAiLike {
  /** The member that bounds a completion when the gateway sets the bound. */
  readonly maxTokens: 'max_tokens' | 'max_completion_tokens'
  /** The other of the two is not understood, or not beside it: a client's value moves. */
  readonly maxTokensOnly?: boolean
  /** The limit sent where neither client nor route gives one, because the runtime's own default cuts answers short. */
  readonly maxTokensDefault?: number
  /** A stream is never asked for its usage: it comes unasked, or a request that asks for it is refused. */
  readonly usageUnasked?: boolean
  /** Whether it can say the usage so far beside each piece of a stream: then it is asked to. */
  readonly repeatsUsage?: boolean
  /** The messages that it takes as clients write them; others are changed. */
  readonly takes?: Takes
  /** Members that it cannot do: left out where they ask for nothing, else refused. */
  readonly cannot?: readonly string[]
  /** Members without effect there that only wish: left out. */
  readonly hints?: readonly string[]
  /** Whether it bounds names of who asks, and wants types and properties in schemas of functions, as OpenAI does. */
  readonly isStrict?: boolean
  /** Members that are no client's to set: left out of every request. */
  readonly own?: readonly string[] | undefined
  /** The only members understood, where others are refused: those are left out. */
  readonly allow?: readonly string[]
  /** Members that must have other values there; `undefined` removes one. */
  readonly rewrite?: (body: ChatBody) => Readonly<Record<string, unknown>>
  /** Finish reasons that are failures. */
  readonly failing?: readonly string[]
  /** Members of a stream's usage event that say something else; clients get them though they asked for no usage. */
  readonly besideUsage?: readonly string[]
  /** Whether it sends events with verdicts on content and no piece of an answer; clients do not get them. */
  readonly sendsVerdicts?: boolean
  /** The name of the model there, where it is not the configured `model`. */
  readonly model?: (settings: ProviderSettings) => string
  /** Corrections of answers; every event is read then. */
  readonly repair?: Repair
  /** How chat requests differ for upstreams with some settings. */
  readonly variant?: {
    isFor(settings: ProviderSettings): boolean
    readonly options: Partial<OpenAiLike>
  }
  /** Tried before those of every upstream. */
  readonly recognisers: readonly Recogniser[]
  /** Its embeddings; absent where it has none. */
  readonly embeddings?: EmbeddingsOptions
  /** Its legacy completions; absent where it has none. */
  readonly completions?: CompletionsOptions
  /** Its transcriptions; absent where it has none. */
  readonly transcription?: Pick<TranscriptionOptions, 'isLikeChat'>
  /** Its own Responses API, where it is asked by that. */
  readonly responses?: Pick<ResponsesOptions, 'seals' | 'keeps'>
  /** Path and authentication where they are not OpenAI's; `path` gets OpenAI's own. */
  readonly path?: (settings: ProviderSettings, path: string) => string
  readonly authentication?: (settings: ProviderSettings) => Readonly<Record<string, string>>
}

export interface EmbeddingsOptions {
  /** Whether clients' token numbers are those of its models; elsewhere they would be other words. */
  readonly takesTokens?: boolean
  /** Members without effect there that only wish: left out. */
  readonly hints?: readonly string[]
  /** The only members understood, where all others are refused. */
  readonly allow?: readonly string[]
  /** Members under other names there. */
  readonly rewrite?: (request: EmbeddingsRequest) => Readonly<Record<string, unknown>>
}

export interface CompletionsOptions {
  /** Members that it cannot do: left out where they ask for nothing, else refused. */
  readonly cannot?: readonly string[]
  /** Members without effect there that only wish: left out. */
  readonly hints?: readonly string[]
  /** The only members understood, where others are refused: those are left out. */
  readonly allow?: readonly string[]
  /** Members that must have other values there; `undefined` removes one. */
  readonly rewrite?: (body: CompletionsBody) => Readonly<Record<string, unknown>>
  /** The prompts that it takes; absent: texts and lists of tokens, one or several. */
  readonly prompts?: 'texts' | 'one text'
  /** Whether its streams have an empty finish reason until the end; clients would read one. */
  readonly emptyReasons?: boolean
  /** Its usage is that of one choice: of the first in a whole answer, of each at its end in a stream. */
  readonly usagePerChoice?: boolean
  /** Its log probabilities are those of chat completions, and 0 asks it for none. */
  readonly chatLogprobs?: boolean
}
