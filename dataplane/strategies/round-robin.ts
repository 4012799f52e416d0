/** Even rotation over the upstreams that are eligible now. */
import type { Strategy } from './contract.ts'
import { rotated } from './rotation.ts'

export const roundRobin: Strategy = {
  name: 'round_robin',
  summary: 'Even rotation over healthy upstreams.',
  members: (route) => route.upstreams.map((entry) => entry.name),
  // Rotates over the eligible ones, not over the members: otherwise the neighbour of a missing one would also get its
  // share.
  order: ({ eligible, turn }) => rotated(eligible, turn),
}
