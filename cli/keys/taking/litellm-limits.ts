/** Rates and budgets of a row of LiteLLM's tables as entries of `limits[]`. */
import { isRecord } from '../../../dataplane/json/values.ts'
import { windowOf } from '../../moving/limits.ts'
import type { Names } from '../../moving/names.ts'
import { amountIn, CellError, countIn, jsonIn, textIn } from './cells.ts'
import type { TableRow } from './table.ts'

export interface Limit extends Readonly<Record<string, unknown>> {
  readonly name: string
}

interface Owner {
  readonly selectors: Readonly<Record<string, string>>
  readonly name: string
  readonly names: Names
  readonly refuse: (column: string, message: string) => void
}

const NO_WINDOW = 'gives no window that gw has: 1h, 1d, 7d, 30d, 1mo, or none'

export function limitsOf(row: TableRow, owner: Owner): Limit[] {
  const { selectors, name, names, refuse } = owner
  const count = (column: string, most: number) => {
    try {
      return countIn(row.cells[column], most)
    } catch (error) {
      if (!(error instanceof CellError)) throw error
      refuse(column, error.message)
      return undefined
    }
  }
  const rpm = count('rpm_limit', 100_000_000)
  const tpm = count('tpm_limit', 1_000_000_000)
  const running = count('max_parallel_requests', 1_000_000)
  const budget = budgetOf(row, refuse)
  const measures = {
    ...(rpm !== undefined && { requests_per_minute: rpm, burst: rpm }),
    ...(tpm !== undefined && { tokens_per_minute: tpm }),
    ...(running !== undefined && { concurrent_requests: running }),
    ...(budget !== undefined && { budget }),
  }
  const own = { name: names.free(`litellm-${name}`), for: selectors, ...measures }
  return [...(Object.keys(measures).length === 0 ? [] : [own]), ...modelLimits(row, owner)]
}

function budgetOf({ cells }: TableRow, refuse: Owner['refuse']) {
  try {
    const usd = amountIn(cells.max_budget)
    if (usd === undefined) return undefined
    if (usd === 0) throw new CellError('must be more than 0; revoke the key to allow nothing')
    const per = windowOf(textIn(cells.budget_duration))
    if (per === undefined) {
      refuse('budget_duration', NO_WINDOW)
      return undefined
    }
    const left = per === 'total' ? leftOf(usd, amountIn(cells.spend) ?? 0) : usd
    const soft = amountIn(cells.soft_budget)
    const alerts = soft !== undefined && soft > 0 && soft < usd ? { alerts: [soft / usd] } : {}
    return { usd: left, per, ...alerts }
  } catch (error) {
    if (!(error instanceof CellError)) throw error
    refuse('max_budget', error.message)
    return undefined
  }
}

/** A budget without a window never begins again, so only what is left of it moves, in millionths of a dollar. */
function leftOf(usd: number, spend: number): number {
  const left = Math.round((usd - spend) * 1e6) / 1e6
  if (left <= 0)
    throw new CellError(`is spent (${spend} of ${usd} USD): raise it, or remove the row`)
  return left
}

/** Budgets of single models: `{"gpt-4o": {"budget_limit": 10, "time_period": "1d"}}`, or an amount without end. */
function modelLimits({ cells }: TableRow, { selectors, name, names, refuse }: Owner): Limit[] {
  try {
    const budgets = jsonIn(cells.model_max_budget)
    return Object.entries(isRecord(budgets) ? budgets : {}).map(([model, budget]) => {
      const { budget_limit, max_budget, time_period, budget_duration } = Object(budget)
      const usd = amountIn(isRecord(budget) ? (budget_limit ?? max_budget) : budget)
      const per = windowOf(textIn(time_period ?? budget_duration))
      if (usd === undefined || usd === 0 || per === undefined) throw new CellError(NO_WINDOW)
      const limit = names.free(`litellm-${name}-${model}`)
      return { name: limit, for: { ...selectors, model }, budget: { usd, per } }
    })
  } catch (error) {
    if (!(error instanceof CellError)) throw error
    refuse('model_max_budget', error.message)
    return []
  }
}
