/** The upstreams of a route; of one whose upstreams get the model that the client names, with that model. */
import type { Route } from '../../config/snapshot.ts'
import { type Lane, type Lanes, orderFor, Target } from '../live/targets.ts'

const EMPTY: Lane = { targets: [], turn: 0 }

/** A named route lives as long as its requests need it, and so does its lane. */
const named = new WeakMap<Route, WeakMap<Lane, Lane>>()

export function laneOf(route: Route, lanes: Lanes): Lane {
  const lane = lanes.get(route.name) ?? EMPTY
  if (route.sent === undefined) return lane
  const known = named.get(route)?.get(lane)
  if (known !== undefined) return known
  const made = namedLane(lane, route)
  const byLane = named.get(route) ?? new WeakMap<Lane, Lane>()
  named.set(route, byLane.set(lane, made))
  return made
}

/** Shares connections, health, turns and what was learnt with the lane of the route. */
function namedLane(whole: Lane, route: Route): Lane {
  const targets = route.members.flatMap(({ upstream, weight }) => {
    const target = whole.targets.find(({ name }) => name === upstream.name)
    return target === undefined ? [] : new Target(upstream, weight, target.state, whole.prices)
  })
  return {
    targets,
    ...orderFor(route, targets, whole),
    prices: whole.prices,
    hasQueues: whole.hasQueues,
    barred: whole.barred,
    learnt: whole.learnt,
    get turn() {
      return whole.turn
    },
    set turn(turn) {
      whole.turn = turn
    },
  }
}
