/** Time as an argument, and one coarse timer for everything that may be late. */
import { type Member, Roster } from './roster.ts'

export interface Clock {
  /** Milliseconds on a clock that never goes back. */
  now(): number
  /** Milliseconds since the epoch. */
  wall(): number
}

export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
}

const TIMER_MS_MAX = 2_147_483_647

/** The time for a timer or a signal. A signal takes no fraction, and both end at once if the time is too long for them. */
export function timerMs(ms: number): number {
  return Math.min(TIMER_MS_MAX, Math.max(1, Math.ceil(ms)))
}

/**
 * Calls once, after that number of milliseconds; returns a function that prevents it. It does not keep a process alive.
 */
export function schedule(delayMs: number, call: () => void): () => void {
  const timer = setTimeout(call, delayMs).unref()
  return () => clearTimeout(timer)
}

/** Something that expires. */
export interface Deadline extends Member {
  /** Milliseconds on the monotonic clock; Infinity for never. */
  due: number
  /** Called after `due`; sets a new `due`, or must be removed. */
  expire(now: number): void
}

/**
 * All deadlines of the process, swept by one timer every 100 ms: 100 ms late is exact enough for limits of whole seconds,
 * and a test can turn the clock.
 */
export class Deadlines {
  readonly #entries = new Roster<Deadline>()
  readonly #clock: Clock
  #timer: NodeJS.Timeout | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  start(): void {
    this.#timer ??= setInterval(() => this.sweep(), 100).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  add(entry: Deadline): void {
    this.#entries.add(entry)
  }

  remove(entry: Deadline): void {
    this.#entries.remove(entry)
  }

  get size(): number {
    return this.#entries.size
  }

  sweep(): void {
    const now = this.#clock.now()
    for (const entry of this.#entries.list()) {
      if (entry.due <= now) entry.expire(now)
    }
  }
}
