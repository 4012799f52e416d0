/** The gateway's history from the answers of its pods: points for charts, sums by name, events as marks. */
import { bodies } from './answers.js'
import { quantile } from './rates.js'

const AMOUNTS = ['requests', 'client', 'limit', 'upstream', 'gateway', 'left']
const MORE = ['input_tokens', 'output_tokens', 'cost_nano_usd']

/**
 * `{times, stepMs, counted, of: by -> name -> series, events, missing}`; undefined until the first answer. `counted` is
 * the time of each step in which a gateway ran; undefined for older gateways.
 */
export function gatheredHistory(answers) {
  const all = bodies(answers)
  if (all.length === 0) return undefined
  // With a shared store each pod has the sum of all.
  const shared = all.filter(({ kept_in, missing }) => kept_in === 'redis' && missing === undefined)
  const used = shared.length > 0 ? [shared[0]] : all
  const last = used.reduce((one, other) => (other.times.length > one.times.length ? other : one))
  const of = { route: new Map(), tenant: new Map(), upstream: new Map() }
  // A newer gateway may count by more.
  for (const { series, times } of used)
    for (const one of series)
      if (Object.hasOwn(of, one.by)) addSeries(of[one.by], one, offsetOf(times, last))
  const counted = countedOf(used, last)
  const seen = new Set()
  const events = used
    .flatMap((body) => body.events)
    .filter((event) => {
      const id = `${event.time} ${event.message} ${event.replica ?? ''}`
      return !seen.has(id) && seen.add(id)
    })
    .toSorted((one, other) => other.time.localeCompare(one.time))
  const missing = all.flatMap((body) => body.missing ?? [])
  const { times, step_ms: stepMs, bounds } = last
  return { times, stepMs, counted, bounds, of, events, missing }
}

/** A step has data if one of the pods ran. */
function countedOf(used, last) {
  if (used.some(({ counted_ms }) => counted_ms === undefined)) return undefined
  return last.times.map((_, index) =>
    Math.max(
      ...used.map(({ counted_ms, times }) => counted_ms[index - offsetOf(times, last)] ?? 0),
    ),
  )
}

/** Pods that answer at the border of a step may differ by one. */
function offsetOf(times, { times: whole, step_ms }) {
  return Math.round((times[0] - whole[0]) / step_ms)
}

function addSeries(named, one, offset) {
  const sum = named.get(one.name) ?? { name: one.name }
  named.set(one.name, sum)
  const add = (column, isNothing, plus) => {
    sum[column] ??= []
    for (const [index, value] of one[column].entries()) {
      const at = index + offset
      if (at >= 0 && !isNothing(value)) sum[column][at] = plus(sum[column][at], value)
    }
  }
  for (const column of [...AMOUNTS, ...MORE])
    add(
      column,
      (value) => value === undefined,
      (before = 0, value) => before + value,
    )
  for (const column of ['whole', 'first_token']) add(column, (counts) => !counts, plus)
}

function plus(one, other) {
  return one === undefined ? [...other] : one.map((count, index) => count + other[index])
}

/** One series for all names of a map. */
export function sumOfSeries(named) {
  const sum = new Map()
  for (const one of named.values()) addSeries(sum, { ...one, name: '' }, 0)
  return sum.get('') ?? { name: '' }
}

/**
 * A point for each step; one that is not over, or that has data for a part, counts for that part. A point with only a
 * time is a gap: no gateway ran.
 */
export function pointsOf({ times, stepMs, counted, bounds }, series, now = Date.now()) {
  return times.map((at, index) => {
    if (counted?.[index] === 0) return { at, isVoid: true }
    const ms = Math.max(1000, counted?.[index] ?? Math.min(stepMs, now - at))
    const amount = (name) => series[name]?.[index] ?? 0
    const rate = (name) => (amount(name) * 1000) / ms
    const first = { bounds, firstTokens: series.first_token?.[index] ?? [] }
    return {
      at,
      requests: rate('requests'),
      errors: rate('upstream') + rate('gateway'),
      refused: rate('limit'),
      client: rate('client'),
      tokens: rate('input_tokens') + rate('output_tokens'),
      cost: (amount('cost_nano_usd') / 1e9) * (3_600_000 / ms),
      p50: quantile(0.5, first),
      p95: quantile(0.95, first),
      count: amount('requests'),
      failed: amount('upstream') + amount('gateway'),
      limited: amount('limit'),
    }
  })
}

/** Events as the charts mark them: those of one place of the axis together. */
export function marksOf(events) {
  return events.map(({ time, level, event, message }) => ({
    at: new Date(time).getTime(),
    kind: level === 'info' ? 'idle' : level === 'warn' ? 'warn' : 'bad',
    words: `${event.replaceAll('_', ' ')}: ${message}`,
  }))
}
