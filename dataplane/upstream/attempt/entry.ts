/** The entry of an attempt in the trace. */
import { maskKeys, shownName } from '../../base/shown-text.ts'
import type { AttemptTrace } from '../../telemetry/trace/fields.ts'
import type { Outcome } from './parts.ts'

/** A client may send hundreds of unknown members. */
const LEFT_OUT_MAX = 32

export function openEntry(upstream: string, started_ms: number, endpoint?: string): AttemptTrace {
  return {
    upstream,
    endpoint,
    started_ms,
    ended_ms: 0,
    outcome: 'running',
    status: undefined,
    reason: undefined,
    upstream_request_id: undefined,
    upstream_limits: undefined,
    dropped: undefined,
    left_out: undefined,
    span_id: undefined,
    answer: undefined,
    usage: undefined,
  }
}

export function closeEntry(entry: AttemptTrace, outcome: Outcome, spent: number): void {
  entry.ended_ms = spent
  if (outcome.kind !== 'failed') {
    const { kind } = outcome
    entry.outcome = kind === 'left' || kind === 'refused' ? kind : 'ok'
    return
  }
  entry.outcome = outcome.failure.class
  entry.status = outcome.failure.status
  entry.reason = maskKeys(outcome.failure.message)
}

export function shownNames(names: readonly string[] | undefined): readonly string[] | undefined {
  return names?.slice(0, LEFT_OUT_MAX).map(shownName)
}
