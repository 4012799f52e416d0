/** The lowest price first. */
import type { Candidate, Strategy } from './contract.ts'
import { rotated } from './rotation.ts'

export const cheapest: Strategy = {
  name: 'cheapest',
  summary: 'The upstream whose model has the lowest price; equals take turns. No price comes last.',
  members: (route) => route.upstreams.map((entry) => entry.name),
  order({ eligible, turn }) {
    if (eligible.length < 2) return eligible
    // The sort keeps the order of equals, so that they take turns.
    return rotated(eligible, turn).toSorted((one, other) => priceOf(one) - priceOf(other))
  },
}

/** A finite number, because infinities have no difference. */
function priceOf({ price }: Candidate): number {
  return price ?? Number.MAX_VALUE
}
