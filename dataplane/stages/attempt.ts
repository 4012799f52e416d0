/** Which upstream, how often, and when to stop: one attempt count and one deadline over retries and fallbacks. */
import type { ChatRequest } from '../call.ts'
import { GatewayError } from '../errors.ts'
import type { Visit } from '../gateway.ts'
import type { AttemptTrace } from '../telemetry/traces.ts'
import { Attempt, type Outcome } from '../upstream/attempt.ts'
import { type Ending, nextAttempt } from '../upstream/attempt-plan.ts'
import { Journey } from '../upstream/journey.ts'
import { refusalOf } from '../upstream/refusal.ts'
import type { Target } from '../upstream/targets.ts'
import type { Admission } from './admit.ts'
import type { Reply } from './relay.ts'

/** Resolves with an answer that is committed to; throws what the client is told when no attempt is left. */
export async function attempt(
  request: ChatRequest,
  admission: Admission,
  visit: Visit,
): Promise<Reply> {
  const { response, active } = visit
  if (request.stream)
    response.heartbeat(active.snapshot.section.gateway.sse.heartbeat_seconds * 1000)
  const { route, lane, fits, totalAt } = admission
  const journey = new Journey({ request, route, lane, fits }, visit)
  // An attempt that begins when the time is up would only hurt the upstream's breaker.
  const isLate = () => visit.gateway.clock.now() >= totalAt
  for (;;) {
    const next = nextAttempt(journey.plan)
    if (next.kind === 'none') throw endOf(next.why, journey, admission)
    if (isLate()) throw endOf('attempts_spent', journey, admission)
    if (next.spill !== undefined) journey.spilled(next.spill)
    if (next.repeat) await journey.pause(next.candidate, totalAt)
    else next.candidate.state.retryBudget.request(visit.gateway.clock.now())
    if (isLate()) throw endOf('attempts_spent', journey, admission)
    // A drain may have refused the request before its body was whole.
    const outcome =
      response.state === 'ended'
        ? LEFT
        : await attemptOnce(request, next.candidate, admission, visit)
    if (outcome.kind === 'left') throw new GatewayError('ERR_GW_STREAM_ABORTED', 'The client left.')
    if (outcome.kind !== 'failed') return outcome
    journey.failed(next.candidate, outcome.failure)
  }
}

const LEFT: Outcome = { kind: 'left' }

async function attemptOnce(
  request: ChatRequest,
  target: Target,
  admission: Admission,
  { call, response, trace, gateway }: Visit,
): Promise<Outcome> {
  const now = gateway.clock.now()
  const permit = target.state.breaker.permit(now)
  if (permit === undefined)
    return { kind: 'failed', failure: { class: 'connect', message: 'its breaker is open' } }
  response.upstream = target.name
  const entry = openEntry(target.name, now - call.receivedAt)
  trace.attempts.push(entry)
  const metered = admission.meter.begin(target.name, target.settings.model)
  const { totalAt, maxTokens } = admission
  const one = new Attempt({ request, target, permit, maxTokens, metered, gateway, totalAt })
  response.onLeave = () => one.leave()
  one.send(call.id)
  const outcome = await one.outcome
  const spent = gateway.clock.now() - call.receivedAt
  if (outcome.kind === 'whole') {
    metered.usage = outcome.usage
    metered.answerBytes = outcome.body.length
  }
  if (outcome.kind === 'stream') trace.ttft_ms = spent
  closeEntry(entry, outcome, spent)
  gateway.metrics.attempts.at(target.name, entry.outcome).value++
  return outcome
}

function openEntry(upstream: string, started_ms: number): AttemptTrace {
  return {
    upstream,
    started_ms,
    ended_ms: 0,
    outcome: 'running',
    status: undefined,
    reason: undefined,
  }
}

function closeEntry(entry: AttemptTrace, outcome: Outcome, spent: number): void {
  entry.ended_ms = spent
  entry.outcome = outcome.kind === 'left' ? 'left' : 'ok'
  if (outcome.kind !== 'failed') return
  entry.outcome = outcome.failure.class
  entry.status = outcome.failure.status
  entry.reason = outcome.failure.message
}

function endOf(why: Ending, { last }: Journey, { route, lane }: Admission): GatewayError {
  if (last !== undefined) {
    return refusalOf(last.failure, last.target.name)
  }
  const names = lane.targets.map((target) => target.name).join(', ')
  if (why === 'saturated') {
    return new GatewayError(
      'ERR_GW_QUEUE_SATURATED',
      `Every eligible upstream of route "${route.name}" (${names}) is full.`,
      {
        retryAfterSeconds: 1,
      },
    )
  }
  return new GatewayError(
    'ERR_GW_NO_HEALTHY_UPSTREAM',
    `No upstream of route "${route.name}" (${names}) is eligible now.`,
    {
      retryAfterSeconds: 1,
    },
  )
}
