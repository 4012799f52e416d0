/** Measures the memory that work leaves, and whether later pieces of it cost more than earlier ones. */
import { setImmediate as turn } from 'node:timers/promises'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

/** Pieces of the work to compare. */
const SLICES = 8
/** Allocation is counted in pages. */
const PAGES_BYTES = 65_536

export interface Growth {
  /** How many times it ran. */
  readonly times: number
  /** The bytes that the cheapest of the late slices allocated, over those of the cheapest early one. */
  readonly allocation: number
  /** The same of time. */
  readonly slowdown: number
  readonly ms: number
}

interface Spent {
  readonly bytes: number
  readonly ms: number
}

/** Works `times` times, or until it returns false. */
export async function growthOf(
  times: number,
  work: (time: number) => boolean | Promise<boolean>,
): Promise<Growth> {
  const slices: Spent[] = []
  let done = 0
  let goesOn = true
  const began = performance.now()
  for (let slice = 1; slice <= SLICES && goesOn; slice++) {
    const [bytes, ms] = [allocated(), performance.now()]
    for (const until = (slice * times) / SLICES; done < until && goesOn; ) {
      const next = work(done++)
      // The runner of tests remembers each promise for a while.
      goesOn = typeof next === 'boolean' ? next : await next
    }
    if (goesOn) slices.push({ bytes: allocated() - bytes, ms: performance.now() - ms })
  }
  const ratio = (of: (one: Spent) => number) => {
    const half = Math.floor(slices.length / 2)
    const least = (some: readonly Spent[]) => Math.min(...some.map(of))
    return half === 0 ? 1 : least(slices.slice(half)) / Math.max(least(slices.slice(0, half)), 1e-3)
  }
  return {
    times: done,
    allocation: ratio(({ bytes }) => bytes + PAGES_BYTES),
    slowdown: ratio(({ ms }) => ms),
    ms: performance.now() - began,
  }
}

/** Bytes in use once all garbage has been collected. */
export async function heldBytes(): Promise<number> {
  collect()
  // Objects of collected promises are freed with the next turn.
  await turn()
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function allocated(): number {
  return getHeapStatistics().total_allocated_bytes
}
