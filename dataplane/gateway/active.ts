/** The configuration being enforced, with the live upstreams that the requests of a tenant may go to. */
import type { Placement } from '../config/routes/placements.ts'
import type { Route, Snapshot } from '../config/snapshot.ts'
import { type Lane, type Lanes, orderFor } from '../upstream/live/targets.ts'

/** Swapped whole. */
export interface Active {
  readonly snapshot: Snapshot
  /** The live upstreams of each route, by the name of the route. */
  readonly lanes: Lanes
  /** The same for tenants that require labels. */
  readonly placed: ReadonlyMap<Placement, Active>
  /** Present for tenants that require labels. */
  readonly placement?: Placement
}

export function activeOf(snapshot: Snapshot, lanes: Lanes): Active {
  const placements = snapshot.placements?.all() ?? []
  const placed = new Map<Placement, Active>()
  for (const placement of placements) {
    const own = new Map<string, Lane>()
    for (const [name, route] of snapshot.routes) {
      const lane = lanes.get(name)
      if (lane !== undefined) own.set(name, placedLane(lane, route, placement))
    }
    placed.set(placement, { snapshot, lanes: own, placed, placement })
  }
  return { snapshot, lanes, placed }
}

/** All stages of a request see only the upstreams that its tenant may use. */
export function activeFor(active: Active, tenant: string): Active {
  const placement = active.snapshot.placements?.of(tenant)
  // All placements of a snapshot are placed.
  return placement === undefined ? active : (active.placed.get(placement) as Active)
}

function placedLane(lane: Lane, route: Route, { permitted, labels }: Placement): Lane {
  const targets = lane.targets.filter(({ name }) => permitted.has(name))
  const others = lane.targets.filter(({ name }) => !permitted.has(name))
  return {
    ...lane,
    targets,
    turn: 0,
    ...orderFor(route, targets, lane),
    hasQueues: targets.some(({ state }) => state.fair !== undefined),
    barred: others.map(({ name }) => ({ upstream: name, why: `lacks ${labels}` })),
  }
}
