/**
 * Work that would hold up other requests: large bodies, large answers, bytes in tiny chunks. Clients' connections and
 * long parsing share one queue of short turns. Connections to upstreams rest behind a costly read, each by its own timer,
 * and the more of them rest, the longer. While other requests are busy, each of the two takes a fifteenth of the time at most.
 */
import { flushes } from './turn-end.ts'

/** A piece of work that waits for its turn. */
export interface Heavy {
  takeTurn(): void
}

/** A request up to this size is not heavy. */
export const LARGE_BYTES = 65_536
/** How long one turn takes, except where a single piece of work takes longer. */
export const TURN_MS = 0.5
/** A turn is followed by this many times as long for others. */
const REST_FACTOR = 14
/** The longest rest behind a single piece of work. */
const REST_MS_MAX = 250
/** Writes a millisecond below which no request needs the rest: about twenty requests a second. */
const QUIET_RATE = 0.04
/** A large body alone sends some: it is forwarded and answered. */
const QUIET_PIECES = 4
/** A process stays busy for this long after it was seen to be. */
const BUSY_MS = 100
/** The least that the system takes to read bytes: about 40 us for each 64 KiB. */
const READ_MS_PER_BYTE = 6e-7

const waiting: Heavy[] = []
let isServing = false
/** Connections that rest. */
let resting = 0
/** Monotonic moment up to which others have the time. */
let restsUntil = 0
/** The number of writes at the last count, and when that was. */
let counted = 0
let countedAt = 0
let busyUntil = 0
/** The start of a turn whose time is not known yet, and the part that is. */
let turnBegan: number | undefined
let spentInTurn = 0

/** Counts the time of heavy work, and the bytes that were read for it. */
export function spend(ms: number, bytes = 0): void {
  const cost = ms + bytes * READ_MS_PER_BYTE
  spentInTurn += cost
  restsUntil = Math.max(restsUntil, performance.now()) + Math.min(cost * REST_FACTOR, REST_MS_MAX)
}

/** Whether heavy work has to wait for a turn before it goes on. */
export function mustRest(): boolean {
  return restsUntil - performance.now() > TURN_MS * REST_FACTOR
}

/**
 * Calls back once a connection to an upstream has rested behind a costly read. Those that rest share one part of the
 * process; each has its own timer, because in one line with many others its stream could be taken for a silent one.
 */
export function rest(ms: number, rested: () => void): void {
  resting++
  const over = () => {
    resting--
    rested()
  }
  setTimeout(over, Math.min(REST_MS_MAX, ms * REST_FACTOR * resting)).unref()
}

/** Calls `takeTurn` once, later. */
export function awaitTurn(heavy: Heavy): void {
  waiting.push(heavy)
  if (isServing) return
  isServing = true
  setImmediate(serve)
}

function serve(): void {
  endTurn()
  const now = performance.now()
  const restMs = isQuiet(now) ? 0 : restsUntil - now
  if (restMs > 0) {
    setTimeout(serve, restMs)
    return
  }
  const next = waiting.shift()
  if (next === undefined) {
    isServing = false
    return
  }
  restsUntil = Math.min(restsUntil, now)
  turnBegan = performance.now()
  spentInTurn = 0
  next.takeTurn()
  // A step of work has counted itself. A read happens later in this round of the loop, and most of it is the system's work.
  if (spentInTurn > 0) turnBegan = undefined
  setImmediate(serve)
}

/** The whole round counts: the busier others are, the longer the rest. */
function endTurn(): void {
  if (turnBegan === undefined) return
  const untold = performance.now() - turnBegan - spentInTurn
  turnBegan = undefined
  if (untold > 0) spend(untold)
}

function isQuiet(now: number): boolean {
  const sent = flushes() - counted
  const elapsed = now - countedAt
  if (sent > QUIET_PIECES && sent > elapsed * QUIET_RATE) busyUntil = now + BUSY_MS
  if (elapsed > BUSY_MS) {
    counted += sent
    countedAt = now
  }
  return now >= busyUntil
}
