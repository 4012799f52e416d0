/** Fixed shares, drawn at random: exact only in the long run. */
import type { Candidate, Strategy } from './contract.ts'

export const weighted: Strategy = {
  name: 'weighted',
  summary: 'Fixed shares by weight; probabilistic, not exact. A weight of 0 gets nothing.',
  members: (route) => route.upstreams.map((entry) => entry.name),
  order({ eligible, random }) {
    if (eligible.length < 2) return eligible
    const order = [...eligible]
    for (let place = 0; place < order.length - 1; place++) drawInto(order, place, random())
    return order
  },
}

/**
 * Draws one of the entries from `place` on, each by its share of their weights, and swaps it to
 * `place`.
 */
function drawInto<C extends Candidate>(order: C[], place: number, random: number): void {
  const drawn = indexDrawn(order, place, random)
  const moved = order[place]
  const chosen = order[drawn]
  if (moved === undefined || chosen === undefined) return
  order[place] = chosen
  order[drawn] = moved
}

function indexDrawn(order: readonly Candidate[], place: number, random: number): number {
  let total = 0
  for (let index = place; index < order.length; index++) total += order[index]?.weight ?? 0
  // Routes leave members of weight zero out; without any share all are equal.
  if (total === 0) return place + Math.floor(random * (order.length - place))
  let point = random * total
  let last = place
  for (let index = place; index < order.length; index++) {
    const weight = order[index]?.weight ?? 0
    if (weight === 0) continue
    point -= weight
    if (point < 0) return index
    last = index
  }
  // Rounding may leave the point at the far end, and an entry of weight zero must not win because of it.
  return last
}
