/** A wire that clients speak: its requests and answers. */
import type { GatewayError } from '../base/errors.ts'
import type { KeptText } from '../base/kept-text.ts'
import type { Forms, Operation, Sent, Usage } from './inner-form.ts'
import type { WireEvent } from './provider.ts'
import type { Reading } from './reading.ts'

type Headers = Readonly<Record<string, string>>

/** How an API writes texts that no model produced. */
export interface ClientWire {
  /** Headers of a stream, name and value alternating. */
  readonly streamHead: readonly string[]
  /** A heartbeat without meaning, which may come between any two lines; it ends with a line end. */
  readonly heartbeat: string
  /** An event that serves as heartbeat between events; absent: `heartbeat`. */
  readonly ping?: string
  /** A second header for the request id, if clients of this API read it. */
  readonly requestIdHeader?: string
  /** The headers with the tenant's limits, by the names of this API. */
  limitHeaders?(headers: Headers, wallMs: number): Headers
  /** The status of a refusal, if it differs from the table of errors. */
  statusOf?(error: GatewayError): number
  /** The body of a refusal, as JSON text. */
  refusal(error: GatewayError, requestId: string): string
  /** A refusal inside a stream that has begun. */
  refusalEvent(error: GatewayError, requestId: string): string
  /** Whether a stream ends properly after a refusal; otherwise it is cut, so that no client takes it for a complete answer. */
  readonly endsCleanly?: boolean
}

/** The heartbeats and refusals of one stream, if they depend on earlier events. */
export interface StreamVoice {
  /** Sent instead of the wire's heartbeat, between events. */
  ping(): string
  refusalEvent(error: GatewayError): string
}

/** The usage and the cost in the last events of a stream. */
export interface AnswerCost {
  /** undefined if the attempt that answered used nothing. */
  readonly usage: Usage | undefined
  /** Whether a part of it is estimated. */
  readonly estimated: boolean
  /** The cost of all attempts, as a decimal; undefined if a model among them has no price. */
  readonly usd?: string
}

/** Writes the cost of an answer into the last events of its stream. */
export interface CostWriter {
  /** Returns the text with the cost. `text`: whole events, the one with the finish and later ones. */
  write(text: string): string
}

/** One operation as clients of one API write and read it. */
export interface Dialect<O extends Operation = Operation> {
  /** Name of the wire; a provider with the same wire has the same name. */
  readonly wire: string
  readonly operation: O
  /** Answers cost nothing and no model runs, so a spent budget does not matter, and no slot is needed. */
  readonly isFree?: boolean
  /** Lower-case names of client headers that are forwarded to an upstream of the same wire. */
  readonly forwards?: readonly string[]
  /** The forwarded header that requests a feature, which an upstream of another wire would not get. */
  readonly hint?: string
  /** Lower-case name of the header in which agents of this API send the session of a request. */
  readonly sessionHeader?: string
  /** Present if bodies are multipart forms, with a separate bound; the larger of this and the bound of JSON applies. */
  readonly form?: { readonly bytesMax: number }
  /** From the bytes of a body to the inner form. */
  readonly reading: Reading<Forms[O]['request']>
  /** Absent if heartbeats and refusals are the same in all streams. */
  voiceOf?(request: Sent<Forms[O]['request']>): StreamVoice
  /** Absent if the answers of an upstream of the same wire need no change. */
  readonly passing?: Passing<Sent<Forms[O]['request']>>
  /** A whole answer, to be written as JSON. */
  writeAnswer(
    answer: Forms[O]['answer'],
    usage: Usage | undefined,
    request: Sent<Forms[O]['request']>,
  ): object
  /** Absent if answers are never streamed. `kept` counts the bytes that the writer stores between events. */
  openWriter?(request: Sent<Forms[O]['request']>, kept: KeptText): StreamWriter<Forms[O]['event']>
  /** Absent if answers are never streamed. */
  openCosts?(request: Sent<Forms[O]['request']>, cost: () => AnswerCost): CostWriter
}

/** Changes to the answers of an upstream that speaks the client's wire. */
export interface Passing<Request> {
  answer(body: Buffer | string, request: Request): Buffer | string
  open(request: Request, kept: KeptText): StreamPasser
}

export interface StreamPasser {
  /**
   * The client's text for an event, or `same`. Writes nothing before the first content, because another attempt may follow.
   */
  write(event: WireEvent, isContent: boolean): 'same' | string
}

/** Writes one stream, with the state between its events. */
export interface StreamWriter<Event> {
  write(event: Event): string
  /** The text after the last event of a complete answer. */
  end(usage: Usage | undefined): string
}
