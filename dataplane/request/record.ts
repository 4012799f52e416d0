/** Records the end of every request: metrics, the trace in the ring, the line of the log. */
import type { Gateway } from '../gateway/gateway.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Trace } from '../telemetry/trace/fields.ts'

export interface Ended {
  readonly trace: Trace
  /** Whether the client disconnected before its answer was complete. */
  readonly left: boolean
  /** Whether the request gets a line in the log. */
  readonly isLogged: boolean
}

/** The parts of the gateway that remember requests. */
export type Recorder = Pick<Gateway, 'history' | 'log' | 'metrics' | 'objectives' | 'traces'>

export function record({ trace, left, isLogged }: Ended, recorder: Recorder): void {
  const { metrics, objectives, traces, log, history } = recorder
  const { route, upstream, status, duration_ms } = trace
  metrics.requests.at(route, upstream, String(status)).value++
  metrics.duration.at(route, upstream, trace.operation).observe(duration_ms / 1000)
  if (trace.ttft_ms !== undefined) {
    metrics.firstToken.at(route, upstream).observe(trace.ttft_ms / 1000)
    objectives.met(route, trace.ttft_ms)
  } else if (trace.stream === true && trace.attempts.length > 0) {
    objectives.ended(route, duration_ms)
  }
  countErrors(trace, left, metrics)
  const first = trace.attempts[0]
  if (first !== undefined) {
    const ownMs = first.started_ms - trace.body_ms - waitedMs(trace, first.started_ms)
    metrics.overhead.at().observe(ownMs / 1000)
  }
  if (status === 499 && trace.ttft_ms !== undefined)
    metrics.streamAborted.at(left ? 'client' : 'upstream').value++
  history.tally.add(trace, left)
  traces.add(trace)
  if (isLogged) log.request(trace)
}

/** Refusals that are not the gateway's fault meet no objective, and neither do answers that their client left. */
function countErrors({ route, status, attempts }: Trace, left: boolean, metrics: Metrics): void {
  if (route === 'none') return
  const isBad = status >= 500 || (status === 499 && !left)
  if (isBad || (attempts.length > 0 && status !== 499))
    metrics.sloRequests.at(route, 'errors', String(!isBad)).value++
}

/** Adds exemplars to the histograms of times, which link to an exported trace. */
export function exemplify(trace: Trace, { duration, firstToken }: Metrics, wallMs: number): void {
  const { route, upstream, operation, trace_id, ttft_ms, duration_ms } = trace
  if (trace_id === undefined) return
  duration.at(route, upstream, operation).exemplify(duration_ms / 1000, trace_id, wallMs)
  if (ttft_ms !== undefined)
    firstToken.at(route, upstream).exemplify(ttft_ms / 1000, trace_id, wallMs)
}

/** The time that the model took to start, which is not overhead of the gateway. */
function waitedMs({ waits = [] }: Trace, before: number): number {
  const earlier = waits.filter(({ ended_ms }) => ended_ms <= before)
  return earlier.reduce((sum, { started_ms, ended_ms }) => sum + ended_ms - started_ms, 0)
}
