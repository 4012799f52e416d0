/** The UTC day and month of a moment. A counter belongs to one window, so no counter is ever reset. */

export interface Window {
  /** A counter of tokens has the kind `day` and one of money the kind `month`, also if its period is another. */
  readonly kind: 'day' | 'month'
  /** `2026-11-21` or `2026-11`; for a limit as in `period.ts`. */
  readonly key: string
  /** Nothing limits what it counts, so it is not stored. */
  readonly isUnkept?: boolean
  /** First millisecond of the window, since the epoch. */
  readonly startsAt: number
  /** First millisecond after the window. */
  readonly resetsAt: number
}

/** The windows of tokens and of money. */
export interface Windows {
  readonly day: Window
  readonly month: Window
}

/** The present windows of tenants, and the moment that they are of. */
export interface Moment extends Windows {
  /** Milliseconds since the epoch. */
  readonly at: number
}

const DAY_MS = 86_400_000

export function dayOf(wallMs: number): Window {
  const startsAt = Math.floor(wallMs / DAY_MS) * DAY_MS
  const key = new Date(startsAt).toISOString().slice(0, 10)
  return { kind: 'day', key, startsAt, resetsAt: startsAt + DAY_MS }
}

export function monthOf(wallMs: number): Window {
  const moment = new Date(wallMs)
  const year = moment.getUTCFullYear()
  const month = moment.getUTCMonth()
  const startsAt = Date.UTC(year, month, 1)
  const key = new Date(startsAt).toISOString().slice(0, 7)
  return { kind: 'month', key, startsAt, resetsAt: Date.UTC(year, month + 1, 1) }
}

export function contains(window: Window, wallMs: number): boolean {
  return wallMs >= window.startsAt && wallMs < window.resetsAt
}

/** Caches the present windows, because nearly every request has the same windows as the one before. */
export class Present implements Moment {
  day: Window
  month: Window
  at: number

  constructor(wallMs: number) {
    this.at = wallMs
    this.day = dayOf(wallMs)
    this.month = monthOf(wallMs)
  }

  /** Follows the clock in both directions: a clock that was briefly wrong must not close a window forever. */
  moveTo(wallMs: number): void {
    this.at = wallMs
    if (contains(this.day, wallMs)) return
    this.day = dayOf(wallMs)
    if (!contains(this.month, wallMs)) this.month = monthOf(wallMs)
  }
}
