/** How long an upstream takes to the first content of a stream, on average. */

/** Weight of the latest stream. */
const LATEST = 0.2
/** A failure counts as a slow answer. */
const FAILED_MS_MIN = 1_000
const FAILED_MS_MAX = 60_000

export class FirstContent {
  /** Exponentially weighted; undefined before the first stream. */
  ms: number | undefined

  note(ms: number): void {
    this.ms = this.ms === undefined ? ms : this.ms + LATEST * (ms - this.ms)
  }

  failed(): void {
    this.ms = Math.min(FAILED_MS_MAX, 2 * Math.max(FAILED_MS_MIN, this.ms ?? 0))
  }
}

/** The averages live as long as the connections of an upstream. */
const known = new WeakMap<object, FirstContent>()

export function firstContentOf(state: object): FirstContent {
  const found = known.get(state)
  if (found !== undefined) return found
  const made = new FirstContent()
  known.set(state, made)
  return made
}
