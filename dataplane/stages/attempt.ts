/** Which upstream, how often, and when to stop: one attempt count and one deadline over retries and fallbacks. */

import type { Dialect } from '../apis/dialect.ts'
import { GatewayError } from '../base/errors.ts'
import { maskKeys } from '../base/shown-text.ts'
import { forget, recall } from '../body/request.ts'
import type { Visit } from '../gateway.ts'
import type { ModelRequest } from '../inner-form.ts'
import type { MeteredAttempt } from '../meter.ts'
import { continuing } from '../telemetry/correlation.ts'
import type { AttemptTrace } from '../telemetry/traces.ts'
import { Attempt, type Outcome } from '../upstream/attempt/attempt.ts'
import { Journey } from '../upstream/attempt/journey.ts'
import { type Ending, nextAttempt } from '../upstream/attempt/plan.ts'
import { refusalOf } from '../upstream/attempt/refusal.ts'
import { unservedError } from '../upstream/attempt/unserved.ts'
import type { Target } from '../upstream/target/targets.ts'
import { type Pair, pairOf } from '../wires.ts'
import type { Admission } from './admit.ts'
import type { Reply } from './relay.ts'

/** A request, and the wire it came in. */
interface Asked {
  readonly request: ModelRequest
  readonly dialect: Dialect
}

/** Resolves with an answer that is committed to; throws what the client is told when no attempt is left. */
export async function attempt(asked: Asked, admission: Admission, visit: Visit): Promise<Reply> {
  const { request, dialect } = asked
  const { response, active } = visit
  if (request.stream)
    response.heartbeat(active.snapshot.section.gateway.sse.heartbeat_seconds * 1000)
  const { route, lane, fits, yields, totalAt } = admission
  const { clock } = visit.gateway
  const journey = new Journey({ request, route, lane, fits, yields }, visit)
  for (;;) {
    const next = nextAttempt(journey)
    if (next.kind === 'none') throw endOf(next.why, journey, admission, clock.now())
    // An attempt that begins when the time is up would only hurt the upstream's breaker.
    if (clock.now() >= totalAt) throw endOf('attempts_spent', journey, admission, clock.now())
    if (next.spill !== undefined) journey.spilled(next.spill)
    if (next.repeat) {
      await journey.pause(next.candidate, totalAt)
      if (clock.now() >= totalAt) throw endOf('attempts_spent', journey, admission, clock.now())
    } else next.candidate.state.retryBudget.request(clock.now())
    const recalled = recall(request, dialect.reading)
    if (recalled !== undefined) await recalled
    // A drain may have refused the request before its body was whole.
    if (response.state === 'ended') throw left()
    const running = begin(asked, next.candidate, admission, visit, journey)
    // What is sent has been written from it.
    forget(request)
    const outcome = running === undefined ? REFUSED : await running.one.outcome
    if (running !== undefined) conclude(running, outcome, visit)
    if (outcome.kind === 'left') throw left()
    if (outcome.kind !== 'failed') return outcome
    journey.failed(next.candidate, outcome.failure)
  }
}
const REFUSED: Outcome = {
  kind: 'failed',
  failure: { class: 'connect', message: 'its breaker is open' },
}

function left(): GatewayError {
  return new GatewayError('ERR_GW_STREAM_ABORTED', 'The client left.')
}

/** An attempt under way, and where it is written down. */
interface Running {
  readonly one: Attempt
  readonly metered: MeteredAttempt
  readonly entry: AttemptTrace
}

/** undefined when the breaker has opened since the attempt was planned. */
function begin(
  { request, dialect }: Asked,
  target: Target,
  admission: Admission,
  { call, response, trace, gateway }: Visit,
  journey: Journey,
): Running | undefined {
  const now = gateway.clock.now()
  const permit = target.state.breaker.permit(now)
  if (permit === undefined) return undefined
  response.upstream = target.name
  response.upstreamRequestId = undefined
  const entry = openEntry(target.name, now - call.receivedAt)
  trace.attempts.push(entry)
  const metered = admission.meter.begin(target.name, target.settings.model)
  const { totalAt, maxTokens } = admission
  const repeats = journey.hasCounted(target)
  const one = new Attempt({
    request,
    // Targets that cannot do the operation do not fit, so they are no candidates.
    pair: pairOf(dialect, target.settings.provider) as Pair,
    target,
    permit,
    maxTokens,
    metered,
    gateway,
    totalAt,
    repeats,
  })
  // V8 makes a function that is written at its assignment to a property old at once, and keeps the attempt with it:
  // 23 MiB instead of 9 in test/bench/micro/assigned-functions.ts.
  const leave = () => one.leave()
  response.onLeave = leave
  one.send(continuing(trace))
  return { one, metered, entry }
}

function conclude(
  { one, metered, entry }: Running,
  outcome: Outcome,
  { call, response, trace, gateway }: Visit,
): void {
  entry.upstream_request_id = one.upstreamRequestId
  response.upstreamRequestId = entry.upstream_request_id
  const spent = gateway.clock.now() - call.receivedAt
  if (outcome.kind === 'whole') {
    metered.usage = outcome.usage
    metered.answerBytes = outcome.body.length
  }
  if (outcome.kind === 'stream') trace.ttft_ms = spent
  closeEntry(entry, outcome, spent)
  gateway.metrics.attempts.at(entry.upstream, entry.outcome).value++
}

function openEntry(upstream: string, started_ms: number): AttemptTrace {
  return {
    upstream,
    started_ms,
    ended_ms: 0,
    outcome: 'running',
    status: undefined,
    reason: undefined,
    upstream_request_id: undefined,
  }
}

function closeEntry(entry: AttemptTrace, outcome: Outcome, spent: number): void {
  entry.ended_ms = spent
  entry.outcome = outcome.kind === 'left' ? 'left' : 'ok'
  if (outcome.kind !== 'failed') return
  entry.outcome = outcome.failure.class
  entry.status = outcome.failure.status
  entry.reason = maskKeys(outcome.failure.message)
}

function endOf(why: Ending, { last }: Journey, admission: Admission, now: number): GatewayError {
  return last === undefined
    ? unservedError(why, admission, now)
    : refusalOf(last.failure, last.target.name)
}
