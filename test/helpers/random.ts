/** Random numbers that are the same in every run. */

/** Whole numbers from 0 to below the bound, by a linear congruential generator of 32 bits. */
export function aRandom(seed: number): (bound: number) => number {
  let state = seed >>> 0
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    // The low bits of such a generator hardly vary.
    return Math.floor((state / 2 ** 32) * bound)
  }
}
