/** The configuration being enforced, with the live upstreams that the requests of a tenant may go to. */
import type { Placement } from '../config/routes/placements.ts'
import type { Snapshot } from '../config/snapshot.ts'
import type { Lane, Lanes } from '../upstream/live/targets.ts'

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
    const own = new Map([...lanes].map(([route, lane]) => [route, placedLane(lane, placement)]))
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

function placedLane(lane: Lane, { permitted, labels }: Placement): Lane {
  const targets = lane.targets.filter(({ name }) => permitted.has(name))
  const others = lane.targets.filter(({ name }) => !permitted.has(name))
  const primary = lane.spill?.primary.name
  return {
    ...lane,
    targets,
    turn: 0,
    spill: primary !== undefined && permitted.has(primary) ? lane.spill : undefined,
    hasQueues: targets.some(({ state }) => state.fair !== undefined),
    barred: others.map(({ name }) => ({ upstream: name, why: `lacks ${labels}` })),
  }
}
