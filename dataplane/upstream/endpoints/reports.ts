/** Reads the load of all endpoints of this process in turn, at a low rate. */
import type { Clock } from '../../base/clock.ts'

export interface Reporter {
  readonly intervalMs: number
  /** Whether a choice used the report since the last read. */
  isWanted: boolean
  /** Reads the report, which is valid for this time. */
  ask(validMs: number): Promise<void>
}

const TICK_MS = 100
const PER_TICK = 5
const PER_SECOND = (PER_TICK * 1000) / TICK_MS
/** With more endpoints than can be read within this time, only those are read that a request was about to choose. */
const STRETCH_MS_MAX = 10_000
/** A report this many intervals old is stale. */
const AGE_INTERVALS_MAX = 2

interface Turn {
  readonly reporter: Reporter
  askedAt: number
  isAsked: boolean
}

export class Reports {
  readonly #clock: Clock
  readonly #turns: Turn[] = []
  #next = 0
  #timer: NodeJS.Timeout | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(reporter: Reporter): void {
    this.#turns.push({ reporter, askedAt: Number.NEGATIVE_INFINITY, isAsked: false })
    this.#timer ??= setInterval(() => this.tick(), TICK_MS).unref()
  }

  remove(reporter: Reporter): void {
    const index = this.#turns.findIndex((turn) => turn.reporter === reporter)
    if (index !== -1) this.#turns.splice(index, 1)
    if (this.#turns.length > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Reads the reports that are due, up to the limit of a tick. */
  tick(): void {
    const { length } = this.#turns
    const now = this.#clock.now()
    const roundMs = (length / PER_SECOND) * 1000
    const onlyWanted = roundMs > STRETCH_MS_MAX
    let left = PER_TICK
    for (let seen = 0; seen < length && left > 0; seen++) {
      const turn = this.#turns[this.#next++ % length] as Turn
      const intervalMs = Math.max(turn.reporter.intervalMs, Math.min(roundMs, STRETCH_MS_MAX))
      if (turn.isAsked || now - turn.askedAt < intervalMs) continue
      if (onlyWanted && !turn.reporter.isWanted) continue
      left--
      turn.askedAt = now
      turn.isAsked = true
      turn.reporter.isWanted = false
      void turn.reporter.ask(intervalMs * AGE_INTERVALS_MAX).finally(() => {
        turn.isAsked = false
      })
    }
    this.#next %= length || 1
  }
}
