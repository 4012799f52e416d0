/** A row of the hostile tables: bytes in, answers out, and what the upstream may see. */
import { chatBytes } from './front.ts'

export interface Row {
  readonly name: string
  readonly bytes: string
  /** Statuses of all final answers; none: the connection is closed without one. */
  readonly answers: readonly number[]
  /** Requests that reach the upstream. */
  readonly asked: number
  /** The client says with it that no more will come. */
  readonly ends?: true
  /** Sent, and answered with 200, before. */
  readonly first?: string
  /** Afterwards the connection is closed by the gateway, or serves another request. */
  readonly afterwards: 'closes' | 'serves'
}

/** Answered once with this status; closed; nothing reaches the upstream. */
export function refused(name: string, bytes: string, status = 400): Row {
  return { name, bytes, answers: [status], asked: 0, afterwards: 'closes' }
}

/** As `refused`, of a chat request with one thing wrong. */
export function wrongHeader(name: string, ...more: string[]): Row {
  return refused(name, chatBytes({ more }))
}

/** Closed without a word: no client is left, or there is no request to answer. */
export function dropped(name: string, bytes: string): Row {
  return { name, bytes, answers: [], asked: 0, ends: true, afterwards: 'closes' }
}

/** Legitimate, though it looks odd: answered by the upstream, and the connection goes on. */
export function served(name: string, bytes: string, times = 1): Row {
  return {
    name,
    bytes,
    answers: Array.from({ length: times }, () => 200),
    asked: times,
    afterwards: 'serves',
  }
}

/** Well-formed HTTP that the gateway itself answers; the connection goes on. */
export function answered(name: string, status: number, bytes: string): Row {
  return { name, bytes, answers: [status], asked: 0, afterwards: 'serves' }
}
