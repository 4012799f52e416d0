/** Limits and budgets of other gateways as entries of `limits[]`. */
import type { Draft, Fields } from './draft.ts'
import type { Field } from './field.ts'

const UNITS: Readonly<Record<string, string>> = {
  '1h': 'hour',
  '60m': 'hour',
  '1d': 'day',
  '24h': 'day',
  '1w': 'week',
  '7d': 'week',
  '1mo': 'month',
  '1M': 'month',
  '30d': '30d',
}

/** The window of a budget; undefined if no window has that length. */
export function windowOf(duration: string | undefined): string | undefined {
  if (duration === undefined) return 'total'
  const text = duration.trim()
  return Object.hasOwn(UNITS, text) ? UNITS[text] : undefined
}

/** Requests or tokens a minute, from an amount in a window. */
export function perMinute(amount: number, duration: string): number | undefined {
  const [, count = '', unit = ''] = /^(\d+)\s*(s|sec|m|min|h|d)\w*$/.exec(duration.trim()) ?? []
  const seconds = { s: 1, sec: 1, m: 60, min: 60, h: 3600, d: 86_400 }[unit]
  if (seconds === undefined || Number(count) === 0) return undefined
  return Math.max(1, Math.floor((amount * 60) / (seconds * Number(count))))
}

/** The whole amount of a minute may come at once, as with windows of a minute. */
export function addRate(draft: Draft, name: string, selectors: Fields): Fields {
  const limit: Fields = { name: draft.names.limits.free(name), for: selectors }
  draft.limits.push(limit)
  return limit
}

export function putRequests(field: Field, limit: Fields, amount: number, note?: string): void {
  limit.requests_per_minute = Math.min(100_000_000, amount)
  limit.burst = limit.requests_per_minute
  if (note === undefined) field.kept(limit, 'requests_per_minute')
  else field.changed(note, limit, 'requests_per_minute')
}

/** A budget of money binds only if each model that it meets has a price. */
export function addSpend(
  draft: Draft,
  name: string,
  { selectors, usd, per }: { selectors: Fields; usd: number; per: string },
): Fields {
  const budget: Fields = { usd, per }
  draft.limits.push({ name: draft.names.limits.free(name), for: selectors, budget })
  return budget
}
