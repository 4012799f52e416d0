/** Which upstream, how often, and when to stop: one attempt count and one deadline over retries and fallbacks. */

import { GatewayError } from '../../base/errors.ts'
import { recall } from '../../body/request.ts'
import type { Spent } from '../../upstream/attempt/attempts.ts'
import { Journey } from '../../upstream/attempt/journey.ts'
import type { Outcome, Planner, Runner } from '../../upstream/attempt/parts.ts'
import { type Ending, type Next, nextAttempt } from '../../upstream/attempt/plan.ts'
import { refusalOf } from '../../upstream/attempt/refusal.ts'
import { unreachedError, unservedError } from '../../upstream/attempt/unserved.ts'
import { Hold } from '../../upstream/cold-start/hold.ts'
import { fetchEnded } from '../../upstream/credentials/upstream-credential.ts'
import type { Encoded } from '../../upstream/encoding/pool-request.ts'
import { type Written, writtenOut } from '../../upstream/encoding/written-out.ts'
import { Turn } from '../../upstream/fairness/turn.ts'
import type { Target } from '../../upstream/live/targets.ts'
import { isForgotten } from '../../wire/dropped-tree.ts'
import type { Workaround } from '../../wire/provider.ts'
import { Unsupported } from '../../wire/unsupported.ts'
import type { AttemptAdmission, AttemptedRequest } from './attempting/asked.ts'
import { ask, type Begun } from './attempting/running.ts'
import { Writing } from './attempting/writing.ts'
import type { Reply } from './relay.ts'

interface Attempts extends Begun {
  readonly gateway: Runner & Planner
  readonly writing: Writing
}

type Planned = Extract<Next<Target>, { candidate: Target }>

/** Resolves with the answer that the client gets; throws the client's error if no attempt is left. */
export function attempt(
  asked: AttemptedRequest,
  terms: AttemptAdmission,
  gateway: Runner & Planner,
): Promise<Reply> {
  const { request, witness, difficulty } = asked
  if (asked.caller !== undefined) request.tenant = asked.caller.tenant
  const { route, lane, fits, yields } = terms
  const isNewer = lane.rollout !== undefined && isForNewer(asked, terms, gateway)
  const journey = new Journey({ request, route, lane, fits, yields, difficulty, isNewer }, gateway)
  if (journey.passedOver !== undefined) witness.passedOver(journey.passedOver)
  const turn = lane.hasQueues ? turnOf(journey, asked, terms, gateway) : undefined
  const attempts = { asked, terms, journey, gateway, turn, writing: new Writing(asked, terms) }
  const trying = tried(attempts)
  return turn === undefined ? trying : trying.finally(() => turn.close())
}

/** The upstream that stores the object of a request gets it, regardless of its share. */
function isForNewer(
  { request, caller, client }: AttemptedRequest,
  { route, lane }: AttemptAdmission,
  { rollouts }: Runner,
): boolean {
  const { newer } = lane.rollout ?? {}
  if (newer !== undefined && request.keepers !== undefined) return request.keepers.has(newer.name)
  return rollouts?.isNewer({ route, request, tenant: caller?.tenant ?? '', client }) ?? false
}

async function tried(attempts: Attempts): Promise<Reply> {
  const { asked, terms, journey, gateway, turn } = attempts
  const { request, presence } = asked
  const { totalAt } = terms
  const hold = new Hold(journey, asked, totalAt, gateway)
  for (;;) {
    const next = nextAttempt(journey)
    const held = hold.before(next) ?? turn?.before(next)
    if (held !== undefined) {
      await held
      if (asked.presence.state === 'over') throw left()
      continue
    }
    if (next.kind === 'none') throw refusalIn(hold, attempts) ?? endOf(next.why, attempts)
    const wait = waitBefore(next, attempts)
    if (wait !== undefined) await wait
    // A drain may have refused the request before its body was whole.
    if (asked.presence.state === 'over') throw left()
    const spent = asked.quotas?.take(next.candidate)
    const why = spent instanceof Promise ? await spent : spent
    if (why !== undefined) {
      passOver(next.candidate, why, attempts)
      continue
    }
    const writing = writtenOut(request, () => encodedFor(next, attempts))
    // Most bodies are written at once.
    const written = writing instanceof Promise ? await writing : writing
    if (written === undefined) continue
    if (presence.state === 'over') throw left()
    let outcome = await ask(next.candidate, written, attempts)
    if (workaroundIn(outcome) !== undefined)
      outcome = await inOtherForms(next.candidate, outcome, written, attempts)
    if (outcome.kind === 'left') throw left()
    if (outcome.kind === 'refused') throw outcome.error
    if (outcome.kind !== 'failed') return outcome
    asked.quotas?.end()
    journey.failed(next.candidate, outcome.failure, totalAt)
  }
}

function passOver(target: Target, spent: Spent, { asked, journey }: Attempts): void {
  journey.passOver(target, spent)
  asked.witness.passedOver(journey.passedOver ?? [])
}

function turnOf(
  journey: Journey,
  asked: AttemptedRequest,
  { yields, totalAt, maxTokens }: AttemptAdmission,
  gateway: Runner,
): Turn {
  const { request, caller } = asked
  const tokensMax = (request.maxTokens ?? maxTokens ?? Number.POSITIVE_INFINITY) * request.choices
  const applicant = { tenant: caller?.tenant ?? '', isLow: yields, tokensMax }
  return new Turn(journey, asked, applicant, totalAt, gateway)
}

/** The error of a wait in vain. After a failure the client gets that of the failure. */
function refusalIn({ refusal }: Hold, { journey, turn }: Attempts): GatewayError | undefined {
  return refusal ?? (journey.last === undefined ? turn?.refusal : undefined)
}

/** The wait before an attempt; undefined if it need not wait, as for most. Throws if the time is up. */
function waitBefore(next: Planned, attempts: Attempts): Promise<void> | undefined {
  const { asked, terms, journey, gateway } = attempts
  // An attempt that starts after the deadline would only count against the upstream's breaker.
  if (gateway.clock.now() >= terms.totalAt) throw lateEnd(attempts)
  if (next.elsewhere) journey.moves(next.candidate)
  const isPaused = next.repeat && !next.elsewhere
  const fetching = next.candidate.state.credential.renewed?.pending()
  if (!isPaused && fetching === undefined && !isForgotten(asked.request)) return undefined
  return waited(next.candidate, isPaused, attempts)
}

/** The last failure; 504 if the time was over before an upstream could be called. */
function lateEnd(attempts: Attempts): GatewayError {
  if (attempts.journey.last !== undefined) return endOf('attempts_spent', attempts)
  const message = 'The request timeout was over before an upstream could be called.'
  return new GatewayError('ERR_GW_PROXY_TIMEOUT', message)
}

/** Waits for the pause before a repeat, for a credential, and for the dropped tree of a body. */
async function waited(target: Target, isPaused: boolean, attempts: Attempts): Promise<void> {
  const { asked, terms, journey, gateway } = attempts
  const { presence, request, dialect } = asked
  const { totalAt } = terms
  const { clock } = gateway
  const { settings, state } = target
  if (isPaused) {
    await journey.pause(target, totalAt, presence)
    if (clock.now() >= totalAt) throw endOf('attempts_spent', attempts)
  }
  const fetching = state.credential.renewed?.pending()
  if (fetching !== undefined)
    await fetchEnded(fetching, Math.min(settings.timeoutMs, totalAt - clock.now()), presence)
  await recall(request, dialect.reading)
}

/** undefined if the target does not support the request; the plan skips it then. */
function encodedFor(next: Planned, attempts: Attempts): Encoded | undefined {
  const { asked, journey, gateway, writing } = attempts
  const { candidate } = next
  const written = writing.write(candidate, journey.takeKey(candidate))
  if (written instanceof Unsupported) {
    journey.cannot(candidate, written)
    asked.witness.passedOver(journey.passedOver ?? [])
    return undefined
  }
  if (next.spill !== undefined) journey.spilled(next.spill)
  if (!next.repeat) candidate.state.retryBudget.request(gateway.clock.now())
  return written
}

/** Sends the request to the target again while it may accept another form. Most targets accept the first. */
async function inOtherForms(
  target: Target,
  first: Outcome,
  written: Written,
  attempts: Attempts,
): Promise<Outcome> {
  const { writing } = attempts
  let [outcome, before] = [first, written]
  for (;;) {
    const workaround = workaroundIn(outcome)
    const form = workaround && (await writing.writeOtherwise(target, workaround, before))
    if (form === undefined) break
    before = form
    outcome = await ask(target, form, attempts)
  }
  if (outcome.kind === 'whole' || outcome.kind === 'stream') writing.taken(target)
  return outcome
}

/** The form that the target may accept after this outcome. */
function workaroundIn(outcome: Outcome): Workaround | undefined {
  return outcome.kind === 'failed' ? outcome.failure.workaround : undefined
}

function left(): GatewayError {
  return new GatewayError('ERR_GW_STREAM_ABORTED', 'The client left.')
}

function endOf(why: Ending, { asked, journey, terms, gateway, writing }: Attempts): GatewayError {
  const { last, unable } = journey
  if (last !== undefined && journey.unreached > 0)
    return unreachedError(last.target.name, journey.unreached)
  if (last !== undefined) {
    const { name, contextWindow } = last.target
    return refusalOf(last.failure, name, asked.request, contextWindow)
  }
  if (unable !== undefined && !terms.lane.targets.some((one) => writing.mayTake(one))) return unable
  return unservedError(why, terms, gateway.clock.now(), journey.spent)
}
