/** Reads from the trace of a finished request how its side of a rollout did. */
import type { AttemptTrace, Trace } from '../telemetry/trace/fields.ts'
import type { Sample } from './arm.ts'

/** As the wires of vendors write it. */
const CUT = /^(?:length|max_tokens|max_output_tokens|model_length|incomplete)$/i
const OF_CLIENT = new Set(['client', 'context'])

export interface Observed {
  readonly isNewer: boolean
  readonly sample: Sample
}

/** undefined: the request says nothing, as when its client has left. */
export function observed(trace: Trace, newer: string): Observed | undefined {
  const [first] = trace.attempts
  const last = trace.attempts.at(-1)
  if (first === undefined || last === undefined || last.outcome === 'left') return undefined
  const isNewer = first.upstream === newer
  const isFailed = isNewer ? hasFailed(first, trace) : hasFailed(last, trace)
  if (isFailed === undefined) return undefined
  const shown = isNewer ? first : last
  return { isNewer, sample: sampleOf(shown, trace, isFailed, isNewer) }
}

/** undefined: the client is at fault, or has left. */
function hasFailed({ outcome }: AttemptTrace, trace: Trace): boolean | undefined {
  const { status, code, attempts } = trace
  if (outcome === 'ok' || outcome === 'refused') {
    if (attempts.at(-1)?.outcome !== 'ok' || status !== 499) return false
    // A stream that its upstream has cut has an error code with another cause than the client.
    return code === 'ERR_GW_STREAM_ABORTED' && trace.message !== 'The client left.'
      ? true
      : undefined
  }
  if (outcome === 'running' || outcome === 'left') return undefined
  // A request that the others serve is one that the new upstream should not have refused.
  return OF_CLIENT.has(outcome) ? (status < 400 ? true : undefined) : true
}

function sampleOf(
  { outcome, started_ms, ended_ms, answer }: AttemptTrace,
  { stream = false, attempts }: Trace,
  isFailed: boolean,
  isNewer: boolean,
): Sample {
  const priced = isNewer ? attempts.slice(0, 1) : attempts
  const costs = priced.flatMap(({ usage }) => usage?.cost_nano_usd ?? [])
  const reasons = (answer?.finish_reasons ?? []).filter((reason) => reason !== null)
  return {
    isFailed,
    isStream: stream,
    firstMs: outcome === 'ok' ? ended_ms - started_ms : undefined,
    costNanos: isFailed || costs.length === 0 ? undefined : costs.reduce((a, b) => a + b, 0),
    isCutByLength:
      isFailed || reasons.length === 0 ? undefined : reasons.some((reason) => CUT.test(reason)),
  }
}
