/** The shortest queue first. */
import type { Candidate, Strategy } from './contract.ts'
import { rotated } from './rotation.ts'

export const leastQueue: Strategy = {
  name: 'least_queue',
  summary: 'The upstream with the shortest queue; equals take turns.',
  members: (route) => route.upstreams.map((entry) => entry.name),
  order({ eligible, turn }) {
    if (eligible.length < 2) return eligible
    const sorted = eligible.toSorted((left, right) => loadOf(left) - loadOf(right))
    rotateEquals(sorted, turn)
    return sorted
  },
}

/**
 * The report is as old as the last scrape. The gateway's own running requests are exact and include this replica's
 * latest ones, so that a burst between two scrapes does not all go to the same upstream. Replicas share the endpoints,
 * so the queue of each endpoint counts.
 */
function loadOf(candidate: Candidate): number {
  return ((candidate.reportedQueue ?? 0) + candidate.inFlight) / (candidate.replicas ?? 1)
}

/** Rotates each run of equal loads separately; over the whole list, the neighbour of a longer queue would get more. */
function rotateEquals<C extends Candidate>(sorted: C[], turn: number): void {
  let start = 0
  for (let end = 1; end <= sorted.length; end++) {
    if (sameLoad(sorted[start], sorted[end])) continue
    if (end - start > 1) {
      sorted.splice(start, end - start, ...rotated(sorted.slice(start, end), turn))
    }
    start = end
  }
}

function sameLoad(left: Candidate | undefined, right: Candidate | undefined): boolean {
  return left !== undefined && right !== undefined && loadOf(left) === loadOf(right)
}
