/** What a provider is: pure translation between OpenAI's chat completions and one upstream dialect. */
import type { ChatRequest, Usage } from '../call.ts'
import type { ProviderFacts } from './facts-contract.ts'

/** The settings of an upstream that a translation may depend on. */
export interface Dialect {
  readonly model: string
  /** Resolved credential; empty when the upstream needs none. */
  readonly credential: string
  readonly apiVersion: string | undefined
  readonly deployment: string | undefined
  readonly region: string | undefined
  readonly project: string | undefined
}

export interface UpstreamRequest {
  /** Path and query below the endpoint's base, beginning with `/`. */
  readonly path: string
  /** Lower-case names. Authentication included; `content-type` and `accept` too. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | string
}

/**
 * Why an attempt failed, in the classes that decide what happens next:
 * `client` the request is at fault (never tried elsewhere), `context` too long (tried where the window is larger),
 * `credential` ours was refused, `missing` the model or path is unknown there, `rate_limited`, `quota`,
 * `overloaded`, `server`, `timeout`, `connect`, `reset`, `tls`, `malformed` an answer that makes no sense.
 */
export type FailureClass =
  | 'client'
  | 'context'
  | 'credential'
  | 'missing'
  | 'rate_limited'
  | 'quota'
  | 'overloaded'
  | 'server'
  | 'timeout'
  | 'connect'
  | 'reset'
  | 'tls'
  | 'malformed'

export interface Failure {
  readonly class: FailureClass
  /** HTTP status of the upstream's answer; absent when there was none. */
  readonly status?: number
  /** The upstream's own words, for a client's mistake; masked and bounded before anybody sees them. */
  readonly message: string
  /** Said to clients behind the upstream's name, where `message` holds addresses or codes of the runtime. */
  readonly shown?: string
  readonly type?: string | null
  readonly param?: string | null
  readonly code?: string | null
  readonly retryAfterMs?: number
}

/** What one event of an upstream's stream means. */
export interface EventMeaning {
  /** JSON texts to send as `data:` events, or `same`: the event's own bytes pass untouched. */
  readonly out: 'same' | readonly string[]
  /** Text, reasoning, a tool call or a refusal: the first of these commits the answer. */
  readonly content: boolean
  /** A finish reason was in it, and every choice that was asked for has had its own. */
  readonly finished: boolean
  /**
   * The dialect's own terminal event (`[DONE]`, `message_stop`). Where `out` is `same` it is `[DONE]` itself;
   * a list never holds that, so whoever sends the list adds it.
   */
  readonly done: boolean
  readonly usage?: Usage
  readonly failure?: Failure
}

export interface SseEvent {
  /** `event:` field; empty when absent. */
  readonly event: string
  readonly data: string
}

/** Reads one stream; keeps what it must remember between its events. */
export interface StreamReader {
  read(event: SseEvent): EventMeaning
}

export type Answer =
  | { readonly kind: 'answer'; readonly body: Buffer | string; readonly usage: Usage | undefined }
  | { readonly kind: 'failure'; readonly failure: Failure }

export interface Provider extends ProviderFacts {
  /** Whether bytes of events and answers pass untouched (OpenAI's own wire). */
  readonly passesBytes: boolean
  /** Where bytes pass: what stands in events that have to be read all the same. */
  readonly marks?: readonly string[]
  encode(request: ChatRequest, dialect: Dialect, maxTokens: number | undefined): UpstreamRequest
  /** Reads a whole 2xx answer that is not a stream. */
  decode(body: Buffer, request: ChatRequest): Answer
  openStream(request: ChatRequest): StreamReader
  /** Classifies an answer that is not 2xx, or the data of an error event. `headers` have lower-case names. */
  classify(status: number, headers: Readonly<Record<string, unknown>>, body: Buffer): Failure
}
