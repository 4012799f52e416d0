/** Predicts the state of budgets at the end of their windows, at the present pace. */
import { z } from 'zod'
import { printText } from '../printing/output.ts'
import { printTable } from '../printing/tables/table.ts'

const Budget = z.object({
  window: z.enum(['day', 'month']),
  limit: z.coerce.number(),
  used: z.coerce.number(),
  resets_at: z.string(),
})
type Budget = z.output<typeof Budget>

export const Standings = z.object({
  total: z.number(),
  tenants: z.array(z.record(z.string(), z.unknown())),
})

export interface Forecast {
  readonly tenant: string
  /** `spend_per_month_usd`, or that of a group or a key: `group:research tokens_per_day`. */
  readonly budget: string
  readonly used: number
  readonly limit: number
  /** The used share of the budget divided by the elapsed share of the window: above 1 it will not last. */
  readonly pace: number | null
  /** The predicted use at the end of the window. */
  readonly at_end: number | null
  /** The time when the budget is spent; null if it lasts. */
  readonly spent_at: string | null
  readonly resets_at: string
}

/** A window that has just begun allows no prediction. */
const ELAPSED_MIN = 0.01
const DAY_MS = 86_400_000

/** All tenants of a shared budget report it, but it is shown once. */
export function forecastsOf(
  answers: readonly z.output<typeof Standings>[],
  now: number,
): Forecast[] {
  const found = new Map<string, Forecast>()
  for (const { tenant, ...limits } of answers.flatMap(({ tenants }) => tenants)) {
    for (const [name, value] of Object.entries(limits)) {
      const budget = Budget.safeParse(value)
      if (!budget.success) continue
      const isShared = name.includes(':')
      const forecast = forecastOf(isShared ? '' : String(tenant), name, budget.data, now)
      const id = `${forecast.tenant}\n${name}`
      const known = found.get(id)
      // Pods read the same counter at slightly different times.
      if (known === undefined || known.used < forecast.used) found.set(id, forecast)
    }
  }
  return [...found.values()].sort((one, other) => (other.pace ?? 0) - (one.pace ?? 0))
}

function forecastOf(tenant: string, budget: string, facts: Budget, now: number): Forecast {
  const { window, used, limit, resets_at } = facts
  const end = Date.parse(resets_at)
  const start = startOf(window, end)
  const elapsed = (now - start) / (end - start)
  const about = { tenant, budget, used, limit, resets_at }
  if (used >= limit)
    return { ...about, pace: null, at_end: null, spent_at: new Date(now).toISOString() }
  if (elapsed < ELAPSED_MIN || used === 0)
    return { ...about, pace: null, at_end: null, spent_at: null }
  const spentAt = start + ((now - start) * limit) / used
  return {
    ...about,
    pace: used / limit / elapsed,
    // Tokens are whole.
    at_end: budget.includes('tokens') ? Math.round(used / elapsed) : used / elapsed,
    spent_at: spentAt < end ? new Date(spentAt).toISOString() : null,
  }
}

function startOf(window: Budget['window'], end: number): number {
  const last = new Date(end)
  return window === 'day' ? end - DAY_MS : Date.UTC(last.getUTCFullYear(), last.getUTCMonth() - 1)
}

export function printForecast(forecasts: readonly Forecast[], total: number, shown: number): void {
  if (forecasts.length === 0) {
    printText('No tenant, group or key has a budget.')
    return
  }
  printTable(
    ['TENANT', 'BUDGET', 'USED', 'LIMIT', 'PACE', 'AT END', 'SPENT', 'RESETS'],
    forecasts.map((one) => [
      one.tenant || '-',
      one.budget,
      rounded(one.used),
      rounded(one.limit),
      one.pace === null ? '-' : `${Math.round(one.pace * 100)}%`,
      one.at_end === null ? '-' : rounded(one.at_end),
      one.spent_at === null ? '-' : shortTime(one.spent_at),
      shortTime(one.resets_at),
    ]),
    false,
    ['AT END', 'RESETS', 'LIMIT'],
  )
  printText('\nPACE 100%: the budget is spent exactly at its reset. Times are UTC.')
  if (shown < total) printText(`${shown} of ${total} tenants.`)
}

function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000
}

/** Rounded to the minute. */
function shortTime(iso: string): string {
  return iso.slice(0, 16).replace('T', ' ')
}
