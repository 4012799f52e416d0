/** Which failures speak against an upstream: the breaker counts these. */
import type { FailureClass } from '../providers/contract.ts'

/** The client's mistakes and 429 say nothing about whether the upstream works. */
const SPARED: ReadonlySet<FailureClass> = new Set(['client', 'context', 'rate_limited', 'quota'])

export function speaksAgainst(failure: FailureClass): boolean {
  return !SPARED.has(failure)
}
