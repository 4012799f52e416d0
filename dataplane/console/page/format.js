/** Numbers, money and times for people. */
const DASH = '–'
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const plain = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
const money = new Intl.NumberFormat('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
const clock = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false,
})
const whole = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' })

export function number(value) {
  if (!Number.isFinite(value)) return DASH
  if (value > 0 && value < 0.1) return String(Number(value.toPrecision(2)))
  return Math.abs(value) >= 10_000 ? compact.format(value) : plain.format(value)
}

/** `1 key`, `2 keys`. */
export function counted(count, noun) {
  return `${number(count)} ${noun}${count === 1 ? '' : 's'}`
}

export function percent(share) {
  if (!Number.isFinite(share)) return DASH
  const value = share * 100
  return `${value > 0 && value < 1 ? value.toFixed(2) : value.toFixed(1)} %`
}

export function seconds(value) {
  if (value === undefined || value === null || !Number.isFinite(value)) return DASH
  if (value < 1) return `${Math.round(value * 1000)} ms`
  return `${value < 10 ? value.toFixed(2) : value.toFixed(1)} s`
}

export function milliseconds(value) {
  return value === undefined || value === null ? DASH : seconds(value / 1000)
}

/** Cents are too coarse for a request, and too fine for a month. */
export function usd(value) {
  if (value === undefined || value === null || !Number.isFinite(Number(value))) return DASH
  const amount = Number(value)
  if (amount === 0) return '$0'
  if (amount < 0.0001) return '<$0.0001'
  if (amount < 1) return `$${amount.toFixed(4)}`
  return `$${amount < 10_000 ? money.format(amount) : compact.format(amount)}`
}

export function usdOfNano(nano) {
  return usd(nano / 1e9)
}

export function clockTime(iso) {
  return clock.format(new Date(iso))
}

const dayClock = new Intl.DateTimeFormat('en-GB', {
  ...{ weekday: 'short', day: 'numeric', month: 'short' },
  ...{ hour: '2-digit', minute: '2-digit', hour12: false },
})
const dayOnly = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })

/** `Sat, 21 Nov, 12:05`. */
export function dayTime(iso) {
  return dayClock.format(new Date(iso))
}

/** On an axis of this length: seconds, minutes, or days; where a new day begins, that day. */
export function axisTime(at, spanMs) {
  if (spanMs > 4 * 86_400_000) return dayOnly.format(new Date(at))
  const time = clockTime(at).slice(0, 5)
  if (spanMs > 86_400_000 && time === '00:00') return dayOnly.format(new Date(at))
  if (spanMs > 1_800_000) return time
  return clockTime(at)
}

/** With its zone, for titles. */
export function fullTime(iso) {
  return whole.format(new Date(iso))
}

/** An hour of UTC, as reports write it. */
export function hourUtc(iso) {
  return iso.replace('T', ' ').replace(/:00:00Z$/, ':00')
}

/** The distance from `now`, past or future. */
export function relative(iso, now = Date.now()) {
  const away = (new Date(iso).getTime() - now) / 1000
  const text = span(Math.abs(away))
  if (Math.abs(away) < 1.5) return 'now'
  return away < 0 ? `${text} ago` : `in ${text}`
}

function span(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`
  if (seconds < 129_600) return `${Math.round(seconds / 3600)} h`
  return `${Math.round(seconds / 86_400)} d`
}
