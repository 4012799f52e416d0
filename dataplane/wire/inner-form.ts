/**
 * The inner form, between the client's wire and the upstream's. An API reads requests into it and writes answers from
 * it; a provider does the reverse. If both speak the same wire, bytes pass without it.
 */
import type { Form } from '../base/form.ts'
import type { RequestFacts } from './request-facts.ts'

export type { Usage } from './answer-facts.ts'

/** The operations that a client may ask a model for. */
export type Operation = 'chat' | 'completions' | 'embeddings' | 'rerank' | 'transcription'

/** The request, the answer and the stream events of each operation. */
export interface Forms {
  readonly chat: Parts<ChatRequest, ChatAnswer, ChatEvent>
  readonly completions: Parts<CompletionsRequest, CompletionsAnswer, CompletionsEvent>
  readonly embeddings: Parts<EmbeddingsRequest, EmbeddingsAnswer, never>
  readonly rerank: Parts<RerankRequest, RerankAnswer, never>
  readonly transcription: Parts<TranscriptionRequest, TranscriptionAnswer, never>
}

interface Parts<Request, Answer, Event> {
  readonly request: Request
  readonly answer: Answer
  readonly event: Event
}

export type ModelRequest = Forms[Operation]['request']
/** A request that was sent: the tree of a large body is dropped, so no answer may depend on it. */
export type Sent<R extends ModelRequest> = R extends ModelRequest ? Omit<R, 'body'> : never
export type Answer = Forms[Operation]['answer']
export type AnswerEvent = Forms[Operation]['event']

export interface ChatRequest extends RequestFacts {
  readonly operation: 'chat'
  /** As parsed; the tree of a large body is dropped once the request has been sent (`body/request.ts`). */
  body: ChatBody
  /** Whether the client asked for usage in its stream. */
  readonly includeUsage: boolean
  /** Whether the client wants at most one tool call in an answer; enforced for upstreams without such a parameter. */
  readonly oneCall?: boolean
}

/** A conversation and the parameters of its answer. The members are those of OpenAI's chat completions. */
export interface ChatBody {
  readonly model: string
  readonly messages: readonly ChatMessage[]
  readonly stream?: boolean | null
  readonly stream_options?: Readonly<Record<string, unknown>> | null
  readonly max_tokens?: number | null
  readonly max_completion_tokens?: number | null
  readonly [member: string]: unknown
}

export interface ChatMessage {
  readonly role: string
  readonly content?: unknown
  readonly [member: string]: unknown
}

export interface ChatAnswer {
  readonly id: string
  readonly model: string
  readonly choices: readonly ChatChoice[]
}

export interface ChatChoice {
  readonly text: string
  readonly reasoning?: string
  /** The parts of the reasoning that the model needs in the next request. */
  readonly thoughts?: readonly Thought[]
  readonly refusal?: string
  readonly pictures?: readonly Picture[]
  readonly calls: readonly ToolCall[]
  readonly finish: FinishReason
  /** The stop sequence that ended it, if reported. */
  readonly stop?: string
  /** Log probabilities in OpenAI's form. */
  readonly logprobs?: unknown
}

/** Signed or unreadable thinking, as Anthropic writes it: `thinking_blocks` of a message, before the calls that followed it. */
export type Thought = (
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'redacted_thinking'; readonly data: string }
) & {
  /** The model that signed the thinking, by its upstream's name; undefined if the client's wire cannot carry it. */
  readonly model?: string
}

/** A picture of the model: a `data:` URL in base64. Clients send it back in `images` of a message. */
export interface Picture {
  readonly url: string
  readonly extra?: ToolCallExtra
}

export interface ToolCall {
  readonly id: string
  readonly name: string
  /** JSON text. */
  readonly arguments: string
  readonly extra?: ToolCallExtra
}

/** The provider's own members of a call or a picture, which clients send back with it; by the name of the provider. */
export type ToolCallExtra = Readonly<Record<string, Readonly<Record<string, unknown>>>>

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter'

/** A streamed answer: one `start`, then for each choice its deltas and one `end`. A `thought` ends after its pieces. */
export type ChatEvent =
  | { readonly kind: 'start'; readonly id: string; readonly model: string }
  | { readonly kind: 'delta'; readonly choice: number; readonly delta: ChatDelta }
  | { readonly kind: 'thought'; readonly choice: number; readonly thought: Thought }
  | {
      readonly kind: 'end'
      readonly choice: number
      readonly finish: FinishReason
      /** The stop sequence that ended it, if reported. */
      readonly stop?: string
    }

/** One piece of an answer, with one of `text`, `reasoning`, `refusal`, `picture` and `call`. */
export interface ChatDelta {
  readonly text?: string
  readonly reasoning?: string
  readonly refusal?: string
  readonly picture?: Picture
  readonly call?: ToolCallDelta
  readonly logprobs?: unknown
}

export interface ToolCallDelta {
  /** Index among the calls of the choice, from 0. */
  readonly index: number
  /** Only the first piece of a call has these. */
  readonly id?: string
  readonly name?: string
  readonly extra?: ToolCallExtra
  /** The next piece of the JSON text. */
  readonly arguments: string
}

export interface CompletionsRequest extends RequestFacts {
  readonly operation: 'completions'
  /** As parsed; the tree of a large body is dropped once the request has been sent. */
  body: CompletionsBody
  /** Whether the client asked for usage in its stream. */
  readonly includeUsage: boolean
  /** Texts to continue; each has its own choices. */
  readonly prompts: number
  /** Number of generated texts, at least the number of choices. */
  readonly generated: number
  readonly inputTokens: InputTokens
}

/** Texts to continue. The members are those of OpenAI's legacy completions. */
export interface CompletionsBody {
  readonly model: string
  readonly prompt?: TextInput | null
  readonly stream?: boolean | null
  readonly stream_options?: Readonly<Record<string, unknown>> | null
  readonly max_tokens?: number | null
  readonly n?: number | null
  readonly best_of?: number | null
  readonly [member: string]: unknown
}

export interface CompletionsAnswer {
  readonly id: string
  readonly model: string
  /** The choices of the first prompt come first. */
  readonly choices: readonly CompletionsChoice[]
}

export interface CompletionsChoice {
  readonly text: string
  readonly finish: FinishReason
  /** Log probabilities in the form of OpenAI's legacy completions. */
  readonly logprobs?: unknown
}

/** Like the events of a conversation, with only text. */
export type CompletionsEvent =
  | Extract<ChatEvent, { readonly kind: 'start' | 'end' }>
  | { readonly kind: 'delta'; readonly choice: number; readonly delta: TextDelta }

export interface TextDelta {
  readonly text: string
  readonly logprobs?: unknown
}

/** One text or several, or the same as lists of token numbers. */
export type TextInput =
  | string
  | readonly string[]
  | readonly number[]
  | readonly (readonly number[])[]

export interface EmbeddingsRequest extends RequestFacts {
  readonly operation: 'embeddings'
  /** As parsed; the tree of a large body is dropped once the request has been sent. */
  body: EmbeddingsBody
  /** Number of inputs, and of vectors in the answer. */
  readonly items: number
  /** The length of each vector, if the client requests one. */
  readonly dimensions: number | undefined
  /** The client's encoding of vectors. */
  readonly format: VectorFormat
  readonly inputTokens: InputTokens
}

/** Estimated tokens of the inputs. */
export interface InputTokens {
  /** Tokens of all inputs together. */
  readonly sum: number
  /** Tokens of the longest input. */
  readonly longest: number
  /** Index of the longest input, from 0. */
  readonly longestAt: number
}

/** The members are those of OpenAI's embeddings. */
export interface EmbeddingsBody {
  readonly model: string
  /** None of the texts is empty. */
  readonly input: TextInput
  readonly dimensions?: number | null
  readonly encoding_format?: VectorFormat | null
  /** A hint. */
  readonly user?: unknown
  readonly [member: string]: unknown
}

/** A list of numbers, or base64 of little-endian 32-bit floats. */
export type VectorFormat = 'float' | 'base64'

export interface EmbeddingsAnswer {
  readonly model: string
  /** One vector for each input, in its order, all of one length. */
  readonly vectors: readonly ArrayLike<number>[]
}

export interface RerankRequest extends RequestFacts {
  readonly operation: 'rerank'
  /** As parsed; the tree of a large body is dropped once the request has been sent. */
  body: RerankBody
  /** Number of documents. */
  readonly items: number
  /** Number of most relevant documents in the answer. */
  readonly wanted: number
  /** The texts of the documents, if the client wants them in the answer. */
  readonly shown: readonly string[] | undefined
  /** Tokens of each document together with the query. */
  readonly inputTokens: InputTokens
}

/** The members are those of Cohere's and Jina's rerank. */
export interface RerankBody {
  readonly model: string
  readonly query: string
  readonly documents: readonly (string | { readonly text: string })[]
  readonly top_n?: number | null
  readonly return_documents?: boolean | null
  /** Longer documents are cut. */
  readonly max_tokens_per_doc?: number | null
  readonly [member: string]: unknown
}

export interface RerankAnswer {
  readonly id: string
  readonly model: string
  /** The most relevant first. */
  readonly ranking: readonly RankedDocument[]
  /** Searches that the upstream bills, if it reports them. */
  readonly searchUnits: number | undefined
}

export interface RankedDocument {
  /** Index of the document in the request. */
  readonly index: number
  readonly score: number
}

/** The bytes are a form. */
export interface TranscriptionRequest extends RequestFacts {
  readonly operation: 'transcription'
  /** The texts of the form by name, without the recording. */
  body: { readonly model: string; readonly [name: string]: string }
  readonly form: Form
  /** Whether the answer is JSON; otherwise it is plain text, perhaps with times. */
  readonly isJson: boolean
  /** The fields of the recording. */
  readonly inputTokens: InputTokens
}

export interface TranscriptionAnswer {
  readonly text: string
}
