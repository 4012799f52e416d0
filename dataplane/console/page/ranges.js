/** The time that charts show, and the time before that they are compared with; both are in the address. */
import { h } from './element.js'
import { choices } from './table.js'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** By name: the hours, and the step of the history. Minutes are kept for 48 hours. */
export const RANGES = {
  '1 h': { hours: 1, step: '1m', everyMs: 5000 },
  '6 h': { hours: 6, step: '5m', everyMs: 15_000 },
  '24 h': { hours: 24, step: '15m', everyMs: 30_000 },
  '48 h': { hours: 48, step: '30m', everyMs: 30_000 },
  '7 d': { hours: 168, step: '2h', everyMs: 60_000 },
  '31 d': { hours: 744, step: '6h', everyMs: 60_000 },
}

/** By name: how much earlier. */
const EARLIER = { 'day before': 24, 'week before': 168 }
const KEPT_HOURS = 744

export function rangeOf(rest, fallback = '1 h') {
  const name = Object.hasOwn(RANGES, rest[0]) ? rest[0] : fallback
  const possible = earlierOf(name)
  return { name, ...RANGES[name], before: possible.includes(rest[1]) ? rest[1] : undefined }
}

function earlierOf(name) {
  return Object.keys(EARLIER).filter((each) => EARLIER[each] + RANGES[name].hours <= KEPT_HOURS)
}

/** The question to the gateway. Times are lengths before now, so that it stays the same. */
export function questionOf({ hours, step }, by = 'route') {
  return `/history?since=-${hours}h&step=${step}&by=${by}`
}

/** The same for the time before; older than 48 hours there are only hours. */
export function questionBefore({ hours, step, before }, by = 'route') {
  const earlier = EARLIER[before]
  const own = earlier + hours > 47 && /m$/.test(step) ? '1h' : step
  return `/history?since=-${earlier + hours}h&until=-${earlier}h&step=${own}&by=${by}`
}

export function earlierMs({ before }) {
  return EARLIER[before] * HOUR_MS
}

/**
 * Links that choose the time and the comparison. `path` is the address of the view; `extra` are choices that are no
 * range, and nothing is earlier than those.
 */
export function rangePicker(path, { name, before }, extra = []) {
  const link = (...parts) => `#/${path}/${parts.map(encodeURIComponent).join('/')}`
  const all = Object.keys(RANGES).map((each) => [each, link(each, ...(before ? [before] : []))])
  const times = choices('Time', name, [...extra, ...all])
  if (!Object.hasOwn(RANGES, name)) return h('div', { class: 'filters' }, times)
  const none = 'nothing'
  const compared = [none, ...earlierOf(name)].map((each) => [
    each,
    each === none ? link(name) : link(name, each),
  ])
  return h(
    'div',
    { class: 'filters' },
    times,
    h('span', { class: 'quiet' }, 'compare with'),
    choices('Compare with', before ?? none, compared),
  )
}

/** The dashboard at the time of the charts; without a range at that of the live ones. */
export function grafanaAt(address, range) {
  const url = new URL(address)
  url.searchParams.delete('from')
  url.searchParams.delete('to')
  url.searchParams.append('from', range === undefined ? 'now-15m' : `now-${range.hours}h`)
  url.searchParams.append('to', 'now')
  return url.href
}

/** Steps of hours or days of UTC from one hour to another, both included: `2026-11-22T08` or `2026-11-22`. */
export function slotsBetween(from, to, unit) {
  const [length, stepMs] = unit === 'day' ? [10, DAY_MS] : [13, HOUR_MS]
  const first = Math.floor(Date.parse(from) / stepMs) * stepMs
  const count = Math.floor((Date.parse(to) - first) / stepMs) + 1
  return Array.from({ length: Math.max(0, count) }, (_, index) =>
    new Date(first + index * stepMs).toISOString().slice(0, length),
  )
}
