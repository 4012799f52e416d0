/** What a request is once it has been understood: the words every stage shares. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { GatewayError } from './base/errors.ts'
import type { KeyEntry } from './config/key-entry.ts'

/** One HTTP request on its way through the gateway. */
export interface Call {
  readonly id: string
  readonly incoming: Incoming
  readonly outgoing: Outgoing
  /** Milliseconds on the monotonic clock when its headers had arrived. */
  readonly receivedAt: number
}

/** The request as it arrives, whoever reads it from the connection. */
export interface Incoming {
  readonly method: string
  readonly url: string
  /** By lower-case name. */
  readonly headers: IncomingHttpHeaders
  /** As they came, names and values alternating. */
  readonly rawHeaders: readonly string[]
  /** Whether the whole body has arrived. */
  readonly complete: boolean
  readonly socket: Socket
  /** The body, where it came with the head and is to be read. */
  takeWhole(): Buffer | undefined
  /** Called at most once, where the body is to be read as it comes. */
  takeBody(taker: BodyTaker): void
  /** Tells a client that waits for it to send the body. */
  askForBody(): void
}

/** `ended` or `broken` is called once, and last. */
export interface BodyTaker {
  data(chunk: Buffer): void
  ended(): void
  broken(why: GatewayError): void
  /** Whether no more of it is wanted; the rest is thrown away. */
  readonly sated: boolean
}

/** Where the answer goes: whole, or begun and then written in pieces. Header names and values alternate. */
export interface Outgoing {
  /** Said before anything is sent. */
  tell(listener: AnswerListener): void
  sendWhole(status: number, headers: string[], body: string | Buffer): void
  /** The head of a stream; it leaves with the first piece. */
  begin(headers: string[]): void
  /** false: it is kept until the listener hears `drained`. */
  write(piece: string | Buffer): boolean
  end(): void
  /** Closes a begun stream so that no client takes what it has for the whole. */
  cut(): void
  destroy(): void
  readonly needsDrain: boolean
  /** Bytes that the system has not taken. */
  readonly unwritten: number
  /** A number that falls whenever the client takes bytes, also those of a write that is under way. */
  readonly untaken: number
  /** Whether it waits for an earlier answer of the connection; its end is told as `turned`. */
  readonly isQueued: boolean
}

export interface AnswerListener {
  /** Everything has been written, or nothing more can be. */
  closed(): void
  drained(): void
  turned(): void
}

/** Who calls: the record of the key that was presented. */
export interface Caller {
  readonly key: KeyEntry
  readonly tenant: string
}

/** What is found of a body in one reading of its bytes. */
export interface Found {
  /** Where the values of the top-level members stand, by name. */
  readonly spans: ReadonlyMap<string, Span>
  /** End by start of each string, list and object that is longer than a piece. */
  readonly long: ReadonlyMap<number, number>
  /** What is longer is not parsed in one go. */
  readonly pieceBytes: number
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
  /** As parsed; of a large body it is there until it has been sent (`body/chat.ts`). */
  body: ChatBody
  /** What the scan of the bytes has found. */
  readonly found: Found
  /** Where the top-level members' values stand in `bytes`, by name. */
  readonly spans: ReadonlyMap<string, Span>
  readonly stream: boolean
  /** Whether the client asked for usage in its stream. */
  readonly includeUsage: boolean
  readonly maxTokens: number | undefined
  /** Answers that were asked for. */
  readonly choices: number
  /** The most that its prompt may have. */
  readonly promptTokensMax: number
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
