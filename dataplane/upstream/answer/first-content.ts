/** How long an upstream takes to the first content of a stream: on average, and by the objectives of its routes. */
import type { Section } from '../../schema/index.ts'
import { isMissed, SlidingWindow } from '../../telemetry/sliding-window.ts'

/** 95 % of streams begin within a time, over a window. */
export type Objective = NonNullable<Section['slo']>

/** Weight of the latest stream. */
const LATEST = 0.2
/** A failure counts as a slow answer. */
const FAILED_MS_MIN = 1_000
const FAILED_MS_MAX = 60_000

export class FirstContent {
  /** Exponentially weighted; undefined before the first stream. */
  ms: number | undefined
  /** By objective; absent unless a route leaves slow upstreams. */
  #windows: Map<string, SlidingWindow> | undefined

  /** `now`: on the monotonic clock. */
  note(ms: number, now: number): void {
    if (this.#windows !== undefined) for (const one of this.#windows.values()) one.add(ms, now)
    this.ms = this.ms === undefined ? ms : this.ms + LATEST * (ms - this.ms)
  }

  /** Whether the streams in the window miss the objective. The first question begins the window. */
  misses({ ttft_p95_ms, window_seconds }: Objective, now: number): boolean {
    this.#windows ??= new Map()
    const key = `${ttft_p95_ms} ${window_seconds}`
    const known = this.#windows.get(key)
    const window = known ?? new SlidingWindow(window_seconds * 1000, ttft_p95_ms, now)
    if (known === undefined) this.#windows.set(key, window)
    window.turn(now)
    return isMissed(window)
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
