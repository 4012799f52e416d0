/** Times for people: how long ago, or how far ahead. Programs get them absolute. */

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const YEAR = 365 * DAY

/** Rounds as kubectl does: two units while the smaller one matters, then one. */
const STEPS: readonly (readonly [below: number, unit: number, name: string, rest?: Rest])[] = [
  [2 * MINUTE, SECOND, 's'],
  [10 * MINUTE, MINUTE, 'min', [SECOND, 's']],
  [3 * HOUR, MINUTE, 'min'],
  [8 * HOUR, HOUR, 'h', [MINUTE, 'min']],
  [2 * DAY, HOUR, 'h'],
  [8 * DAY, DAY, 'd', [HOUR, 'h']],
  [2 * YEAR, DAY, 'd'],
  [8 * YEAR, YEAR, 'y', [DAY, 'd']],
  [Number.POSITIVE_INFINITY, YEAR, 'y'],
]
type Rest = readonly [unit: number, name: string]

/** `119 s`, `5 min 30 s`, `3 h`, `2 d 4 h`. */
export function spanText(milliseconds: number): string {
  const span = Math.max(0, milliseconds)
  const step = STEPS.find(([below]) => span < below)
  if (step === undefined) return '-'
  const [, unit, name, rest] = step
  const whole = `${Math.floor(span / unit)} ${name}`
  if (rest === undefined) return whole
  const [part, partName] = rest
  const more = Math.floor((span % unit) / part)
  return more === 0 ? whole : `${whole} ${more} ${partName}`
}

/** `12 s ago` or `in 3 h`; undefined without a text, and the text itself if it is not a time. */
export function relativeTime(time: string | null | undefined, now = Date.now()) {
  if (time === undefined || time === null) return undefined
  const moment = Date.parse(time)
  if (Number.isNaN(moment)) return time
  // Clocks differ a little, so a recent event is never shown in the future.
  const ahead = moment - now
  return ahead >= SECOND ? `in ${spanText(ahead)}` : `${spanText(-ahead)} ago`
}

/** Both forms, for output with enough room: `12 s ago (2026-11-23T08:40:00Z)`. */
export function fullTime(time: string | undefined, now = Date.now()): string | undefined {
  const relative = relativeTime(time, now)
  return relative === time ? relative : `${relative} (${time?.replace(/\.\d+Z$/, 'Z')})`
}
