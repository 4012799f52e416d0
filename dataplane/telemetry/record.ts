/** The end of every request: its numbers into metrics, its trace into the ring, its line into the log. */
import type { Visit } from '../gateway.ts'

export function record({ call, response, trace, gateway, active }: Visit): void {
  const { metrics, clock, log } = gateway
  const { route, upstream } = response
  const duration = clock.now() - call.receivedAt
  trace.duration_ms = duration
  trace.status = response.status
  trace.route = route
  trace.upstream = upstream
  metrics.requests.at(route, upstream, String(response.status)).value++
  metrics.duration.at(route, upstream).observe(duration / 1000)
  if (trace.ttft_ms !== undefined) {
    metrics.firstToken.at(route, upstream).observe(trace.ttft_ms / 1000)
    gateway.objectives.met(route, trace.ttft_ms)
  } else if (trace.stream === true && trace.attempts.length > 0) {
    gateway.objectives.ended(route, duration)
  }
  const first = trace.attempts[0]
  if (first !== undefined) {
    metrics.overhead.at().observe((first.started_ms - trace.body_ms) / 1000)
  }
  if (response.status === 499 && trace.ttft_ms !== undefined)
    metrics.streamAborted.at(response.left ? 'client' : 'upstream').value++
  gateway.traces.add(trace)
  if (active.snapshot.section.telemetry.access_log) log.request(trace)
}
