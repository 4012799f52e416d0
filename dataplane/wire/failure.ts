/** Why an attempt failed, and the other form in which the same upstream may take the request. */
import type { Capabilities } from './models/capabilities.ts'

/** Another form of the request for the same upstream; a lesson holds for all requests to the model. */
export type Workaround = 'translated' | 'unsealed' | Lesson

/** The facts about a model that its refusal of a request shows. */
export interface Lesson {
  readonly teaches: Capabilities
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
  /** The upstream's text about a client's mistake; masked and shortened before it is shown. */
  readonly message: string
  /** The text for clients after the upstream's name, if `message` contains addresses or internal codes. */
  readonly shown?: string
  /** Whether no server listens: no connection could be made, so nothing was sent. */
  readonly isUnreached?: boolean
  readonly type?: string | null
  readonly param?: string | null
  readonly code?: string | null
  readonly retryAfterMs?: number
  /** The request may succeed at the same upstream in this form. */
  readonly workaround?: Workaround
  /** Whether the request used an unusual feature, so that the failure does not count against the upstream. */
  readonly ofRequest?: true
}
