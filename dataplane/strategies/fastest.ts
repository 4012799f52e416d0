/** The upstream that begins its answers first: the better of two drawn at random, so that not all go to one. */
import type { Candidate, Strategy } from './contract.ts'

/** Requests that go to any upstream, so that one that was slow once is measured again. */
const EXPLORED = 0.05

export const fastest: Strategy = {
  name: 'fastest',
  summary:
    'The faster of two upstreams, by the average time to the first content of streams; one of 20 requests goes to any.',
  members: (route) => route.upstreams.map((entry) => entry.name),
  order({ eligible, random }) {
    if (eligible.length < 2) return eligible
    const sorted = eligible.toSorted((one, other) => waitOf(one) - waitOf(other))
    if (random() < EXPLORED) return withFirst(sorted, indexOf(sorted, random()))
    const one = indexOf(sorted, random())
    const other = (one + 1 + Math.floor(random() * (sorted.length - 1))) % sorted.length
    return withFirst(sorted, Math.min(one, other))
  },
}

function indexOf(list: readonly unknown[], drawn: number): number {
  return Math.floor(drawn * list.length)
}

function withFirst<C>(sorted: readonly C[], index: number): readonly C[] {
  return [...sorted.slice(index, index + 1), ...sorted.slice(0, index), ...sorted.slice(index + 1)]
}

/** An upstream without a measurement is asked first, but by one request at a time. */
function waitOf({ firstContentMs, inFlight }: Candidate): number {
  if (firstContentMs !== undefined) return firstContentMs
  return inFlight === 0 ? 0 : Number.MAX_VALUE
}
