/** The live upstreams: state that outlives a change of configuration, and the targets of each route. */

import { estimateOf, type PriceList } from '../../accounts/price.ts'
import { schedule } from '../../base/clock.ts'
import type { Route, Snapshot, UpstreamSettings } from '../../config/snapshot.ts'
import { fairnessOf } from '../../config/upstreams/fairness.ts'
import type { Candidate } from '../../strategies/contract.ts'
import type { PassedOver } from '../../telemetry/trace/parts.ts'
import type { Counter } from '../../tokens/counter.ts'
import { counterOf } from '../../tokens/exact/counters.ts'
import { Learnt } from '../../tokens/learnt.ts'
import type { FetchedCredential } from '../../wire/credential-source.ts'
import { firstContentOf } from '../answer/first-content.ts'
import type { Standing } from '../attempt/attempts.ts'
import { objectiveOf, type Spill, spillReasons } from '../attempt/spill.ts'
import { withCredential } from '../credentials/upstream-credential.ts'
import { identityOf } from '../endpoints/identity.ts'
import { Lookups } from '../endpoints/names.ts'
import { Reports } from '../endpoints/reports.ts'
import type { EndpointsWorld, World } from '../endpoints/world.ts'
import { shareOut } from '../fairness/shared-places.ts'
import { type Group, groupFor, pathsIn, spillsOf } from '../groups/group.ts'
import { type RolloutTargets, rolloutOf } from '../groups/newer.ts'
import { queueIntervalMs, steeringUpstreams } from './queue-watch.ts'
import { TargetState } from './target-state.ts'

/** Tokens of the prompt and of the answer by which prices are compared. */
const SAMPLE_TOKENS = 1000

type UpstreamHeaders = Readonly<Record<string, string>>

/** An upstream as one route of one configuration sees it. */
export class Target implements Candidate {
  readonly settings: UpstreamSettings
  readonly weight: number
  readonly state: TargetState
  /** Nano-dollars of a sample request at the price of the model. */
  readonly price: number | undefined
  /** Counts the tokens of prompts for this upstream. */
  readonly counter: Counter
  /** The provider's headers of an earlier request, and their final form. */
  #provided: UpstreamHeaders | undefined
  #sent: readonly string[] = []
  /** Cache: the fetched credential of an earlier request, and the settings with it. */
  #fetched: FetchedCredential | undefined
  #settingsWith: UpstreamSettings | undefined
  /** Cache: the settings with each of several keys. */
  #settingsByKey: UpstreamSettings[] | undefined

  constructor(settings: UpstreamSettings, weight: number, state: TargetState, prices?: PriceList) {
    const price = prices?.get(settings.model)
    this.price = price && estimateOf(SAMPLE_TOKENS, SAMPLE_TOKENS, price).nanos
    this.settings = settings
    this.weight = weight
    this.state = state
    this.counter = counterOf(settings, () => state.runtimeCounter)
  }

  get name(): string {
    return this.settings.name
  }

  get inFlight(): number {
    return this.state.inFlight
  }

  get reportedQueue(): number | undefined {
    return this.state.reportedQueue
  }

  get firstContentMs(): number | undefined {
    return firstContentOf(this.state).ms
  }

  get replicas(): number {
    return this.state.endpoints?.count || 1
  }

  get contextWindow(): number | undefined {
    return this.settings.contextWindow ?? this.state.toldWindow
  }

  /** The settings with the present credential; undefined while a required credential is missing. */
  get settingsNow(): UpstreamSettings | undefined {
    const { renewed, keys } = this.state.credential
    if (keys !== undefined) return this.settingsWith(keys.peek())
    if (renewed === undefined) return this.settings
    const { current } = renewed
    if (current !== this.#fetched) {
      this.#fetched = current
      this.#settingsWith = current && withCredential(this.settings, current)
    }
    return this.#settingsWith
  }

  /** The settings with one of several keys. */
  settingsWith(key: number): UpstreamSettings {
    const { settings } = this
    const { keys: otherSecrets = [] } = settings
    this.#settingsByKey ??= otherSecrets.map((credential) => ({
      ...settings,
      credential,
      otherSecrets,
    }))
    return this.#settingsByKey[key] ?? settings
  }

  /**
   * All headers of a request except its id, name and value alternating. Configured headers override the provider's. A
   * provider mostly returns the same object again.
   */
  headersOf(provided: UpstreamHeaders): readonly string[] {
    if (provided === this.#provided) return this.#sent
    const all = { ...provided, ...this.settings.headers, 'accept-encoding': 'identity' }
    this.#provided = provided
    this.#sent = Object.entries(all)
      .filter(([name]) => !OF_ONE_REQUEST.has(name.toLowerCase()))
      .flat()
    return this.#sent
  }

  /**
   * For a request of low priority, an upstream is full if at most a quarter of its places is free.
   * A shared upstream is full while any request waits.
   */
  standing(now: number, yields: boolean): Standing {
    if (this.state.outBecause(now) !== undefined) return 'out'
    const { fair } = this.state
    if (fair !== undefined) return fair.isOpen ? 'ready' : 'full'
    const { max_queue_depth } = this.settings.section
    if (max_queue_depth === undefined) return 'ready'
    const places = yields ? yieldingPlaces(max_queue_depth) : max_queue_depth
    const { endpoints } = this.state
    if (endpoints !== undefined && endpoints.count > 0)
      return endpoints.isFull(places, now) ? 'full' : 'ready'
    return this.state.inFlight >= places ? 'full' : 'ready'
  }

  /** Whether a request may start, or wait for a place. */
  isOpen(now: number, yields: boolean): boolean {
    const standing = this.standing(now, yields)
    return standing === 'ready' || (standing === 'full' && this.state.fair !== undefined)
  }
}

/** Sent with the ids of each request, so a configured one would appear twice. */
const OF_ONE_REQUEST = new Set(['x-request-id', 'x-client-request-id', 'traceparent', 'tracestate'])

/** low priority may use at most three quarters of max_queue_depth, and at least one place. */
export function yieldingPlaces(places: number): number {
  return Math.max(1, Math.floor((places * 3) / 4))
}

/** The upstreams of a route, and the number of its requests, by which round_robin rotates. */
export interface Lane {
  readonly targets: readonly Target[]
  /** Present if the strategy has a primary with fallbacks. */
  readonly spill?: Spill<Target> | undefined
  /** Those of routes within the route. */
  readonly innerSpills?: readonly Spill<Target>[] | undefined
  /** Present if the order of attempts needs more than the strategy. */
  readonly group?: Group<Target> | undefined
  /** The routes that lead to an upstream, if routes are members. */
  readonly paths?: ReadonlyMap<Target, string> | undefined
  readonly prices?: PriceList | undefined
  turn: number
  /** Whether requests may wait for a place at one of them. */
  readonly hasQueues?: boolean | undefined
  /** Upstreams of the route that the tenant may not use, with the reason. */
  readonly barred?: readonly PassedOver[] | undefined
  /** Corrects the estimates of the route's prompts; kept across changes of configuration. */
  readonly learnt?: Learnt | undefined
  /** Present while a new upstream gets a share of the requests. */
  readonly rollout?: RolloutTargets<Target> | undefined
}

/** The live upstreams of each route, by the route's name. */
export type Lanes = ReadonlyMap<string, Lane>

/** Whether the tenant may use none of the route's upstreams. */
export function isBarred(lane: Lane | undefined): boolean {
  return lane?.barred !== undefined && lane.targets.length === 0 && lane.barred.length > 0
}

/** The largest context window among the upstreams; undefined if one is unknown. */
export function windowOf(lane: Lane | undefined): number | undefined {
  const windows = lane?.targets.map(({ contextWindow }) => contextWindow) ?? []
  const known = windows.filter((window) => window !== undefined)
  return known.length === 0 || known.length < windows.length ? undefined : Math.max(...known)
}

export class Targets {
  readonly #world: World & EndpointsWorld
  #states = new Map<string, TargetState>()
  /** By route. */
  #learnt = new Map<string, Learnt>()
  #named: ReadonlyMap<string, Target> = new Map()

  constructor(world: World) {
    const { clock, resolve } = world
    const shared = { reports: new Reports(clock), lookups: new Lookups(resolve), schedule }
    this.#world = { ...world, ...shared, census: { count: 0 } }
    world.pushed?.follow(() => {
      for (const { endpoints } of this.#states.values()) endpoints?.refresh()
    })
    world.metrics.breakerState.collect = () => {
      for (const state of this.#states.values()) state.show()
    }
  }

  /** Makes the lanes of each route. Unused states are closed after their requests end. */
  activate(snapshot: Snapshot): Lanes {
    const states = new Map<string, TargetState>()
    const stateOf = new Map<UpstreamSettings, TargetState>()
    const fairness = fairnessOf(snapshot.section)
    const steering = steeringUpstreams(snapshot, fairness)
    for (const settings of snapshot.upstreams.values()) {
      const identity = identityOf(settings, snapshot, this.#world.readText)
      const state =
        this.#states.get(identity) ?? new TargetState(settings, snapshot.section, this.#world)
      state.configure(settings)
      state.watchQueue(steering.has(settings.name) ? queueIntervalMs(settings) : undefined)
      shareOut(state, settings, fairness.get(settings.name), this.#world)
      states.set(identity, state)
      stateOf.set(settings, state)
    }
    const lanes = new Map<string, Lane>()
    const { prices } = snapshot.limits
    const allLearnt = new Map<string, Learnt>()
    for (const route of snapshot.routes.values()) {
      const targets = route.members.map(({ upstream, weight }) => {
        // Every member is an upstream of the snapshot, so its state exists.
        return new Target(upstream, weight, stateOf.get(upstream) as TargetState, prices)
      })
      const learnt = this.#learnt.get(route.name) ?? new Learnt()
      allLearnt.set(route.name, learnt)
      const hasQueues = targets.some(({ name }) => fairness.has(name))
      const order = orderFor(route, targets)
      lanes.set(route.name, { targets, ...order, prices, turn: 0, hasQueues, learnt })
    }
    this.#named = new Map(
      [...stateOf].map(([settings, state]) => [settings.name, new Target(settings, 1, state)]),
    )
    const gone = [...this.#states].filter(([identity]) => !states.has(identity))
    this.#states = states
    this.#learnt = allLearnt
    for (const [, state] of gone) state.retire()
    return lanes
  }

  /** An upstream of the active configuration, in no route. */
  named(name: string): Target | undefined {
    return this.#named.get(name)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#states.values()].map((state) => state.destroy()))
  }
}

/** How the attempts of a route are ordered. `before`: a lane of the same route, whose turns go on. */
export function orderFor(
  route: Pick<Route, 'section' | 'group' | 'rollout'>,
  targets: readonly Target[],
  before?: Lane,
): Pick<Lane, 'spill' | 'innerSpills' | 'group' | 'paths' | 'rollout'> {
  const rollout = rolloutOf(route, targets)
  if (route.group === undefined) return { spill: spillOf(route, targets), rollout }
  const byName = new Map(targets.map((target) => [target.name, target]))
  const group = groupFor(route.group, byName, before?.group)
  return { ...spillsOf(group), group, paths: pathsIn(group), rollout }
}

function spillOf(
  { section }: Pick<Route, 'section'>,
  targets: readonly Target[],
): Spill<Target> | undefined {
  if (section.strategy !== 'primary_with_fallback') return undefined
  const primary = targets.find((target) => target.name === section.primary)
  if (primary === undefined) return undefined
  const objective = objectiveOf(section)
  return { primary, reasons: spillReasons(section.overflow), ...(objective && { objective }) }
}
