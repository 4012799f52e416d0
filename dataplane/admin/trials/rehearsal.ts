/**
 * POST /routes/test of the admin API: the attempts of a request on a route, with a simulated failure of the first
 * upstream if requested.
 */

import type { GatewayError } from '../../base/errors.ts'
import type { Route } from '../../config/snapshot.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { FailedAttempt } from '../../upstream/attempt/attempts.ts'
import { nextAttempt, type Plan } from '../../upstream/attempt/plan.ts'
import { refusalOf } from '../../upstream/attempt/refusal.ts'
import { orderedIn } from '../../upstream/groups/group.ts'
import type { Lane, Target } from '../../upstream/live/targets.ts'
import { laneOf } from '../../upstream/named/lanes.ts'
import type { ChatRequest } from '../../wire/inner-form.ts'
import type { Failure } from '../../wire/provider.ts'
import { tryCompletion, tryCredential } from './trial.ts'
import { aQuestion } from './upstream-test.ts'

const SIMULATED = {
  server: { class: 'server', status: 500, message: 'simulated failure' },
  rate_limited: { class: 'rate_limited', status: 429, message: 'simulated rate limit' },
} as const satisfies Readonly<Record<string, Failure>>

export interface RehearsalQuestion {
  readonly route?: string
  /** The simulated failure of the first upstream; its breaker does not count it. */
  readonly fail?: string
}

interface Tried {
  readonly upstream: string
  readonly outcome: string
  readonly simulated: boolean
  readonly status?: number | undefined
  readonly ms: number
  readonly reason?: string
}

/** `missing`: an unknown name. */
export async function rehearse({ route: model = '', fail }: RehearsalQuestion, gateway: Gateway) {
  const route = gateway.active.snapshot.models.get(model)
  if (route === undefined)
    return { missing: `There is no route or alias "${model.slice(0, 100)}".` }
  const failure = fail === undefined ? undefined : simulated(fail)
  if (fail !== undefined && failure === undefined)
    return { missing: `There is no failure "${fail.slice(0, 100)}": use server or rate_limited.` }
  const lane = laneOf(route, gateway.active.lanes)
  if (lane.targets.length === 0) return { missing: `Route "${route.name}" has no upstreams.` }
  return await follow(route, lane, failure, gateway)
}

function simulated(fail: string): Failure | undefined {
  return fail === 'server' || fail === 'rate_limited' ? SIMULATED[fail] : undefined
}

async function follow(route: Route, lane: Lane, simulation: Failure | undefined, gateway: Gateway) {
  const request = aQuestion(route.name)
  const attempts: FailedAttempt<Target>[] = []
  const tried: Tried[] = []
  const plan = planOf(route, lane, attempts, gateway)
  let victim: Target | undefined
  let last: { readonly target: Target; readonly failure: Failure } | undefined
  for (;;) {
    const next = nextAttempt(plan)
    if (next.kind === 'none') {
      const code = last === undefined ? codeOf(next.why) : refused(last.failure, last.target)
      return { route: route.name, ok: false, ...code, attempts: tried }
    }
    const { candidate } = next
    victim ??= simulation && candidate
    const isSimulated = candidate === victim && simulation !== undefined
    const step = isSimulated
      ? { ok: false, ms: 0, status: simulation.status, failure: simulation }
      : await ask(candidate, request, gateway)
    const { failure } = step
    tried.push({
      upstream: candidate.name,
      outcome: failure?.class ?? 'ok',
      simulated: isSimulated,
      status: step.status,
      ms: step.ms,
      ...(failure === undefined ? {} : { reason: failure.message }),
    })
    if (failure === undefined)
      return { route: route.name, ok: true, status: 200, upstream: candidate.name, attempts: tried }
    attempts.push({ candidate, failure: failure.class, moveOn: false })
    last = { target: candidate, failure }
  }
}

async function ask({ settings }: Target, request: ChatRequest, { active, env }: Gateway) {
  const fetched = await tryCredential(settings, env)
  if (fetched?.step.ok === false) return fetched.step
  return await tryCompletion(request, fetched?.settings ?? settings, active.snapshot.section)
}

/** The rules of production on the present states, without use of a retry budget. */
function planOf(
  route: Route,
  lane: Lane,
  attempts: FailedAttempt<Target>[],
  { clock, random }: Gateway,
): Plan<Target> {
  const now = clock.now()
  const eligible = lane.targets.filter((target) => target.standing(now, false) === 'ready')
  const request = aQuestion(route.name)
  const choice = { route: route.section, eligible, request, turn: lane.turn, random }
  const { group } = lane
  const ordered = () =>
    group ? orderedIn(group, new Set(eligible), choice) : route.strategy.order(choice)
  return {
    candidates: eligible.length === 0 ? lane.targets : ordered(),
    attempts,
    attemptsMax: route.attemptsMax,
    repeats: route.section.retry?.max_attempts !== undefined,
    spill: lane.spill,
    innerSpills: lane.innerSpills,
    standing: (target) => target.standing(now, false),
    cooled: (target) => target.state.cooledUntil > now,
    mayRepeat: () => true,
  }
}

function refused(failure: Failure, { name }: Target) {
  const error: GatewayError = refusalOf(failure, name)
  return { status: error.status, code: error.code, message: error.message }
}

function codeOf(why: string) {
  const code = why === 'saturated' ? 'ERR_GW_QUEUE_SATURATED' : 'ERR_GW_NO_HEALTHY_UPSTREAM'
  return { status: 503, code, message: 'No upstream of the route is eligible now.' }
}
