/** The answer of `GET /history`: checks what is asked for, and reads it. The form is at the top of read.ts. */
import { KINDS, type Kind } from './cells.ts'
import { HOUR_MS, KEPT_MS, MINUTE_MS } from './places.ts'
import { type AskedHistory, type HistorySources, readHistory } from './read.ts'

const STEPS_MAX = 3_000
/** A step is chosen so that there are about this many. */
const STEPS = 120
const CHOSEN = [1, 2, 5, 10, 15, 30, 60, 180, 360, 1440].map((minutes) => minutes * MINUTE_MS)
const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: MINUTE_MS,
  h: HOUR_MS,
  d: 24 * HOUR_MS,
}
const TIMES = 'such as 2026-11-22T08:00:00Z, -6h, or milliseconds since the epoch'

export async function historyOf(query: Readonly<Record<string, string>>, sources: HistorySources) {
  const asked = askedIn(query, sources.history.wall)
  if (typeof asked === 'string') return { status: 400, body: { error: { message: asked } } }
  return { status: 200, body: await readHistory(asked, sources) }
}

/** An error text if something cannot take effect. */
function askedIn(
  { since, until, step, by }: Readonly<Record<string, string>>,
  now: number,
): AskedHistory | string {
  const end = until === undefined ? now : timeOf(until, now)
  if (end === undefined) return `until is no time; give one ${TIMES}.`
  const start = since === undefined ? end - HOUR_MS : timeOf(since, now)
  if (start === undefined) return `since is no time; give one ${TIMES}.`
  if (start >= end) return 'since is not before until.'
  if (start > now) return 'since is in the future.'
  if (now - start > KEPT_MS.hour + HOUR_MS)
    return 'since is more than 31 days ago; older hours are not kept.'
  const stepMs = step === undefined ? chosen(start, end, now) : lengthOf(step)
  if (stepMs === undefined)
    return 'step is no length of whole minutes; give one such as 5m, 1h or 300.'
  const isByMinute = stepMs % HOUR_MS !== 0
  if (isByMinute && now - start > KEPT_MS.minute + MINUTE_MS)
    return 'since is more than 48 hours ago; older times are kept by the hour: give step=1h or whole hours.'
  const kinds = by?.split(',') ?? [...KINDS]
  const unknown = kinds.find((kind) => !KINDS.some((known) => known === kind))
  if (unknown !== undefined)
    return `by has "${unknown.slice(0, 32)}"; it may have ${KINDS.join(', ')}.`
  const from = Math.floor(start / stepMs) * stepMs
  // The present step is a part of it, also in its first moment.
  const to = Math.ceil((end >= now ? now + 1 : end) / stepMs) * stepMs
  if ((to - from) / stepMs > STEPS_MAX)
    return `These are more than ${STEPS_MAX} steps; give a longer step.`
  return { since: from, until: to, stepMs, by: kinds as readonly Kind[] }
}

function chosen(start: number, end: number, now: number): number {
  const isOld = now - start > KEPT_MS.minute
  const fits = (stepMs: number) => (end - start) / stepMs <= STEPS && !(isOld && stepMs < HOUR_MS)
  return CHOSEN.find(fits) ?? 24 * HOUR_MS
}

/** `-6h` is six hours ago, so that a page asks for the same again. */
function timeOf(text: string, now: number): number | undefined {
  const [, number, unit = ''] = /^-(\d{1,7})([smhd])$/.exec(text) ?? []
  if (number !== undefined) return now - Number(number) * (UNITS[unit] ?? 0)
  const ms = /^\d+$/.test(text) ? Number(text) : Date.parse(text)
  return Number.isFinite(ms) && Math.abs(ms) < 8e15 ? ms : undefined
}

function lengthOf(text: string): number | undefined {
  const [, number, unit = 's'] = /^(\d{1,7})([smhd]?)$/.exec(text) ?? []
  const ms = Number(number) * (UNITS[unit || 's'] ?? Number.NaN)
  return ms > 0 && ms % MINUTE_MS === 0 && ms <= 31 * 24 * HOUR_MS ? ms : undefined
}
