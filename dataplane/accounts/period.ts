/**
 * The windows of a budget of `limits[]`. Their keys hold their beginning and their end, so that a key of the store says all:
 * `t1795651200000-1795737600000` counts tokens, `u...` nano-dollars.
 */
import { contains, type Window, type Windows } from './windows.ts'
import { firstUtcOf, localTime, utcOf } from './zone.ts'

export const PERIODS = ['hour', 'day', 'week', 'month', '30d', 'total'] as const

export type Per = (typeof PERIODS)[number]

/** The unit of a budget. */
export type Unit = 'tokens' | 'usd'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** The last moment that a time in ISO 8601 with four digits of the year can name. */
const END_OF_TIME = 253_402_300_799_999

/** The first day of 1970 was a Thursday; weeks begin on Mondays. */
const MONDAY_MS = 4 * DAY_MS

const NAME = /^([tu])(\d+)-(\d+)$/

export class Period {
  readonly per: Per
  /** The IANA name of the time zone; undefined: UTC. */
  readonly timeZone: string | undefined
  readonly #unit: Unit | undefined
  #windows: Windows

  /** Without a unit there is no budget, and nothing of it is stored. */
  constructor(per: Per, unit: Unit | undefined, timeZone?: string) {
    this.per = per
    this.timeZone = timeZone
    this.#unit = unit
    this.#windows = this.#made(0)
  }

  /** The windows of a moment; those of the last question are remembered. */
  at(wallMs: number): Windows {
    if (!contains(this.#windows.day, wallMs)) this.#windows = this.#made(wallMs)
    return this.#windows
  }

  /** Whether both have the same windows. */
  equals({ per, timeZone }: Period): boolean {
    return per === this.per && timeZone === this.timeZone
  }

  #made(wallMs: number): Windows {
    const [startsAt, resetsAt] = boundsOf(this.per, this.timeZone, wallMs)
    return {
      day: windowOf('t', startsAt, resetsAt, this.#unit !== 'tokens'),
      month: windowOf('u', startsAt, resetsAt, this.#unit !== 'usd'),
    }
  }
}

/** Whether the end of a window is that of a budget without one. */
export function isForEver(resetsAt: number): boolean {
  return resetsAt >= END_OF_TIME
}

/** The window with this key; undefined if it is that of a tenant, a group or a key. */
export function windowOfKey(key: string): Window | undefined {
  const [, letter, startsAt, resetsAt] = NAME.exec(key) ?? []
  if (letter === undefined) return undefined
  return windowOf(letter === 't' ? 't' : 'u', Number(startsAt), Number(resetsAt), false)
}

function windowOf(
  letter: 't' | 'u',
  startsAt: number,
  resetsAt: number,
  isUnkept: boolean,
): Window {
  const key = `${letter}${startsAt}-${resetsAt}`
  return { kind: letter === 't' ? 'day' : 'month', key, startsAt, resetsAt, isUnkept }
}

/** The beginning of a window and the first moment after it. */
function boundsOf(
  per: Per,
  timeZone: string | undefined,
  wallMs: number,
): readonly [number, number] {
  if (per === 'total') return [0, END_OF_TIME]
  const [first, next] = localBounds(per, localTime(wallMs, timeZone))
  // An hour that a clock repeats is two windows; a day whose midnight it repeats begins with the first one.
  if (per === 'hour') {
    const startsAt = utcOf(first, timeZone, wallMs)
    return [startsAt, startsAt + HOUR_MS]
  }
  return [firstUtcOf(first, timeZone), firstUtcOf(next, timeZone)]
}

/** The same as times of the place, in milliseconds as if they were UTC. */
function localBounds(per: Exclude<Per, 'total'>, local: number): readonly [number, number] {
  if (per === 'hour') return span(local, HOUR_MS)
  if (per === 'day') return span(local, DAY_MS)
  if (per === 'week') return span(local, 7 * DAY_MS, MONDAY_MS)
  if (per === '30d') return span(local, 30 * DAY_MS)
  const moment = new Date(local)
  const [year, month] = [moment.getUTCFullYear(), moment.getUTCMonth()]
  return [Date.UTC(year, month, 1), Date.UTC(year, month + 1, 1)]
}

function span(local: number, length: number, origin = 0): readonly [number, number] {
  const first = Math.floor((local - origin) / length) * length + origin
  return [first, first + length]
}
