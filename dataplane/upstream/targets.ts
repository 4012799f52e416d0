/** The live side of upstreams: what outlives a change of configuration, and what a route may choose from. */
import type { Dispatcher } from 'undici'
import type { Snapshot, UpstreamSettings } from '../config/snapshot.ts'
import type { Candidate } from '../strategies/contract.ts'
import { openPool } from './client.ts'

/** Shared by all configurations in which the upstream of this name has the same connection settings. */
export class TargetState {
  readonly pool: Dispatcher
  inFlight = 0

  constructor(pool: Dispatcher) {
    this.pool = pool
  }
}

/** An upstream as one route of one configuration sees it. */
export class Target implements Candidate {
  readonly settings: UpstreamSettings
  readonly weight: number
  readonly state: TargetState
  /** Counts this route's requests, so that rotation is even. */
  readonly reportedQueue: number | undefined = undefined

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
}

export class Targets {
  #states = new Map<string, TargetState>()

  /** The targets of each route. States no longer used are closed once their requests are done. */
  activate(snapshot: Snapshot): ReadonlyMap<string, readonly Target[]> {
    const states = new Map<string, TargetState>()
    for (const settings of snapshot.upstreams.values()) {
      const identity = identityOf(settings)
      states.set(identity, this.#states.get(identity) ?? new TargetState(openPool(settings)))
    }
    const byRoute = new Map<string, readonly Target[]>()
    for (const route of snapshot.routes.values()) {
      const targets = route.members.map(({ upstream, weight }) => {
        // Every member is one of the snapshot's upstreams, so its state has just been made.
        return new Target(upstream, weight, states.get(identityOf(upstream)) as TargetState)
      })
      byRoute.set(route.name, targets)
    }
    const gone = [...this.#states].filter(([identity]) => !states.has(identity))
    this.#states = states
    for (const [, state] of gone) void state.pool.close()
    return byRoute
  }

  async close(): Promise<void> {
    await Promise.all([...this.#states.values()].map((state) => state.pool.destroy()))
  }
}

/** Two upstreams with the same identity may share connections. */
function identityOf({ name, origin, section }: UpstreamSettings): string {
  const { connect_timeout_seconds, max_connections, tls } = section
  return JSON.stringify([name, origin, connect_timeout_seconds, max_connections, tls])
}
