/** The attempts of one request: the facts the plan judges by, and what a failure does to its upstream. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../../base/clock.ts'
import type { Presence } from '../../call/presence.ts'
import type { Route } from '../../config/snapshot.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { PassedOver } from '../../telemetry/traces.ts'
import { serves } from '../../translation/pair.ts'
import type { ModelRequest } from '../../wire/inner-form.ts'
import type { Failure } from '../../wire/provider.ts'
import type { Unsupported } from '../../wire/unsupported.ts'
import { affinityKeyOf, type Client } from '../endpoints/affinity-key.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'
import type { Lane, Target } from '../live/targets.ts'
import { comparedModel, compares, isCompared } from '../live/vectors.ts'
import type { FailedAttempt, Standing } from './attempts.ts'
import { retryDelayMs } from './backoff.ts'
import type { Plan } from './plan.ts'
import type { Spill, SpillReason } from './spill.ts'
import { isCut, isDoubtful } from './verdict.ts'

const RETRY_DEFAULTS = { initial_delay_ms: 100, respect_retry_after: true }

export interface JourneyStart {
  readonly request: ModelRequest
  readonly route: Route
  readonly lane: Lane
  /** Whether the request fits the target's context window. */
  readonly fits: (target: Target) => boolean
  /** Whether it leaves the last places of an upstream to others. */
  readonly yields: boolean
  /** How hard the prompt is, where that has been found out. */
  readonly difficulty?: number | undefined
}

interface Place {
  readonly target: Target
  readonly endpoint: Endpoint | undefined
}

const NONE: readonly Endpoint[] = []
/** Other endpoints that a request tries, where the route does not say how often. */
const MOVES_MAX = 2

/** The parts of the gateway that attempts are planned with. */
export interface Planner {
  readonly clock: Clock
  readonly metrics: Metrics
  /** Uniform in [0, 1). */
  readonly random: () => number
}

/** It is also the plan of these attempts: one object a request. */
export class Journey implements Plan<Target> {
  candidates: readonly Target[]
  /** Upstreams that are not candidates, and why; undefined if every upstream is one. */
  passedOver: readonly PassedOver[] | undefined
  readonly attempts: FailedAttempt<Target>[] = []
  attemptsMax: number
  readonly repeats: boolean
  spill: Spill<Target> | undefined
  /** The refusal of the first candidate that cannot do what the request asks for. */
  unable: Unsupported | undefined
  /** The failure that the client reads when nothing is left. */
  last: { readonly target: Target; readonly failure: Failure } | undefined
  readonly #start: JourneyStart
  readonly #route: Route
  readonly #planner: Planner
  readonly #request: ModelRequest
  readonly #yields: boolean
  /** Those that cannot do what the request asks for. */
  readonly #unable = new Set<Target>()
  /** The endpoints that were asked, of upstreams that have some. */
  #places: Place[] | undefined
  #moves = 0
  #delayMs = 0
  /** The moment at which the next attempt is planned; one reading serves all questions. */
  #now: number

  constructor(start: JourneyStart, planner: Planner) {
    const { route, lane, yields } = start
    this.#start = start
    this.#request = start.request
    this.#route = route
    this.#planner = planner
    this.#yields = yields
    this.#now = planner.clock.now()
    const eligible = eligibleOf(start, this.#now)
    this.passedOver = eligible.length < lane.targets.length ? overOf(start, this.#now) : undefined
    this.candidates = orderOf(start, eligible, planner.random)
    this.attemptsMax = route.attemptsMax
    this.repeats = route.section.retry?.max_attempts !== undefined
    this.spill = lane.spill !== undefined && start.fits(lane.spill.primary) ? lane.spill : undefined
  }

  /** The request cannot be written for the target, which is no failure: it is passed over like a window too small. */
  cannot(target: Target, refusal: Unsupported): void {
    this.unable ??= refusal
    this.#unable.add(target)
    this.candidates = this.candidates.filter((candidate) => candidate !== target)
    if (this.spill?.primary === target) this.spill = undefined
    const why = `does not support ${refusal.params.join(', ')}`
    this.passedOver = [...(this.passedOver ?? []), { upstream: target.name, why }]
  }

  standing(target: Target): Standing {
    return target.standing(this.#now, this.#yields)
  }

  /** Whether a failure there that this request may have caused has counted. */
  hasBlamed(target: Target): boolean {
    return this.attempts.some(({ candidate, isDoubtful }) => candidate === target && isDoubtful)
  }

  cooled(target: Target): boolean {
    return target.state.cooledUntil > this.#now
  }

  mayRepeat(target: Target): boolean {
    return target.state.retryBudget.take(this.#now)
  }

  /** The endpoint for the next attempt; undefined: the name of the upstream. */
  place(target: Target, client: Client | undefined): Endpoint | undefined {
    const { endpoints } = target.state
    if (endpoints === undefined) return undefined
    const key = affinityKeyOf(this.#request, target.settings, client)
    const tried = this.#triedOf(target)
    // All have been tried: a repeat begins again.
    const passed = endpoints.hasOther(tried, this.#now) ? tried : NONE
    const endpoint = endpoints.choose(passed, key, this.#now)
    this.#places ??= []
    this.#places.push({ target, endpoint })
    return endpoint
  }

  hasOther(target: Target): boolean {
    const { endpoints } = target.state
    if (endpoints === undefined) return false
    return endpoints.hasOther(this.#triedOf(target), this.#now)
  }

  /** How many places were asked in vain, where none could be reached. */
  get unreached(): number {
    if (this.#places === undefined || !this.attempts.every(({ isCut: cut }) => cut)) return 0
    return new Set(this.#places.map(({ endpoint }) => endpoint)).size
  }

  #triedOf({ state }: Target): readonly (Endpoint | undefined)[] {
    if (this.#places === undefined) return NONE
    return this.#places
      .filter(({ target }) => target.state === state)
      .map(({ endpoint }) => endpoint)
  }

  /** Remembers a failure, and cools an upstream that asked for a longer wait than a repeat is worth. */
  failed(target: Target, failure: Failure, totalAt: number): void {
    const { clock, random } = this.#planner
    this.#now = clock.now()
    const { initial_delay_ms, respect_retry_after } = this.#route.section.retry ?? RETRY_DEFAULTS
    const delayed = retryDelayMs({
      attempt: this.attempts.filter(({ candidate }) => candidate === target).length + 1,
      initialDelayMs: initial_delay_ms,
      random,
      retryAfterMs: failure.retryAfterMs,
      respectRetryAfter: respect_retry_after,
    })
    if (delayed.kind === 'move_on') target.state.cooledUntil = this.#now + delayed.coolMs
    this.#delayMs = delayed.kind === 'wait' ? delayed.delayMs : 0
    this.attempts.push({
      candidate: target,
      failure: failure.class,
      isDoubtful: isDoubtful(failure),
      moveOn: delayed.kind === 'move_on',
      isTooLate: this.#delayMs >= totalAt - this.#now,
      isCut: isCut(failure),
      isUnreached: failure.isUnreached === true,
    })
    // Without `retry` a broken endpoint must not cost the request.
    const isMoving = target.state.endpoints !== undefined && isCut(failure) && !this.repeats
    if (isMoving && this.#moves++ < MOVES_MAX) this.attemptsMax++
    this.last = { target, failure }
  }

  /** The repeat is sent at once: another endpoint has not asked for a pause. */
  moves(target: Target): void {
    this.#planner.metrics.retries.at(target.name).value++
  }

  /** Waits before a repeat in place; ends early when the client leaves or the request's time is up. */
  async pause(target: Target, totalAt: number, presence: Presence): Promise<void> {
    const { clock, metrics } = this.#planner
    metrics.retries.at(target.name).value++
    const leaving = new AbortController()
    presence.begin({ leave: () => leaving.abort() })
    const delayMs = Math.max(0, Math.min(this.#delayMs, totalAt - clock.now()))
    await delay(delayMs, undefined, { signal: leaving.signal }).catch(() => undefined)
    presence.done()
  }

  /** All upstreams of the route. */
  get targets(): readonly Target[] {
    return this.#start.lane.targets
  }

  /** Whether it makes sense to wait for the upstream: it could do what is asked for, and has been sent nothing. */
  mayAwait(target: Target): boolean {
    if (this.#unable.has(target) || !this.#start.fits(target)) return false
    return this.attempts.every(({ candidate, isUnreached }) => candidate !== target || isUnreached)
  }

  /** Whether the request could be sent somewhere now, or to that upstream. */
  isOpen(only: Target | undefined): boolean {
    const now = this.#planner.clock.now()
    return this.targets.some((target) => {
      if (only !== undefined && target !== only) return false
      return this.mayAwait(target) && target.standing(now, this.#yields) === 'ready'
    })
  }

  /** Plans anew after a wait. Connections that could not be made were no attempts. */
  again(): void {
    const { clock, random } = this.#planner
    this.#now = clock.now()
    const sent = this.attempts.filter(({ isUnreached }) => !isUnreached)
    this.attempts.splice(0, Number.POSITIVE_INFINITY, ...sent)
    this.#places = undefined
    const ordered = orderOf(this.#start, eligibleOf(this.#start, this.#now), random)
    this.candidates = ordered.filter((target) => !this.#unable.has(target))
  }

  spilled(reason: SpillReason): void {
    this.#planner.metrics.overflow.at(this.#route.name, reason).value++
  }
}

function eligibleOf({ lane, fits, yields }: JourneyStart, now: number): readonly Target[] {
  const isEligible = (target: Target) => target.standing(now, yields) === 'ready' && fits(target)
  return lane.targets.every(isEligible) ? lane.targets : lane.targets.filter(isEligible)
}

/** The strategy's order of those that are eligible now; all members when none is, for the reason's sake. */
function orderOf(
  { request, route, lane, fits, difficulty }: JourneyStart,
  eligible: readonly Target[],
  random: () => number,
): readonly Target[] {
  const turn = lane.turn++
  if (eligible.length === 0) return lane.targets.filter(fits)
  const { section, strategy } = route
  return strategy.order({ route: section, eligible, request, difficulty, turn, random })
}

function overOf({ request, lane, fits, yields }: JourneyStart, now: number): PassedOver[] {
  const over: PassedOver[] = []
  for (const target of lane.targets) {
    const why = fits(target)
      ? (target.state.outBecause(now) ?? whyFull(target, now, yields))
      : whyUnfit(target, request, lane)
    if (why !== undefined) over.push({ upstream: target.name, why })
  }
  return over
}

function whyUnfit(target: Target, { operation, keepers }: ModelRequest, { targets }: Lane): string {
  const { provider } = target.settings
  if (keepers?.has(target.name) === false) return 'does not keep the response'
  if (!serves(provider, operation)) return `${provider.name} has no ${operation}`
  if (isCompared(operation) && !compares(target, operation, comparedModel(targets, operation)))
    return operation === 'embeddings' ? 'another embedding model' : 'another model'
  return 'context window too small'
}

function whyFull(target: Target, now: number, yields: boolean): string | undefined {
  if (target.standing(now, yields) !== 'full') return undefined
  const isFull = target.standing(now, false) === 'full'
  return `${isFull ? 'full' : 'full for low priority'}: ${target.inFlight} in flight`
}
