/** The attempts of one request: the facts for the plan, and the effects of a failure on its upstream. */
import type { Presence } from '../../call/presence.ts'
import type { Route } from '../../config/snapshot.ts'
import type { PassedOver } from '../../telemetry/trace/parts.ts'
import type { ModelRequest } from '../../wire/inner-form.ts'
import type { Failure } from '../../wire/provider.ts'
import type { Unsupported } from '../../wire/unsupported.ts'
import { firstContentOf } from '../answer/first-content.ts'
import { SentKeys } from '../credentials/sent-keys.ts'
import { affinityKeyOf, type Client } from '../endpoints/affinity-key.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'
import { TriedEndpoints } from '../endpoints/tried.ts'
import { eligibleOf, orderOf, targetsFor } from '../groups/lane-order.ts'
import type { Lane, Target } from '../live/targets.ts'
import { type FailedAttempt, type Spent, SpentQuotas, type Standing } from './attempts.ts'
import { pauseFor, retryDelayMs } from './backoff.ts'
import type { Planner } from './parts.ts'
import { overOf } from './passed-over.ts'
import type { Plan } from './plan.ts'
import { alsoPrimary, isSlowPrimary, primariesOf, type Spill, type SpillReason } from './spill.ts'
import { isCut, isDoubtful } from './verdict.ts'

const RETRY_DEFAULTS = { initial_delay_ms: 100, respect_retry_after: true }

export interface JourneyStart {
  readonly request: ModelRequest
  readonly route: Route
  readonly lane: Lane
  /** Whether the request fits the target's context window. */
  readonly fits: (target: Target) => boolean
  /** Whether the request leaves the last places of an upstream to others. */
  readonly yields: boolean
  /** Score of the prompt's difficulty, if it was computed. */
  readonly difficulty?: number | undefined
  /** Whether the new upstream of a rollout gets the request first. */
  readonly isNewer?: boolean | undefined
}

const NONE: readonly Endpoint[] = []
/** Most other endpoints and keys that a request tries, if the route sets no number of attempts. */
const MOVES_MAX = 2

/** This object is also the plan's view of the attempts, to make only one object a request. */
export class Journey implements Plan<Target> {
  candidates: readonly Target[]
  /** Upstreams that are not candidates, with the reasons; undefined if there are none. */
  passedOver: readonly PassedOver[] | undefined
  readonly attempts: FailedAttempt<Target>[] = []
  attemptsMax: number
  readonly repeats: boolean
  spill: Spill<Target> | undefined
  readonly innerSpills: Lane['innerSpills']
  /** The refusal of the first candidate that does not support the request. */
  unable: Unsupported | undefined
  /** The failure that the client gets if no upstream is left. */
  last: { readonly target: Target; readonly failure: Failure } | undefined
  /** Whether the request may wait for a place at a shared upstream. */
  mayQueue = false
  /** The upstream at which the request has a place. */
  placed: Target | undefined
  readonly #start: JourneyStart
  readonly #route: Route
  readonly #planner: Planner
  readonly #request: ModelRequest
  readonly #yields: boolean
  /** Targets that do not support the request. */
  readonly #unable = new Set<Target>()
  /** Absent for upstreams with one endpoint. */
  #places: TriedEndpoints | undefined
  /** Absent for most requests. */
  #spent: SpentQuotas | undefined
  /** Absent for most requests. */
  #keys: SentKeys | undefined
  #moves = 0
  #delayMs = 0
  /** The time of the next plan, read once so that all rules use the same time. */
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
    const isWhole = eligible.length === this.targets.length && lane.barred === undefined
    this.passedOver = isWhole ? undefined : overOf(start, this.#now)
    this.candidates = orderOf(start, eligible, planner.random)
    this.attemptsMax = route.attemptsMax
    this.repeats = route.section.retry?.max_attempts !== undefined
    const { spill } = lane
    const isSpilling = spill !== undefined && primariesOf(spill).some(start.fits)
    const newer = start.isNewer ? lane.rollout?.newer : undefined
    this.spill = isSpilling ? alsoPrimary(newer, spill) : undefined
    this.innerSpills = lane.innerSpills
  }

  /**
   * Notes that the request cannot be written for the target. This is not a failure: the plan skips the target, as with
   * a window that is too small.
   */
  cannot(target: Target, refusal: Unsupported): void {
    this.unable ??= refusal
    this.#unable.add(target)
    this.candidates = this.candidates.filter((candidate) => candidate !== target)
    const { spill } = this
    if (spill !== undefined && primariesOf(spill).every((one) => this.#unable.has(one)))
      this.spill = undefined
    const why = `does not support ${refusal.params.join(', ')}`
    this.passedOver = [...(this.passedOver ?? []), { upstream: target.name, why }]
  }

  /** Notes that a quota of the upstream has no room for the request; the plan skips the upstream until then. */
  passOver(target: Target, spent: Spent): void {
    this.#spent ??= new SpentQuotas()
    this.#spent.note(target.name, spent)
    const others = (this.passedOver ?? []).filter(({ upstream }) => upstream !== target.name)
    this.passedOver = [...others, { upstream: target.name, why: spent.why }]
  }

  /** The full quota that has room first; undefined if no quota is full. */
  get spent(): Spent | undefined {
    return this.#spent?.first
  }

  /** With a place, a full upstream is ready. A repeat there may wait for one. */
  standing(target: Target): Standing {
    if (this.#spent?.isSpent(target.name, this.#now)) return 'spent'
    if (target === this.placed)
      return target.state.outBecause(this.#now) === undefined ? 'ready' : 'out'
    const standing = target.standing(this.#now, this.#yields)
    if (standing !== 'full' || !this.mayQueue || target.state.fair === undefined) return standing
    return this.attempts.some(({ candidate }) => candidate === target) ? 'ready' : 'full'
  }

  /** Whether the breaker has counted a failure at the target that this request may have caused. */
  hasBlamed(target: Target): boolean {
    return this.attempts.some(({ candidate, isDoubtful }) => candidate === target && isDoubtful)
  }

  cooled(target: Target): boolean {
    const { cooledUntil, credential } = target.state
    return cooledUntil > this.#now || credential.keys?.hasOther([]) === false
  }

  isSlow(target: Target): boolean {
    const { spill, innerSpills } = this
    if (spill?.objective === undefined && innerSpills === undefined) return false
    const content = firstContentOf(target.state)
    return isSlowPrimary(target, [spill, ...(innerSpills ?? [])], (objective) =>
      content.misses(objective, this.#now),
    )
  }

  /** The key for the next attempt; undefined: the upstream has one credential, or none. */
  takeKey({ state }: Target): number | undefined {
    if (state.credential.keys === undefined) return undefined
    this.#keys ??= new SentKeys()
    return this.#keys.take(state)
  }

  mayRepeat(target: Target): boolean {
    // The budget was asked before the request waited for its place.
    if (target === this.placed) return true
    return target.state.retryBudget.take(this.#now)
  }

  /** The endpoint for the next attempt; undefined: use the upstream's host name. */
  place(target: Target, client: Client | undefined): Endpoint | undefined {
    const { endpoints } = target.state
    if (endpoints === undefined) return undefined
    const key = affinityKeyOf(this.#request, target.settings, client)
    const tried = this.#triedOf(target)
    // All endpoints were tried, so a repeat starts over.
    const passed = endpoints.hasOther(tried, this.#now) ? tried : NONE
    const endpoint = endpoints.choose(passed, key, this.#now)
    this.#places ??= new TriedEndpoints()
    this.#places.note(target.state, endpoint)
    return endpoint
  }

  hasOther(target: Target): boolean {
    const { endpoints } = target.state
    if (endpoints === undefined) return false
    return endpoints.hasOther(this.#triedOf(target), this.#now)
  }

  /** Number of endpoints that were tried, if none could be reached. */
  get unreached(): number {
    if (this.#places === undefined || !this.attempts.every(({ isCut: cut }) => cut)) return 0
    return this.#places.count
  }

  #triedOf({ state }: Target): readonly (Endpoint | undefined)[] {
    return this.#places?.of(state) ?? NONE
  }

  /** Records a failure. An upstream whose Retry-After is too long for a repeat is tried last for that time. */
  failed(target: Target, failure: Failure, totalAt: number): void {
    const { clock, random } = this.#planner
    this.#now = clock.now()
    firstContentOf(target.state).failed()
    const { initial_delay_ms, respect_retry_after } = this.#route.section.retry ?? RETRY_DEFAULTS
    const delayed = retryDelayMs({
      attempt: this.attempts.filter(({ candidate }) => candidate === target).length + 1,
      initialDelayMs: initial_delay_ms,
      random,
      retryAfterMs: failure.retryAfterMs,
      respectRetryAfter: respect_retry_after,
    })
    const hasOtherKey = this.#keys?.hasOther(target.state, failure) === true
    const isMovedOn = delayed.kind === 'move_on' && !hasOtherKey
    if (isMovedOn) target.state.cooledUntil = this.#now + delayed.coolMs
    this.#delayMs = delayed.kind === 'wait' ? delayed.delayMs : 0
    // The route serves the request as if the new upstream had not been asked, even if that refused it.
    const isNewer = target === this.#start.lane.rollout?.newer
    const isHidden = isNewer && (failure.class === 'client' || failure.class === 'context')
    if (isNewer) this.attemptsMax++
    this.attempts.push({
      candidate: target,
      failure: isHidden ? 'server' : failure.class,
      isDoubtful: isDoubtful(failure) && !hasOtherKey,
      moveOn: isNewer || isMovedOn,
      isTooLate: this.#delayMs >= totalAt - this.#now,
      isCut: isCut(failure),
      isOfKey: hasOtherKey,
      isUnreached: failure.isUnreached === true,
    })
    // Even without `retry`, a broken endpoint or a refused key must not fail the request.
    const isElsewhere = target.state.endpoints !== undefined && isCut(failure)
    const isMoving = (isElsewhere || hasOtherKey) && !this.repeats
    if (isMoving && this.#moves++ < MOVES_MAX) this.attemptsMax++
    this.last = { target, failure }
  }

  /** A repeat at another endpoint needs no pause. */
  moves(target: Target): void {
    this.#planner.metrics.retries.at(target.name).value++
  }

  /** Waits before a repeat at the same upstream; ends early when the client leaves or at the deadline. */
  async pause(target: Target, totalAt: number, presence: Presence): Promise<void> {
    const { clock, metrics } = this.#planner
    metrics.retries.at(target.name).value++
    await pauseFor(Math.min(this.#delayMs, totalAt - clock.now()), presence)
  }

  /** All upstreams that the request may use. */
  get targets(): readonly Target[] {
    return targetsFor(this.#start)
  }

  /** Whether waiting for the upstream makes sense: it supports the request and has received nothing. */
  mayAwait(target: Target): boolean {
    if (this.#unable.has(target) || !this.#start.fits(target)) return false
    if (this.#spent?.isSpent(target.name, this.#now)) return false
    return this.attempts.every(({ candidate, isUnreached }) => candidate !== target || isUnreached)
  }

  /** Whether the request could be sent somewhere now, or to that upstream. */
  isOpen(only: Target | undefined): boolean {
    const now = this.#planner.clock.now()
    return this.targets.some((target) => {
      if (only !== undefined && target !== only) return false
      return this.mayAwait(target) && target.isOpen(now, this.#yields)
    })
  }

  /** Plans again after a wait. Failed connections do not count as attempts. */
  again(): void {
    this.#now = this.#planner.clock.now()
    const sent = this.attempts.filter(({ isUnreached }) => !isUnreached)
    this.attempts.splice(0, Number.POSITIVE_INFINITY, ...sent)
    this.#places = undefined
    this.#order()
  }

  /** Plans again after a wait for a place. */
  reopen(): void {
    this.#now = this.#planner.clock.now()
    this.#order()
  }

  #order(): void {
    const { fits } = this.#start
    const eligible = this.targets.filter((one) => fits(one) && this.standing(one) === 'ready')
    const ordered = orderOf(this.#start, eligible, this.#planner.random)
    this.candidates = ordered.filter((target) => !this.#unable.has(target))
  }

  spilled(reason: SpillReason): void {
    this.#planner.metrics.overflow.at(this.#route.name, reason).value++
  }
}
