/** What a request is once it has been understood: the words every stage shares. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { KeyEntry } from './config/snapshot.ts'

/** One HTTP request on its way through the gateway. */
export interface Call {
  readonly id: string
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  /** Milliseconds on the monotonic clock when its headers had arrived. */
  readonly receivedAt: number
}

/** Who calls: the record of the key that was presented. */
export interface Caller {
  readonly key: KeyEntry
  readonly tenant: string
}

/** The span of one top-level member's value in the body's bytes. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** The chat completion body as far as the gateway reads it; every other member passes untouched. */
export interface ChatBody {
  readonly model: string
  readonly messages: readonly ChatMessage[]
  readonly stream?: boolean | null
  readonly stream_options?: { readonly include_usage?: boolean | null } | null
  readonly max_tokens?: number | null
  readonly max_completion_tokens?: number | null
  readonly [member: string]: unknown
}

export interface ChatMessage {
  readonly role: string
  readonly content?: unknown
  readonly [member: string]: unknown
}

export interface ChatRequest {
  /** The body as received: what is forwarded, with splices. */
  readonly bytes: Buffer
  readonly body: ChatBody
  /** Where the top-level members' values stand in `bytes`, by name. */
  readonly spans: ReadonlyMap<string, Span>
  readonly stream: boolean
  /** Whether the client asked for usage in its stream. */
  readonly includeUsage: boolean
  readonly maxTokens: number | undefined
  /** Seconds since 1970 when it arrived: `created` of answers that a translation writes. */
  readonly createdSeconds: number
  /** All its text is ASCII: no character can be a token of its own. */
  readonly sparse: boolean
}

/** Tokens one attempt used. */
export interface Usage {
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
  readonly reasoningTokens: number
  /** Counted from what was seen, because the upstream did not say. */
  readonly estimated: boolean
}
