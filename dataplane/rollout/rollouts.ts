/**
 * The rollouts of the configuration: their shares, the requests that have finished, and their shared states. Each replica
 * adds its sums to the state once a second and judges it; none leads, so a killed one changes nothing.
 */
import type { Clock, Deadline } from '../base/clock.ts'
import type { RolloutPlan } from '../config/routes/rollout.ts'
import type { Snapshot } from '../config/snapshot.ts'
import type { Cells } from '../store/cells/cells.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Trace } from '../telemetry/trace/fields.ts'
import { sessionOf } from '../upstream/endpoints/affinity-key.ts'
import { hashOf, mixed } from '../upstream/endpoints/choice.ts'
import type { AskedRequest, Shares } from '../upstream/groups/newer.ts'
import { countOf, msOf, quantileOf, type Sample, withSample } from './arm.ts'
import { REQUESTS_MIN } from './comparison.ts'
import { observed } from './sample.ts'
import {
  type Action,
  acted,
  begun,
  comparedIn,
  comparedWith,
  judged,
  NO_SUMS,
  type RolloutState,
  readState,
  type SideSums,
  withSums,
} from './state.ts'

const SYNC_MS = 1_000
/** Several replicas may write at the same moment. */
const TRIES_MAX = 5
/** A wait of this many times the longest usual time is a failure. */
const PATIENCE = 3
const PATIENCE_MS_MIN = 5_000

/** Older than every state that was read, so that a report of another replica counts. */
const UNREAD_SINCE = new Date(0).toISOString()
const UNREAD = 'this replica has not read the shared state yet'

/** The body of the alert. */
export interface RolloutAlert {
  readonly type: 'rollout_back'
  readonly route: string
  readonly upstream: string
  readonly why: string
  readonly reason: string
}

export interface RolloutsOptions {
  readonly clock: Clock
  /** Uniform in [0, 1). */
  readonly random: () => number
  readonly cells: Cells
  readonly metrics: Metrics
  readonly log: Log
  readonly alert: (alert: RolloutAlert) => void
}

export type RolloutSide = 'new' | 'others'

interface Followed {
  readonly plan: RolloutPlan
  state: RolloutState
  samples: { readonly newer: Sample[]; readonly others: Sample[] }
  /** Sums that the state does not contain yet. */
  waiting: SideSums
  /** When this replica saw the present step first, and how long it had run. */
  seen: { readonly key: string; readonly at: number; readonly ranMs: number }
  syncing: Promise<void> | undefined
}

/** A deadline: the caller must add it to those of the process. */
export class Rollouts implements Deadline, Shares {
  due: number
  seat = -1
  readonly #options: RolloutsOptions
  readonly #followed = new Map<string, Followed>()

  constructor(options: RolloutsOptions) {
    this.#options = options
    this.due = options.clock.now() + SYNC_MS
  }

  /** A rollout whose settings have changed begins again. */
  follow({ routes }: Pick<Snapshot, 'routes'>): void {
    const { clock, metrics } = this.#options
    for (const [name, { plan }] of this.#followed)
      if (routes.get(name)?.rollout?.id !== plan.id) this.#followed.delete(name)
    for (const [name, { rollout: plan }] of routes) {
      if (plan === undefined || this.#followed.has(name)) continue
      // The share is 0 until the state is known: it may be that of an aborted rollout.
      const state: RolloutState = { ...begun(plan, UNREAD_SINCE), share: 0, reason: UNREAD }
      const seen = { key: '', at: clock.now(), ranMs: 0 }
      const samples = { newer: [], others: [] }
      this.#followed.set(name, {
        plan,
        state,
        samples,
        waiting: NO_SUMS,
        seen,
        syncing: undefined,
      })
      void this.#sync(name)
    }
    metrics.rolloutShare.retain('route', (route) => this.#followed.has(route))
  }

  isNewer({ route, request, tenant, client }: AskedRequest): boolean {
    const { plan, state } = this.#followed.get(route.name) ?? {}
    if (plan === undefined || state === undefined || state.share <= 0) return false
    if (state.share >= 100) return true
    const key = plan.isByTenant ? hashOf(tenant) : sessionOf(request, client)
    if (key === undefined) return this.#options.random() * 100 < state.share
    return isBelow(state.share, key, plan)
  }

  /** Which side any request of the tenant takes first; undefined if each session decides. */
  sideOf({ name }: { readonly name: string }, tenant: string | undefined): RolloutSide | undefined {
    const { plan, state } = this.#followed.get(name) ?? {}
    if (plan === undefined || state === undefined) return undefined
    if (state.share <= 0) return 'others'
    if (state.share >= 100) return 'new'
    if (!plan.isByTenant || tenant === undefined) return undefined
    return isBelow(state.share, hashOf(tenant), plan) ? 'new' : 'others'
  }

  patienceMs(route: string, isStream: boolean): number | undefined {
    const state = this.#followed.get(route)?.state
    if (state === undefined) return undefined
    const others = comparedWith(state)
    const times = isStream ? others.streams : others.answers
    if (countOf(times) < REQUESTS_MIN) return undefined
    return Math.max(PATIENCE_MS_MIN, PATIENCE * msOf(quantileOf(times, 0.99)))
  }

  /** A request has ended. */
  ended(trace: Trace): void {
    const followed = this.#followed.get(trace.route)
    if (followed === undefined) return
    const seen = observed(trace, followed.plan.to)
    if (seen === undefined) return
    const { isNewer, sample } = seen
    followed.samples[isNewer ? 'newer' : 'others'].push(sample)
    const side = isNewer ? 'new' : 'old'
    const result = sample.isFailed ? 'failed' : 'ok'
    this.#options.metrics.rolloutRequests.at(trace.route, side, result).value++
  }

  expire(now: number): void {
    this.due = now + SYNC_MS
    for (const name of this.#followed.keys()) void this.#sync(name)
  }

  /** Does as a person asked; the new state, or undefined if the route has no rollout. Rejects if the store is away. */
  async act(route: string, action: Action): Promise<RolloutState | undefined> {
    const followed = this.#followed.get(route)
    if (followed === undefined) return undefined
    await followed.syncing
    await this.#exchange(followed, (state) => acted(state, action, followed.plan, this.#time()))
    return followed.state
  }

  /** For the operator. */
  report() {
    return this.list().map(({ route, to, phase, share, changed_at, reason }) => {
      return { route, to, phase, share, changed_at, reason }
    })
  }

  /** For the admin API. */
  list() {
    return [...this.#followed.values()].map(({ plan, state }) => shown(plan, state))
  }

  #sync(name: string): Promise<void> {
    const followed = this.#followed.get(name)
    if (followed === undefined) return Promise.resolve()
    const judge = (state: RolloutState) => judged(state, followed.plan, this.#time())
    followed.syncing ??= this.#exchange(followed, judge)
      .catch(() => this.#alone(followed))
      .finally(() => {
        followed.syncing = undefined
      })
    return followed.syncing
  }

  /** Adds the sums to the shared state, and changes it. */
  async #exchange(
    followed: Followed,
    change: (state: RolloutState) => RolloutState,
  ): Promise<void> {
    const { cells } = this.#options
    const { plan } = followed
    const cell = `rollout:${plan.route}`
    this.#gather(followed)
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const kept = await cells.load(cell)
      const found = kept && readState(kept.text, plan)
      const known = found ?? begun(plan, this.#time())
      const { waiting } = followed
      const next = change(this.#aged(withSums(known, waiting), followed))
      const isOver =
        known.phase === next.phase && next.phase !== 'running' && next.phase !== 'paused'
      if (found !== undefined && isOver) {
        followed.waiting = NO_SUMS
        this.#adopt(followed, known, false)
        return
      }
      if (!(await cells.swap(cell, kept?.version ?? 0, JSON.stringify(next)))) continue
      followed.waiting = NO_SUMS
      this.#adopt(followed, next, known.phase !== next.phase || known.step !== next.step)
      return
    }
  }

  /** While the store is away, nothing steps forward, but a bad upstream gets no more requests of this replica. */
  #alone(followed: Followed): void {
    const { plan, state, waiting } = followed
    const next = judged(withSums(state, waiting), plan, this.#time())
    if (next.phase !== 'back' || state.phase === 'back' || state.share === 0) return
    this.#adopt(
      followed,
      { ...state, phase: 'back', share: 0, reason: next.reason, why: next.why },
      true,
    )
  }

  #gather(followed: Followed): void {
    const { samples, waiting } = followed
    followed.samples = { newer: [], others: [] }
    followed.waiting = {
      newer: samples.newer.reduce(withSample, waiting.newer),
      others: samples.others.reduce(withSample, waiting.others),
    }
  }

  /** The step has run for the longest time that a replica has seen it. */
  #aged(state: RolloutState, followed: Followed): RolloutState {
    const now = this.#options.clock.now()
    const key = `${state.step} ${state.phase}`
    if (state.phase !== 'running') {
      followed.seen = { key, at: now, ranMs: state.ranMs }
      return state
    }
    if (followed.seen.key !== key) followed.seen = { key, at: now, ranMs: state.ranMs }
    const { at, ranMs } = followed.seen
    return { ...state, ranMs: Math.max(state.ranMs, ranMs + now - at) }
  }

  #adopt(followed: Followed, state: RolloutState, isMine: boolean): void {
    const { plan } = followed
    const { metrics, log, alert } = this.#options
    followed.state = state
    metrics.rolloutShare.at(plan.route).value = state.share
    if (!isMine) return
    const { phase, share, reason, why = 'errors' } = state
    const message = `Rollout of "${plan.to}" on route "${plan.route}": ${phase}, ${share} %: ${reason}.`
    const facts = { route: plan.route, upstream: plan.to, phase, share, reason }
    log.event(phase === 'back' ? 'warn' : 'info', 'rollout', message, facts)
    if (phase !== 'back') return
    metrics.rolloutBacks.at(plan.route, why).value++
    alert({ type: 'rollout_back', route: plan.route, upstream: plan.to, why, reason })
  }

  #time(): string {
    return new Date(this.#options.clock.wall()).toISOString()
  }
}

/** The place of a tenant or a session stays the same while the share grows. */
function isBelow(share: number, key: number, { id }: RolloutPlan): boolean {
  return (mixed(key ^ hashOf(id)) / 2 ** 32) * 100 < share
}

function shown(plan: RolloutPlan, state: RolloutState) {
  const { phase, step, share, ranMs, changedAt, reason, newer } = state
  return {
    route: plan.route,
    to: plan.to,
    phase,
    share,
    step: step + 1,
    steps: plan.steps,
    ran_seconds: Math.round(ranMs / 1000),
    every_seconds: plan.everyMs / 1000,
    requests: newer.requests,
    requests_needed: plan.requestsMin,
    compared: comparedIn(state, plan).map(({ measure, standing, text }) => ({
      measure,
      standing,
      text,
    })),
    changed_at: changedAt,
    reason,
  }
}
