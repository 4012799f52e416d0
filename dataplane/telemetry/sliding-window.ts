/** Durations within a sliding window: a ring of time slices, each with a fixed histogram. */

/** Number of slices; the window moves by one slice, so it covers 95 to 100 % of its time. */
const SLICES = 20

/** Eight steps double the value: a percentile is at most a tenth too high. */
const STEPS_PER_DOUBLING = 8
/** The last step begins above an hour. */
const STEPS = 22 * STEPS_PER_DOUBLING

export class SlidingWindow {
  readonly sliceMs: number
  /** Durations above this limit are counted exactly, not by step. */
  readonly #limitMs: number
  readonly #steps = new Uint32Array(SLICES * STEPS)
  readonly #overs = new Uint32Array(SLICES)
  readonly #counts = new Uint32Array(SLICES)
  /** Number of the newest slice since the clock began. */
  #slice: number

  constructor(windowMs: number, limitMs: number, now: number) {
    this.sliceMs = windowMs / SLICES
    this.#limitMs = limitMs
    this.#slice = Math.floor(now / this.sliceMs)
  }

  add(durationMs: number, now: number): void {
    this.turn(now)
    const at = this.#slice % SLICES
    bump(this.#steps, at * STEPS + stepOf(durationMs))
    bump(this.#counts, at)
    if (durationMs > this.#limitMs) bump(this.#overs, at)
  }

  /** Drops the slices that have left the window; true if at least one has. */
  turn(now: number): boolean {
    const slice = Math.floor(now / this.sliceMs)
    if (slice <= this.#slice) return false
    const passed = Math.min(SLICES, slice - this.#slice)
    for (let step = 1; step <= passed; step++) this.#clear((this.#slice + step) % SLICES)
    // After a long silence the whole ring is empty.
    this.#slice = slice
    return true
  }

  get count(): number {
    return sum(this.#counts)
  }

  get overs(): number {
    return sum(this.#overs)
  }

  /** Upper bound of the percentile's step; undefined if the window is empty. */
  percentile(fraction: number): number | undefined {
    let left = Math.ceil(this.count * fraction)
    if (left === 0) return undefined
    for (let step = 0; step < STEPS; step++) {
      for (let at = 0; at < SLICES; at++) left -= this.#steps[at * STEPS + step] ?? 0
      if (left <= 0) return 2 ** ((step + 1) / STEPS_PER_DOUBLING)
    }
    return 2 ** (STEPS / STEPS_PER_DOUBLING)
  }

  #clear(at: number): void {
    this.#steps.fill(0, at * STEPS, (at + 1) * STEPS)
    this.#counts[at] = 0
    this.#overs[at] = 0
  }
}

/** The share of durations that an objective for the 95th percentile allows above its limit. */
export const ALLOWED_SHARE = 1 - 0.95

/**
 * Least durations in the window for a breach, because one slow stream proves nothing. This many late ones are a breach
 * in any case.
 */
export const SAMPLES_MIN = 20
const LATE_MIN = 5

/** Whether more durations than allowed are above the limit, among enough of them. */
export function isMissed({ count, overs }: Pick<SlidingWindow, 'count' | 'overs'>): boolean {
  return overs > count * ALLOWED_SHARE && (count >= SAMPLES_MIN || overs >= LATE_MIN)
}

function stepOf(durationMs: number): number {
  const step = Math.floor(Math.log2(Math.max(1, durationMs)) * STEPS_PER_DOUBLING)
  return Math.min(STEPS - 1, step)
}

function bump(cells: Uint32Array, at: number): void {
  cells[at] = (cells[at] ?? 0) + 1
}

function sum(cells: Uint32Array): number {
  return cells.reduce((total, count) => total + count, 0)
}
