/** Which upstream, how often, and when to stop: one attempt count and one deadline over retries and fallbacks. */

import { GatewayError } from '../../base/errors.ts'
import { forget, recall } from '../../body/request.ts'
import type { Caller } from '../../call/call.ts'
import type { Presence } from '../../call/presence.ts'
import { type Continued, idsFor } from '../../telemetry/correlation.ts'
import type { AttemptTrace } from '../../telemetry/traces.ts'
import { type Pair, pairOf } from '../../translation/pair.ts'
import { type Allowance, inspectedPair } from '../../upstream/answer/inspected.ts'
import { isLacking, noteLacking } from '../../upstream/answer/lacking-wires.ts'
import { Attempt } from '../../upstream/attempt/attempt.ts'
import { type Batch, batchOf } from '../../upstream/attempt/batch.ts'
import { closeEntry, openEntry, shownNames } from '../../upstream/attempt/entry.ts'
import { Journey, type Planner } from '../../upstream/attempt/journey.ts'
import type { AttemptParts, Outcome, Runner, Witness } from '../../upstream/attempt/parts.ts'
import { type Ending, nextAttempt } from '../../upstream/attempt/plan.ts'
import { type Encoded, type Encoding, encodeFor } from '../../upstream/attempt/pool-request.ts'
import { refusalOf } from '../../upstream/attempt/refusal.ts'
import { unreachedError, unservedError } from '../../upstream/attempt/unserved.ts'
import { Hold } from '../../upstream/cold-start/hold.ts'
import { namingCaller } from '../../upstream/credentials/caller.ts'
import { fetchEnded } from '../../upstream/credentials/upstream-credential.ts'
import type { Client } from '../../upstream/endpoints/affinity-key.ts'
import type { Target } from '../../upstream/live/targets.ts'
import { expected } from '../../upstream/live/vectors.ts'
import type { Dialect } from '../../wire/dialect.ts'
import type { ModelRequest } from '../../wire/inner-form.ts'
import type { AnyPair, Inspector } from '../../wire/inspection.ts'
import type { Concession } from '../../wire/provider.ts'
import { Unsupported } from '../../wire/unsupported.ts'
import type { Admission } from './admit.ts'
import type { Reply } from './relay.ts'

/** A request on its way to upstreams. */
export interface Asked {
  readonly request: ModelRequest
  /** The wire it came in. */
  readonly dialect: Dialect
  /** Sees each answer before the client does. */
  readonly inspector: Inspector | undefined
  readonly ids: Continued
  /** Attempts are timed from here, on the monotonic clock. */
  readonly receivedAt: number
  readonly presence: Presence
  readonly witness: Witness
  /** How hard the prompt is, where the route asks for that. */
  readonly difficulty: number | undefined
  /** Says what endpoint a request belongs to; absent: its body alone does. */
  readonly client?: Client
  readonly caller?: Caller
}

type Terms = Pick<
  Admission,
  'route' | 'lane' | 'fits' | 'yields' | 'totalAt' | 'maxTokens' | 'meter'
>

/** Resolves with an answer that is committed to; throws the client's error when no attempt is left. */
export async function attempt(
  asked: Asked,
  terms: Terms,
  gateway: Runner & Planner,
): Promise<Reply> {
  const { request, dialect, presence, witness, difficulty } = asked
  if (asked.caller !== undefined) request.tenant = asked.caller.tenant
  const { route, lane, fits, yields, totalAt } = terms
  const { clock } = gateway
  const journey = new Journey({ request, route, lane, fits, yields, difficulty }, gateway)
  if (journey.passedOver !== undefined) witness.passedOver(journey.passedOver)
  const way: Way = { asked, terms, journey, gateway, conceded: undefined }
  const hold = new Hold(journey, asked, totalAt, gateway)
  for (;;) {
    const next = nextAttempt(journey)
    const held = hold.before(next)
    if (held !== undefined) {
      await held
      if (presence.state === 'over') throw left()
      continue
    }
    if (next.kind === 'none') throw hold.refusal ?? endOf(next.why, way)
    // An attempt that begins when the time is up would only hurt the upstream's breaker.
    if (clock.now() >= totalAt) throw endOf('attempts_spent', way)
    if (next.elsewhere) journey.moves(next.candidate)
    else if (next.repeat) {
      await journey.pause(next.candidate, totalAt, presence)
      if (clock.now() >= totalAt) throw endOf('attempts_spent', way)
    }
    const { settings, state } = next.candidate
    const fetching = state.credential.renewed?.pending()
    if (fetching !== undefined) {
      const waitMs = Math.min(settings.timeoutMs, totalAt - clock.now())
      await fetchEnded(fetching, waitMs, presence)
    }
    const recalled = recall(request, dialect.reading)
    if (recalled !== undefined) await recalled
    // A drain may have refused the request before its body was whole.
    if (presence.state === 'over') throw left()
    let written = write(next.candidate, way)
    if (written === undefined) continue
    if (next.spill !== undefined) journey.spilled(next.spill)
    if (!next.repeat) next.candidate.state.retryBudget.request(clock.now())
    let outcome: Outcome
    for (;;) {
      const running = begin(next.candidate, written, way)
      // The request has been written, and its place been chosen from it.
      forget(request)
      outcome = running === undefined ? NOT_PERMITTED : await running.one.outcome
      if (running !== undefined) conclude(running, outcome, way)
      if (outcome.kind !== 'failed' || outcome.failure.concession === undefined) break
      const other = await writeOtherwise(next.candidate, outcome.failure.concession, way)
      if (other === undefined) break
      written = other
    }
    if (outcome.kind === 'left') throw left()
    if (outcome.kind === 'refused') throw outcome.error
    if (outcome.kind !== 'failed') {
      remember(next.candidate, way)
      return outcome
    }
    journey.failed(next.candidate, outcome.failure, totalAt)
  }
}

/** An upstream that took the translation alone is not asked in the client's wire again. */
function remember({ state }: Target, { conceded, asked }: Way): void {
  if (conceded?.target.state !== state || !conceded.forms.includes('translated')) return
  noteLacking(state, asked.dialect.wire)
}

const NOT_PERMITTED: Outcome = {
  kind: 'failed',
  failure: { class: 'connect', message: 'its breaker is open' },
}

function left(): GatewayError {
  return new GatewayError('ERR_GW_STREAM_ABORTED', 'The client left.')
}

interface Way {
  readonly asked: Asked
  readonly terms: Terms
  readonly journey: Journey
  readonly gateway: Runner & Planner
  /** The other form that the present target gets; undefined: it has not refused the first one. */
  conceded: Conceded | undefined
}

interface Conceded {
  readonly target: Target
  readonly forms: readonly Concession[]
}

/** An attempt under way, and where it is written down. */
interface Running {
  readonly one: Attempt | Batch
  readonly entry: AttemptTrace
}

function formsOf(target: Target, { conceded }: Way): readonly Concession[] {
  return conceded?.target === target ? conceded.forms : []
}

/** Targets that cannot do the operation do not fit, so they are no candidates. */
function encodingFor(target: Target, way: Way): Encoding {
  const { route, maxTokens } = way.terms
  // A credential that is missing changes nothing in what can be asked for.
  const settings = target.settingsNow ?? target.settings
  const drops = route.section.on_unsupported === 'drop'
  const { provider, native } = settings
  const pair = pairOf(way.asked.dialect, provider, native && nativeFor(target, way)) as Pair
  return { pair, settings, maxTokens, drops, caller: way.asked.caller }
}

/** The wires beside its own that the target is asked in, by this request. */
function nativeFor(target: Target, way: Way): readonly string[] | undefined {
  const { request, inspector, dialect } = way.asked
  if (inspector !== undefined || request.isRewritten) return undefined
  if (isLacking(target.state, dialect.wire)) return undefined
  return formsOf(target, way).includes('translated') ? undefined : target.settings.native
}

/** The request in the other form that the target may take; undefined where it got that form already, or cannot. */
async function writeOtherwise(
  target: Target,
  form: Concession,
  way: Way,
): Promise<Encoded | undefined> {
  const { request, dialect, presence } = way.asked
  const forms = formsOf(target, way)
  if (forms.includes(form)) return undefined
  way.conceded = { target, forms: [...forms, form] }
  await recall(request, dialect.reading)
  if (presence.state === 'over') return undefined
  try {
    return encodeFor(inForms(request, way.conceded), encodingFor(target, way))
  } catch (error) {
    if (error instanceof Unsupported) return undefined
    throw error
  }
}

function inForms(request: ModelRequest, { forms }: Conceded): ModelRequest {
  const [isUnsealed, isUnthinking] = [forms.includes('unsealed'), forms.includes('unthinking')]
  return isUnsealed || isUnthinking ? { ...request, isUnsealed, isUnthinking } : request
}

/** undefined where the target cannot do what is asked: it is passed over. */
function write(target: Target, way: Way): Encoded | undefined {
  const { asked, journey } = way
  try {
    return encodeFor(asked.request, encodingFor(target, way))
  } catch (error) {
    if (!(error instanceof Unsupported)) throw error
    journey.cannot(target, error)
    asked.witness.passedOver(journey.passedOver ?? [])
    return undefined
  }
}

/** undefined when the breaker has opened since the attempt was planned. */
function begin(
  target: Target,
  { request, upstream, dropped, pair, calls }: Encoded,
  { asked, terms, journey, gateway }: Way,
): Running | undefined {
  const { presence, witness } = asked
  const { name, settings, state } = target
  const now = gateway.clock.now()
  const permit = state.breaker.permit(now)
  if (permit === undefined) return undefined
  const endpoint = journey.place(target, asked.client)
  const entry = openEntry(name, now - asked.receivedAt, endpoint?.shown)
  entry.dropped = shownNames(dropped)
  entry.left_out = shownNames(upstream.leftOut)
  witness.began(entry)
  const { totalAt, maxTokens, meter } = terms
  const parts: AttemptParts = {
    request: expected(request, settings),
    pair: inspected(pair, target, asked, { deadlines: gateway.deadlines, totalAt }),
    upstream,
    target,
    permit,
    endpoint,
    maxTokens,
    metered: meter.begin(name, settings.model, terms.lane.learnt?.worths),
    gateway,
    totalAt,
    hasBlamed: journey.hasBlamed(target),
  }
  const one = calls === undefined ? new Attempt(parts) : batchOf(parts, calls, asked.dialect)
  presence.begin(one)
  const ids = idsFor(asked.ids, settings, entry)
  one.send(namingCaller(ids, settings, asked.caller, terms.route.name))
  return { one, entry }
}

function inspected(
  pair: Pair,
  { settings: { provider } }: Target,
  { dialect, inspector }: Asked,
  allowance: Allowance,
): AnyPair {
  if (inspector === undefined) return pair
  return inspectedPair(dialect, provider, inspector, allowance) as AnyPair
}

function conclude({ one, entry }: Running, outcome: Outcome, { asked, gateway }: Way): void {
  asked.presence.done()
  entry.upstream_request_id = one.upstreamRequestId
  entry.upstream_limits = one.upstreamLimits
  entry.answer = one.facts
  closeEntry(entry, outcome, gateway.clock.now() - asked.receivedAt)
  asked.witness.ended(entry)
  gateway.metrics.attempts.at(entry.upstream, entry.outcome).value++
}

function endOf(why: Ending, way: Way): GatewayError {
  const { journey, terms, gateway } = way
  const { last, unable } = journey
  if (last !== undefined && journey.unreached > 0)
    return unreachedError(last.target.name, journey.unreached)
  if (last !== undefined) return refusalOf(last.failure, last.target.name, way.asked.request)
  if (unable !== undefined && !terms.lane.targets.some((target) => takes(target, way)))
    return unable
  return unservedError(why, terms, gateway.clock.now())
}

/** Whether the target could be asked if it were up and free. */
function takes(target: Target, way: Way): boolean {
  if (!way.terms.fits(target)) return false
  try {
    encodeFor(way.asked.request, encodingFor(target, way))
    return true
  } catch {
    return false
  }
}
