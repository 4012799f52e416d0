/** One running attempt, and its entry in the trace. */
import { forget } from '../../../body/request.ts'
import { idsFor } from '../../../telemetry/correlation.ts'
import type { AttemptTrace } from '../../../telemetry/trace/fields.ts'
import type { Pair } from '../../../translation/pair.ts'
import { type Allowance, inspectedPair } from '../../../upstream/answer/inspected.ts'
import { Attempt } from '../../../upstream/attempt/attempt.ts'
import { type Batch, batchOf } from '../../../upstream/attempt/batch.ts'
import { closeEntry, openEntry, shownNames } from '../../../upstream/attempt/entry.ts'
import type { Journey } from '../../../upstream/attempt/journey.ts'
import type { AttemptParts, Outcome, Runner } from '../../../upstream/attempt/parts.ts'
import { namingCaller } from '../../../upstream/credentials/caller.ts'
import type { Written } from '../../../upstream/encoding/written-out.ts'
import type { Turn } from '../../../upstream/fairness/turn.ts'
import type { Target } from '../../../upstream/live/targets.ts'
import { expected } from '../../../upstream/live/vectors.ts'
import type { AnyPair } from '../../../wire/inspection.ts'
import type { AttemptAdmission, AttemptedRequest } from './asked.ts'

interface Running {
  readonly one: Attempt | Batch
  readonly entry: AttemptTrace
}

export interface Begun {
  readonly asked: AttemptedRequest
  readonly terms: AttemptAdmission
  readonly journey: Journey
  readonly gateway: Runner
  /** Absent if no upstream of the route is shared. */
  readonly turn: Turn | undefined
}

const NOT_PERMITTED: Outcome = {
  kind: 'failed',
  failure: { class: 'connect', message: 'its breaker is open' },
}

/** Sends the request to the target once. */
export function ask(target: Target, written: Written, begun: Begun): Promise<Outcome> {
  const running = begin(target, written, begun)
  // The endpoint has been chosen from the body by then.
  forget(begun.asked.request)
  if (running === undefined) return Promise.resolve(NOT_PERMITTED)
  return running.one.outcome.then((outcome) => {
    conclude(running, outcome, begun)
    return outcome
  })
}

/** undefined if the breaker has opened since the attempt was planned. */
function begin(
  target: Target,
  { request, upstream, dropped, set, key, pair, calls }: Written,
  { asked, terms, journey, gateway, turn }: Begun,
): Running | undefined {
  const { presence, witness } = asked
  const { name, settings, state } = target
  const now = gateway.clock.now()
  const permit = state.breaker.permit(now)
  if (permit === undefined) return undefined
  const endpoint = journey.place(target, asked.client)
  const entry = openEntry(name, now - asked.receivedAt, endpoint?.shown)
  const via = terms.lane.paths?.get(target)
  if (via !== undefined) entry.via = via
  if (settings.isNamed) entry.model = settings.model
  entry.dropped = shownNames(dropped)
  entry.left_out = shownNames(upstream.leftOut)
  if (key !== undefined) entry.api_key = key
  if (set !== undefined && set.length > 0) entry.parameters = set
  witness.began(entry)
  const { totalAt, maxTokens, meter } = terms
  const metered = meter.begin(name, settings.model, terms.lane.learnt?.worths)
  const place = turn?.placeAt(target)
  place?.begin(metered)
  asked.quotas?.begin(metered)
  const parts: AttemptParts = {
    request: expected(request, settings),
    pair: inspected(pair, target, asked, { deadlines: gateway.deadlines, totalAt }),
    upstream,
    target,
    permit,
    endpoint,
    // An upstream that sets a limit was asked with that.
    maxTokens: settings.parameters === undefined ? maxTokens : (request.maxTokens ?? maxTokens),
    place,
    key,
    metered,
    costs: asked.cost && asked.dialect.openCosts?.(asked.request, asked.cost),
    gateway,
    totalAt,
    patienceMs: patienceFor(target, { asked, terms, gateway }),
    hasBlamed: journey.hasBlamed(target),
  }
  const one = calls === undefined ? new Attempt(parts) : batchOf(parts, calls, asked.dialect)
  presence.begin(one)
  const ids = idsFor(asked.ids, settings, entry)
  one.send(namingCaller(ids, settings, asked.caller, terms.route.name))
  return { one, entry }
}

/** A new upstream that hangs may not delay its requests for long. */
function patienceFor(
  target: Target,
  { asked, terms, gateway }: Pick<Begun, 'asked' | 'terms' | 'gateway'>,
): number | undefined {
  if (target !== terms.lane.rollout?.newer) return undefined
  return gateway.rollouts?.patienceMs(terms.route.name, asked.request.stream)
}

function inspected(
  pair: Pair,
  { settings: { provider } }: Target,
  { dialect, inspector }: AttemptedRequest,
  allowance: Allowance,
): AnyPair {
  if (inspector === undefined) return pair
  return inspectedPair(dialect, provider, inspector, allowance) as AnyPair
}

function conclude({ one, entry }: Running, outcome: Outcome, { asked, gateway }: Begun): void {
  asked.presence.done()
  entry.upstream_request_id = one.upstreamRequestId
  entry.upstream_limits = one.upstreamLimits
  entry.answer = one.facts
  closeEntry(entry, outcome, gateway.clock.now() - asked.receivedAt)
  asked.witness.ended(entry)
  gateway.metrics.attempts.at(entry.upstream, entry.outcome).value++
}
