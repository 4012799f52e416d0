/**
 * The windows of a budget of `limits[]`. Their keys hold their beginning and their end, so that a key of the store says all:
 * `t1795651200000-1795737600000` counts tokens, `u...` nano-dollars.
 */
import { contains, type Window, type Windows } from './windows.ts'

export type Per = 'day' | 'month'

/** The unit of a budget. */
export type Unit = 'tokens' | 'usd'

const DAY_MS = 86_400_000
const NAME = /^([tu])(\d+)-(\d+)$/

export class Period {
  readonly per: Per
  readonly #unit: Unit | undefined
  #windows: Windows

  /** Without a unit there is no budget, and nothing of it is stored. */
  constructor(per: Per, unit: Unit | undefined) {
    this.per = per
    this.#unit = unit
    this.#windows = this.#made(0)
  }

  /** The windows of a moment; those of the last question are remembered. */
  at(wallMs: number): Windows {
    if (!contains(this.#windows.day, wallMs)) this.#windows = this.#made(wallMs)
    return this.#windows
  }

  #made(wallMs: number): Windows {
    const [startsAt, resetsAt] = boundsOf(this.per, wallMs)
    return {
      day: windowOf('t', startsAt, resetsAt, this.#unit !== 'tokens'),
      month: windowOf('u', startsAt, resetsAt, this.#unit !== 'usd'),
    }
  }
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

function boundsOf(per: Per, wallMs: number): readonly [number, number] {
  if (per === 'day') {
    const startsAt = Math.floor(wallMs / DAY_MS) * DAY_MS
    return [startsAt, startsAt + DAY_MS]
  }
  const moment = new Date(wallMs)
  const [year, month] = [moment.getUTCFullYear(), moment.getUTCMonth()]
  return [Date.UTC(year, month, 1), Date.UTC(year, month + 1, 1)]
}
