/** An inspector works between the reader and the writer of an answer, and may hold, change or end the answer. */
import type { KeptText } from '../base/kept-text.ts'
import type { Answer, AnswerEvent, ModelRequest, Sent, Usage } from './inner-form.ts'
import type { AnswerOrigin, Failure, Passed, WireReader, Workaround } from './provider.ts'

/** Inspects the answers to one request; each attempt may bring one. */
export interface Inspector {
  /** Returns the answer to write instead of a whole one. Throws the error that the client gets instead. */
  whole(answer: Answer): Answer | Promise<Answer>
  /** `kept` counts the bytes that the inspector holds. */
  open(kept: KeptText): StreamInspector
}

/** Inspects one stream, with one call at a time; the upstream is paused while a promise is pending. */
export interface StreamInspector {
  /**
   * Returns the events to write instead of these: the same ones, others, or none while the inspector holds them, within
   * its bound. The ends of all choices end the answer. Throws an error to end the answer with it.
   */
  next(events: readonly AnswerEvent[]): readonly AnswerEvent[] | Promise<readonly AnswerEvent[]>
  /** Returns the held events after the upstream's answer is complete; not called if all choices have ended. */
  end(): readonly AnswerEvent[] | Promise<readonly AnswerEvent[]>
}

/** How an upstream's answers reach the client, with or without an inspector. */
export interface AnyPair {
  decode(body: Buffer, request: Sent<ModelRequest>, origin: AnswerOrigin): Passed | Inspection
  openStream(
    request: Sent<ModelRequest>,
    origin: AnswerOrigin,
    kept?: KeptText,
  ): ClientReader | undefined
  workaround?(failure: Failure): Workaround | undefined
}

/** A whole answer that an inspector reads, or that is written in steps. */
export interface Inspection {
  readonly kind: 'inspected'
  readonly usage: Usage | undefined
  /** Rejects with the error for the client. */
  readonly passed: Promise<Passed>
}

/** The part of inspected events that the client gets. */
export interface Released {
  readonly text: string
  /** Whether the part has content. */
  readonly content: boolean
  /** Whether the inspector ended the answer before the upstream did. */
  readonly ended: boolean
  /** Whether the inspector missed its deadline. */
  readonly failure?: Failure
}

/** The reader of a stream for a client. */
export interface ClientReader extends WireReader {
  /**
   * Present if events are inspected; then `read` returns no bytes for the client. Resolves with the client's part of
   * the events since the last call, and with the rest at the end of a complete answer. Rejects with the error that ends
   * the answer.
   */
  release?(isComplete: boolean): Promise<Released>
}
