/** The hours of a report, from the parameters: a length up to now, or the first and last hour. */
import type { Span } from '../store/usage-row.ts'
import { hourOf, UTC, Zone } from './zone.ts'

const HOUR_MS = 3_600_000
const SINCE_HOURS = 168
/** 13 months, as long as the shared store keeps days. */
const HOURS_MAX = 9_480
const NAME = /^\d{4}-\d{2}(-\d{2}(T\d{2})?)?$/
const FORMS = 'Give a month, day or hour such as 2026-11, 2026-11-22 or 2026-11-22T09'

export interface AskedPeriod {
  readonly hours?: string | undefined
  /** A month, day or hour; it is included, and so is `to`. */
  readonly from?: string | undefined
  readonly to?: string | undefined
  /** A name of the time zone database; UTC if absent. */
  readonly tz?: string | undefined
}

export interface Period extends Span {
  readonly zone: Zone
}

/** An error text if the parameters are invalid. `isByTime`: rows are grouped by days or hours. */
export function periodOf(asked: AskedPeriod, isByTime: boolean, wallMs: number): Period | string {
  const { hours, from, to, tz = UTC } = asked
  const zone = zoneOf(tz)
  if (typeof zone === 'string') return zone
  if (tz !== UTC && !isByTime && from === undefined)
    return 'tz cannot take effect: group by day or hour, or give from.'
  if (from !== undefined && hours !== undefined) return 'Give hours, or from; not both.'
  if (to !== undefined && from === undefined) return 'Give from, too.'
  const now = hourOf(wallMs)
  const span = from === undefined ? backFrom(now, hours) : between(zone, from, to, now)
  if (typeof span === 'string') return span
  if (!zone.isWhole(span.from, span.to))
    return `${tz} has no offset of whole hours from UTC, and usage is counted by the hours of UTC: no day there can be exact.`
  return { ...span, zone }
}

function zoneOf(tz: string): Zone | string {
  try {
    return new Zone(tz)
  } catch {
    return `There is no time zone "${tz.slice(0, 64)}"; give a name such as Europe/Berlin.`
  }
}

function backFrom(now: string, asked: string | undefined): Span | string {
  const hours = Number(asked ?? SINCE_HOURS)
  if (!Number.isInteger(hours) || hours < 1 || hours > HOURS_MAX)
    return `Give a number of hours from 1 to ${HOURS_MAX}.`
  return { from: hourOf(Date.parse(`${now}:00Z`) - (hours - 1) * HOUR_MS), to: now }
}

function between(zone: Zone, from: string, to: string | undefined, now: string): Span | string {
  const [start, end] = [from, to ?? from].map((name) =>
    NAME.test(name) ? zone.hoursOf(name) : undefined,
  )
  if (start === undefined)
    return `${FORMS} as from: there is no "${from.slice(0, 32)}" in ${zone.name}.`
  if (end === undefined) return `${FORMS} as to: there is no "${to?.slice(0, 32)}" in ${zone.name}.`
  // A month that has not ended is valid too.
  const last = to === undefined || end.last > now ? now : end.last
  if (start.first > now) return 'from is in the future.'
  if (start.first > last) return 'from is later than to.'
  const hours = (Date.parse(`${now}:00Z`) - Date.parse(`${start.first}:00Z`)) / HOUR_MS
  if (hours > HOURS_MAX) return `from is more than ${HOURS_MAX} hours ago; older rows are not kept.`
  return { from: start.first, to: last }
}
