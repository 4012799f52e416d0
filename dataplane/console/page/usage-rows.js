/** Rows of usage from the answers of several pods. */
import { bodies } from './answers.js'

const HOUR_MS = 3_600_000

/**
 * A shared store has the sum of all pods; otherwise each pod counts its own rows, and the gateway has their sum. The
 * dearest first. `names`: what rows are grouped by, where that is more than one; a row then has their `values`.
 */
export function joined(answers, names) {
  const reports = bodies(answers)
  const shared = reports.filter(({ kept_in }) => kept_in === 'redis')
  // Each pod writes its counts before it answers, so the largest answer is the last.
  const last = shared.toSorted((one, other) => requestsOf(other) - requestsOf(one))[0]
  const rows = new Map()
  for (const { by, ...amounts } of (last === undefined ? reports : [last]).flatMap(
    (one) => one.rows,
  )) {
    const values = names === undefined ? Object.values(by) : names.map((name) => by[name] ?? '')
    const [value = ''] = values
    const id = names === undefined ? value : JSON.stringify(values)
    const sum = rows.get(id)
    if (sum === undefined) rows.set(id, { value, ...(names && { values }), ...amounts })
    else {
      for (const [name, amount] of Object.entries(amounts))
        if (typeof amount === 'number') sum[name] = (sum[name] ?? 0) + amount
      if (amounts.last > sum.last) sum.last = amounts.last
    }
  }
  return [...rows.values()].toSorted((one, other) => other.cost_nano_usd - one.cost_nano_usd)
}

function requestsOf({ rows }) {
  return rows.reduce((sum, { requests }) => sum + requests, 0)
}

const AMOUNTS = [
  'requests',
  'errors',
  'input_tokens',
  'cached_tokens',
  'output_tokens',
  'reasoning_tokens',
  'cost_nano_usd',
  'cache_gain_nano_usd',
  'cache_surcharge_nano_usd',
]

export function sumOf(rows) {
  return Object.fromEntries(
    AMOUNTS.map((name) => [name, rows.reduce((sum, row) => sum + (row[name] ?? 0), 0)]),
  )
}

/** USD of this UTC day, and of the whole day at this pace. `days` are answers by day. */
export function costsToday(days, at) {
  if (days === undefined) return { spent: undefined, pace: undefined }
  const today = at.slice(0, 10)
  const spent = joined(days).find(({ value }) => value === today)?.cost_nano_usd ?? 0
  const hours = Math.max(
    0.25,
    (new Date(at).getTime() - Date.parse(`${today}T00:00:00Z`)) / HOUR_MS,
  )
  return { spent: spent / 1e9, pace: ((spent / 1e9) * 24) / hours }
}
