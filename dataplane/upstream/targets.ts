/** The live side of upstreams: what outlives a change of configuration, and what a route may choose from. */
import type { Snapshot, UpstreamSettings } from '../config/snapshot.ts'
import { type ReadText, tlsDigest, tlsOf } from '../config/tls-files.ts'
import type { Candidate } from '../strategies/contract.ts'
import type { Standing } from './attempts.ts'
import { hasQueueGauges } from './queue-gauges.ts'
import { TargetState, type World } from './target-state.ts'

/** An upstream as one route of one configuration sees it. */
export class Target implements Candidate {
  readonly settings: UpstreamSettings
  readonly weight: number
  readonly state: TargetState

  constructor(settings: UpstreamSettings, weight: number, state: TargetState) {
    this.settings = settings
    this.weight = weight
    this.state = state
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

  get contextWindow(): number | undefined {
    return this.settings.contextWindow
  }

  standing(now: number): Standing {
    if (this.state.outBecause(now) !== undefined) return 'out'
    const { max_queue_depth } = this.settings.section
    return max_queue_depth !== undefined && this.state.inFlight >= max_queue_depth
      ? 'full'
      : 'ready'
  }
}

/** How often the queue is asked for where the configuration does not say. */
const QUEUE_INTERVAL_SECONDS = 2

/** The upstreams of a route, and how many requests it has had: what rotates. */
export interface Lane {
  readonly targets: readonly Target[]
  turn: number
}

export class Targets {
  readonly #world: World
  #states = new Map<string, TargetState>()

  constructor(world: World) {
    this.#world = world
    world.metrics.breakerState.collect = () => {
      for (const state of this.#states.values()) state.show()
    }
  }

  /** The lanes of each route. States no longer used are closed once their requests are done. */
  activate(snapshot: Snapshot): ReadonlyMap<string, Lane> {
    const states = new Map<string, TargetState>()
    const stateOf = new Map<UpstreamSettings, TargetState>()
    const steering = steeringUpstreams(snapshot)
    for (const settings of snapshot.upstreams.values()) {
      const identity = identityOf(settings, snapshot, this.#world.readText)
      const state =
        this.#states.get(identity) ?? new TargetState(settings, snapshot.section, this.#world)
      state.configure(settings)
      state.watchQueue(steering.has(settings.name) ? queueIntervalMs(settings) : undefined)
      states.set(identity, state)
      stateOf.set(settings, state)
    }
    const lanes = new Map<string, Lane>()
    for (const route of snapshot.routes.values()) {
      const targets = route.members.map(({ upstream, weight }) => {
        // Every member is one of the snapshot's upstreams, so its state has just been found.
        return new Target(upstream, weight, stateOf.get(upstream) as TargetState)
      })
      lanes.set(route.name, { targets, turn: 0 })
    }
    const gone = [...this.#states].filter(([identity]) => !states.has(identity))
    this.#states = states
    for (const [, state] of gone) state.retire()
    return lanes
  }

  async close(): Promise<void> {
    await Promise.all([...this.#states.values()].map((state) => state.destroy()))
  }
}

/** Upstreams whose queue decides where a request goes. */
function steeringUpstreams({ routes }: Snapshot): ReadonlySet<string> {
  const names = new Set<string>()
  for (const { strategy, members } of routes.values()) {
    if (strategy.name !== 'least_queue') continue
    for (const { upstream } of members) names.add(upstream.name)
  }
  return names
}

function queueIntervalMs({ provider, section }: UpstreamSettings): number | undefined {
  if (section.queue_metrics?.enabled === false || !hasQueueGauges(provider.name)) return undefined
  return (section.queue_metrics?.interval_seconds ?? QUEUE_INTERVAL_SECONDS) * 1000
}

/**
 * Two upstreams with the same identity share connections, health and breaker over a change of configuration. What the
 * files of `tls` hold is part of it: a rotated certificate takes effect with new connections.
 */
function identityOf(settings: UpstreamSettings, snapshot: Snapshot, readText: ReadText): string {
  const { name, origin, section } = settings
  const { connect_timeout_seconds, max_connections } = section
  const { tls: shared, http_proxy, no_proxy } = snapshot.section
  const tls = tlsOf(section, snapshot.section)
  const egress = http_proxy && [http_proxy, no_proxy, shared, tlsDigest(shared, readText)]
  return JSON.stringify([
    ...[name, origin, connect_timeout_seconds, max_connections],
    ...[tls, tlsDigest(tls, readText), egress],
  ])
}
