/** A wire that clients speak: how it asks a model, and how it is answered. */
import type { GatewayError } from '../base/errors.ts'
import type { KeptText } from '../base/kept-text.ts'
import type { Forms, Operation, Sent, Usage } from './inner-form.ts'
import type { WireEvent } from './provider.ts'
import type { Reading } from './reading.ts'

type Headers = Readonly<Record<string, string>>

/** How an API writes what does not come from a model. */
export interface ClientWire {
  /** Headers of a stream, name and value alternating. */
  readonly streamHead: readonly string[]
  /** Keeps a stream alive without meaning, between any two lines; it ends with a line end. */
  readonly heartbeat: string
  /** An event that does the same, sent where no other event is under way; absent: the heartbeat. */
  readonly ping?: string
  /** A second header for the request id, which clients of this API read. */
  readonly requestIdHeader?: string
  /** The headers on how a tenant stands, in the names of this API. */
  limitHeaders?(headers: Headers, wallMs: number): Headers
  /** The status of a refusal, where this API has another one than the table of errors. */
  statusOf?(error: GatewayError): number
  /** The body of a refusal, as JSON text. */
  refusal(error: GatewayError, requestId: string): string
  /** A refusal inside a stream that has begun. */
  refusalEvent(error: GatewayError, requestId: string): string
  /** Whether a stream ends properly after a refusal; else it is cut, so that no client takes it for the whole. */
  readonly endsCleanly?: boolean
}

/** One stream beside its answer, where its events depend on those that were sent before. */
export interface StreamVoice {
  /** Sent instead of the wire's heartbeat where no other event is under way. */
  ping(): string
  refusalEvent(error: GatewayError): string
}

/** One operation as clients of one API write and read it. */
export interface Dialect<O extends Operation = Operation> {
  /** Its name; a provider that speaks the same wire has the same one. */
  readonly wire: string
  readonly operation: O
  /** Its answers cost nothing: a spent budget does not matter. */
  readonly isFree?: boolean
  /** Headers of clients that go on to an upstream of the same wire, in lower case. */
  readonly forwards?: readonly string[]
  /** The one of them that asks for something, which an upstream of another wire does not hear. */
  readonly hint?: string
  /** The header in which agents of this API name the session that a request belongs to, in lower case. */
  readonly sessionHeader?: string
  /** Present if bodies are multipart forms, with a bound beside that of JSON; the larger one holds. */
  readonly form?: { readonly bytesMax: number }
  /** From the bytes of a body to the inner form. */
  readonly reading: Reading<Forms[O]['request']>
  /** Absent if all streams sound alike beside their answers. */
  voiceOf?(request: Sent<Forms[O]['request']>): StreamVoice
  /** Absent if the answers of an upstream of the same wire need no change. */
  readonly passing?: Passing<Sent<Forms[O]['request']>>
  /** A whole answer, to be written as JSON. */
  writeAnswer(
    answer: Forms[O]['answer'],
    usage: Usage | undefined,
    request: Sent<Forms[O]['request']>,
  ): object
  /** Absent if answers are never streamed. `kept` counts what the writer remembers between the events. */
  openWriter?(request: Sent<Forms[O]['request']>, kept: KeptText): StreamWriter<Forms[O]['event']>
}

/** The changes in answers of an upstream that speaks the client's wire. */
export interface Passing<Request> {
  answer(body: Buffer | string, request: Request): Buffer | string
  open(request: Request, kept: KeptText): StreamPasser
}

export interface StreamPasser {
  /**
   * The client's text for an event, or `same`. Nothing may be said before the first content: another attempt may have to
   * begin.
   */
  write(event: WireEvent, isContent: boolean): 'same' | string
}

/** Writes one stream; keeps what it must remember between its events. */
export interface StreamWriter<Event> {
  write(event: Event): string
  /** The text after the last event of a complete answer. */
  end(usage: Usage | undefined): string
}
