/** An inspector stands between the reader of an answer and its writer, and may hold, change or end it. */
import type { KeptText } from '../base/kept-text.ts'
import type { Answer, AnswerEvent, ModelRequest, Sent, Usage } from './inner-form.ts'
import type { AnswerOrigin, Concession, Failure, Passed, WireReader } from './provider.ts'

/** Inspects the answers to one request; each attempt may bring one. */
export interface Inspector {
  /** The answer that is written in place of a whole one. Throws the error that the client gets instead. */
  whole(answer: Answer): Answer | Promise<Answer>
  /** `kept` counts what the inspector holds back. */
  open(kept: KeptText): StreamInspector
}

/** Inspects one stream. It is asked for one thing at a time; the upstream waits while a promise is pending. */
export interface StreamInspector {
  /**
   * The events that are written in place of these: the same ones, others, or none while they are held, for which the
   * inspector sets the bound. The ends of all choices end the answer. Throws the error that ends it instead.
   */
  next(events: readonly AnswerEvent[]): readonly AnswerEvent[] | Promise<readonly AnswerEvent[]>
  /** The events that are still held when the upstream's answer is complete; not asked where all choices have ended. */
  end(): readonly AnswerEvent[] | Promise<readonly AnswerEvent[]>
}

/** How an upstream's answers reach the client, with or without an inspector on their way. */
export interface AnyPair {
  decode(body: Buffer, request: Sent<ModelRequest>, origin: AnswerOrigin): Passed | Inspection
  openStream(
    request: Sent<ModelRequest>,
    origin: AnswerOrigin,
    kept?: KeptText,
  ): ClientReader | undefined
  concession?(failure: Failure): Concession | undefined
}

/** A whole answer that is being inspected, or written in steps. */
export interface Inspection {
  readonly kind: 'inspected'
  readonly usage: Usage | undefined
  /** Rejects with the error that the client gets. */
  readonly passed: Promise<Passed>
}

/** The part of inspected events that the client sees. */
export interface Released {
  readonly text: string
  /** Whether it holds content. */
  readonly content: boolean
  /** The inspector has ended the answer before the upstream did. */
  readonly ended: boolean
  /** The inspector did not answer in time. */
  readonly failure?: Failure
}

/** The reader of a stream for a client. */
export interface ClientReader extends WireReader {
  /**
   * Present if events are inspected; `read` shows nothing then. Resolves with what the client sees of the events read
   * since the last call, at the end of a complete answer with the rest. Rejects with the error that ends the answer.
   */
  release?(isComplete: boolean): Promise<Released>
}
