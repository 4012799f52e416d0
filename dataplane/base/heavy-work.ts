/**
 * Work that would delay other requests: large bodies, large answers, bytes in tiny chunks. Clients' connections and
 * long parsing share one queue of short turns. Connections to upstreams rest after a costly read, each with a timer,
 * and longer if more of them rest. While other requests are busy, each of the two groups gets at most a fifteenth of
 * the time.
 */
import { turnEnd } from './turn-end.ts'

/** A piece of work that waits for its turn. */
export interface Heavy {
  takeTurn(): void
}

/** A request up to this size is not heavy. */
export const LARGE_BYTES = 65_536
/** Longest JSON that is parsed or written in one step, the bound of a stream's event. */
export const AT_ONCE_BYTES_MAX = 1_048_576
/** How long one turn takes, except where a single piece of work takes longer. */
export const TURN_MS = 0.5
/** A turn is followed by this many times as long for others. */
const REST_FACTOR = 14
/** The longest rest after a single piece of work. */
const REST_MS_MAX = 250
/** Writes per millisecond below which no request needs the rest: about twenty requests a second. */
const QUIET_RATE = 0.04
/** A large body alone causes some writes: it is forwarded and answered. */
const QUIET_PIECES = 4
/** A process counts as busy for this long. */
const BUSY_MS = 100
/** The minimum time of the system to read bytes: about 40 us for each 64 KiB. */
const READ_MS_PER_BYTE = 6e-7

/** The time of a process, and its other requests. */
export interface Surroundings {
  /** Monotonic milliseconds. */
  now(): number
  after(ms: number, call: () => void): void
  /** Calls back in the next round of the loop, after all ready work. */
  nextRound(call: () => void): void
  /** Writes so far: the number grows while requests are served. */
  writes(): number
}

export class HeavyWork {
  readonly #around: Surroundings
  readonly #waiting: Heavy[] = []
  #isServing = false
  /** Connections that rest. */
  #resting = 0
  /** Time until which heavy work rests. */
  #restsUntil = 0
  /** The number of writes at the last count, and when that was. */
  #counted = 0
  #countedAt = 0
  #busyUntil = 0
  /** The start of a turn that has not ended, and its time so far. */
  #turnBegan: number | undefined
  #spentInTurn = 0

  constructor(around: Surroundings) {
    this.#around = around
  }

  /** Counts the time of heavy work, and the bytes that were read for it. */
  spend(ms: number, bytes = 0): void {
    const cost = ms + bytes * READ_MS_PER_BYTE
    this.#spentInTurn += cost
    const rest = Math.min(cost * REST_FACTOR, REST_MS_MAX)
    this.#restsUntil = Math.max(this.#restsUntil, this.#around.now()) + rest
  }

  /** Whether heavy work has to wait for a turn before it goes on. */
  mustRest(): boolean {
    return this.#restsUntil - this.#around.now() > TURN_MS * REST_FACTOR
  }

  /**
   * Calls back once a connection to an upstream has rested after a costly read. Resting connections share one part of
   * the process. Each has its own timer, because in one queue with many others its stream could look silent.
   */
  rest(ms: number, rested: () => void): void {
    this.#resting++
    this.#around.after(Math.min(REST_MS_MAX, ms * REST_FACTOR * this.#resting), () => {
      this.#resting--
      rested()
    })
  }

  /** Calls `takeTurn` once, later. */
  awaitTurn(heavy: Heavy): void {
    this.#waiting.push(heavy)
    if (this.#isServing) return
    this.#isServing = true
    this.#around.nextRound(this.#serve)
  }

  readonly #serve = (): void => {
    this.#endTurn()
    const now = this.#around.now()
    const restMs = this.#isQuiet(now) ? 0 : this.#restsUntil - now
    if (restMs > 0) {
      this.#around.after(restMs, this.#serve)
      return
    }
    const next = this.#waiting.shift()
    if (next === undefined) {
      this.#isServing = false
      return
    }
    this.#restsUntil = Math.min(this.#restsUntil, now)
    this.#turnBegan = this.#around.now()
    this.#spentInTurn = 0
    next.takeTurn()
    // A step of work has counted its own time. A read happens later in this round of the loop, and most of it is the
    // system's work.
    if (this.#spentInTurn > 0) this.#turnBegan = undefined
    this.#around.nextRound(this.#serve)
  }

  /** The whole round counts: the busier other requests are, the longer the rest. */
  #endTurn(): void {
    if (this.#turnBegan === undefined) return
    const untold = this.#around.now() - this.#turnBegan - this.#spentInTurn
    this.#turnBegan = undefined
    if (untold > 0) this.spend(untold)
  }

  #isQuiet(now: number): boolean {
    const sent = this.#around.writes() - this.#counted
    const elapsed = now - this.#countedAt
    if (sent > QUIET_PIECES && sent > elapsed * QUIET_RATE) this.#busyUntil = now + BUSY_MS
    if (elapsed > BUSY_MS) {
      this.#counted += sent
      this.#countedAt = now
    }
    return now >= this.#busyUntil
  }
}

/** The instance of this process. */
export const heavyWork = new HeavyWork({
  now: () => performance.now(),
  after: (ms, call) => void setTimeout(call, ms),
  nextRound: (call) => void setImmediate(call),
  writes: () => turnEnd.holds,
})
