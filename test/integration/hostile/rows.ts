/** A row of the hostile tables: sent bytes, expected answers, and what the upstream may see. */
import { chatBytes } from './front.ts'

export interface Row {
  readonly name: string
  readonly bytes: string
  /** Statuses of all final answers; empty: the connection is closed without an answer. */
  readonly answers: readonly number[]
  /** Requests that reach the upstream. */
  readonly asked: number
  /** The client ends its sending side after the bytes. */
  readonly ends?: true
  /** A request that is sent before and gets 200. */
  readonly first?: string
  /** Afterwards the gateway closes the connection, or the connection serves another request. */
  readonly afterwards: 'closes' | 'serves'
}

/** Gets one answer with this status; the connection is closed; nothing reaches the upstream. */
export function refused(name: string, bytes: string, status = 400): Row {
  return { name, bytes, answers: [status], asked: 0, afterwards: 'closes' }
}

/** As `refused`, for a chat request with one fault. */
export function wrongHeader(name: string, ...more: string[]): Row {
  return refused(name, chatBytes({ more }))
}

/** Closed without an answer: the client has gone, or there is no request to answer. */
export function dropped(name: string, bytes: string): Row {
  return { name, bytes, answers: [], asked: 0, ends: true, afterwards: 'closes' }
}

/** Valid although unusual: the upstream answers, and the connection stays open. */
export function served(name: string, bytes: string, times = 1): Row {
  return {
    name,
    bytes,
    answers: Array.from({ length: times }, () => 200),
    asked: times,
    afterwards: 'serves',
  }
}

/** Well-formed HTTP that the gateway itself answers; the connection stays open. */
export function answered(name: string, status: number, bytes: string): Row {
  return { name, bytes, answers: [status], asked: 0, afterwards: 'serves' }
}
