/** Parsers of option values: each returns a valid value, or ends with a usage error. */
import { InvalidArgumentError } from 'commander'

type Reader<Value> = (text: string) => Value

export function wholeNumber(least: number, most: number): Reader<number> {
  return (text) => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= least && value <= most) return value
    throw new InvalidArgumentError(`Give a whole number from ${least} to ${most}.`)
  }
}

export function numberBetween(least: number, most: number): Reader<number> {
  return (text) => {
    const value = Number(text)
    if (/^[\d.]+$/.test(text) && value >= least && value <= most) return value
    throw new InvalidArgumentError(`Give a number from ${least} to ${most}.`)
  }
}

/** An address that a browser may open; a password in it would be in the history of the shell and of the browser. */
export function webAddress(text: string): string {
  const { protocol, username, password } = URL.parse(text) ?? {}
  if (/^https?:$/.test(protocol ?? '') && !username && !password) return text
  throw new InvalidArgumentError(
    'Give an address such as https://grafana.example/d/gw, without a name or a password.',
  )
}

/** `a,b` as ['a', 'b']; empty entries are typing mistakes and are ignored. */
export function commaList(text: string): readonly string[] {
  const entries = text.split(',').map((entry) => entry.trim())
  const named = [...new Set(entries.filter((entry) => entry !== ''))]
  if (named.length === 0) throw new InvalidArgumentError('Give at least one name.')
  return named
}

/** `team=blue`, added to the earlier values. */
export function namedValue(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const at = text.indexOf('=')
  const name = text.slice(0, at)
  if (!/^[A-Za-z0-9].*=/s.test(text))
    throw new InvalidArgumentError('Give NAME=VALUE, such as team=blue.')
  if (Object.hasOwn(before, name)) throw new InvalidArgumentError(`"${name}" is given twice.`)
  return { ...before, [name]: text.slice(at + 1) }
}

const UNIT_SECONDS: Readonly<Record<string, number>> = {
  s: 1,
  m: 60,
  h: 3600,
  d: 86_400,
  w: 604_800,
  y: 31_536_000,
}

/** An ISO 8601 date (midnight UTC) or time, or a duration from now such as 90d. */
export function futureMoment(text: string, now: number): Date {
  const [, amount, unit = ''] = /^(\d{1,6})([smhdwy])$/.exec(text) ?? []
  const seconds = Number(amount) * (UNIT_SECONDS[unit] ?? Number.NaN)
  const moment = new Date(amount === undefined ? isoTime(text) : now + seconds * 1000)
  if (Number.isNaN(moment.getTime())) {
    const forms = 'an ISO 8601 date such as 2030-01-31, or a duration such as 90d, 12h'
    throw new InvalidArgumentError(`Give ${forms} (s, m, h, d, w, y).`)
  }
  if (moment.getTime() <= now) throw new InvalidArgumentError('It has passed; give a later one.')
  return moment
}

function isoTime(text: string): number {
  const isDate = /^\d{4}-\d{2}-\d{2}$/.test(text)
  const isTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/.test(text)
  const time = isDate || isTime ? Date.parse(text) : Number.NaN
  // Some parsers turn 31 February into a day in March, which would extend the life of a key.
  const isReal = !Number.isNaN(time) && (!isDate || new Date(time).toISOString().startsWith(text))
  return isReal ? time : Number.NaN
}

/** `60s`, `5m`, `250ms`: a duration in milliseconds. */
export function durationMs(text: string): number {
  const [, amount, unit = ''] = /^(\d{1,6})(ms|s|m|h)$/.exec(text) ?? []
  const factor = unit === 'ms' ? 1 : (UNIT_SECONDS[unit] ?? Number.NaN) * 1000
  const value = Number(amount) * factor
  if (value > 0) return value
  throw new InvalidArgumentError('Give a duration such as 60s or 5m (ms, s, m, h).')
}

/** The longest time of a timer; a longer one would end at once. */
const TIMER_HOURS_MAX = 596

/** A duration for which the tool itself waits, in milliseconds. */
export function waitMs(text: string): number {
  const value = durationMs(text)
  if (value <= TIMER_HOURS_MAX * 3_600_000) return value
  throw new InvalidArgumentError(`Give at most ${TIMER_HOURS_MAX}h.`)
}
