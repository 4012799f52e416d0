/** Which failures speak against an upstream: the breaker counts these. */
import type { Failure, FailureClass } from '../../providers/contract.ts'

/** The client's mistakes and 429 say nothing about whether the upstream works. */
const SPARED: ReadonlySet<FailureClass> = new Set(['client', 'context', 'rate_limited', 'quota'])

export function speaksAgainst(failure: FailureClass): boolean {
  return !SPARED.has(failure)
}

const REASON_LENGTH_MAX = 200

/** A failure in one line: `server 500: broken`. */
export function reasonOf({ class: kind, status, message }: Failure): string {
  const what = status === undefined ? kind : `${kind} ${status}`
  return `${what}: ${message.replace(/\s+/g, ' ').trim()}`.slice(0, REASON_LENGTH_MAX)
}
