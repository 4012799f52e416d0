/** Predicts the store's decision on a request from the tenant's figures. Charges and holds nothing. */
import { tokensOf } from '../accounts/amounts.ts'
import { ruleOf } from '../accounts/holders.ts'
import {
  type AdmitResult,
  type Amount,
  BUSY_RETRY_MS,
  type BudgetFigure,
  type BudgetScope,
  type Figures,
  type Measures,
  type RateFigures,
  type Refusal,
  type Rules,
} from '../accounts/store.ts'

const MINUTE_MS = 60_000

export interface Wanted {
  readonly estimate: Amount
  /** The estimate on the downgrade route, if that route may serve. */
  readonly downgradeEstimate: Amount | undefined
}

interface Obstacle {
  readonly by: Refusal
  readonly scope?: BudgetScope | undefined
  readonly retryAfterMs: number
}

/** Waits are exact to the millisecond, the unit of the figures. */
export function forecast(
  figures: Figures,
  rules: Rules,
  { estimate, downgradeEstimate }: Wanted,
  wallMs: number,
): AdmitResult {
  const { tokens, spend, scoped = [] } = figures
  const budgets: Standing[] = [{ tokens, spend }, ...scoped]
  let downgraded: { by: Spent; scope: BudgetScope | undefined } | undefined
  let budget: Obstacle | undefined
  for (const one of budgets) {
    const { scope } = one
    const by = spentBudget(one)
    if (by === undefined) continue
    if (ruleOf(rules, scope)?.onExceeded === 'downgrade' && downgradeEstimate !== undefined) {
      downgraded ??= { by, scope }
      continue
    }
    const { resetsAt = wallMs } = (by === 'budget_tokens' ? one.tokens : one.spend) ?? {}
    const retryAfterMs = Math.max(1, resetsAt - wallMs)
    if (retryAfterMs > (budget?.retryAfterMs ?? 0)) budget = { by, scope, retryAfterMs }
  }
  if (budget !== undefined) downgraded = undefined
  else budget = promised(budgets)
  const reserved = downgraded === undefined ? estimate : (downgradeEstimate ?? estimate)
  const limit = limitsInTheWay(figures, rules, reserved)
  const obstacle = (budget?.retryAfterMs ?? 0) > (limit?.retryAfterMs ?? 0) ? budget : limit
  if (obstacle !== undefined) return { outcome: 'refused', ...obstacle, figures }
  if (downgraded === undefined) return { outcome: 'admitted', figures }
  return { outcome: 'downgraded', ...downgraded, figures }
}

type Spent = 'budget_tokens' | 'budget_spend'
type Standing = Pick<Figures, 'tokens' | 'spend'> & { readonly scope?: BudgetScope }

/** The spent budget; if both are, the one that resets later. */
function spentBudget({ tokens, spend }: Standing): Spent | undefined {
  if (!isSpent(spend)) return isSpent(tokens) ? 'budget_tokens' : undefined
  return isSpent(tokens) && tokens?.resetsAt === spend?.resetsAt ? 'budget_tokens' : 'budget_spend'
}

/** The longest wait of the rates and slots of all counters. */
function limitsInTheWay(figures: Figures, rules: Rules, reserved: Amount): Obstacle | undefined {
  let found = limitInTheWay(figures, rules, reserved.tokens)
  for (const { scope, rates } of rules.scoped ?? []) {
    const other = figures.scoped?.find((one) => one.scope.id === scope.id)
    const tokens = tokensOf(reserved, scope.limit?.counts ?? 'all')
    const obstacle = rates && other && limitInTheWay(other, rates, tokens)
    if (obstacle !== undefined && obstacle.retryAfterMs > (found?.retryAfterMs ?? 0))
      found = { ...obstacle, scope }
  }
  return found
}

function limitInTheWay(
  { requests, tokenRate, concurrency }: RateFigures,
  { requestsPerMinute, burst = 1, tokensPerMinute: perMinute }: Measures,
  tokens: number,
): Obstacle | undefined {
  const forRequest =
    requests === undefined || requestsPerMinute === undefined
      ? 0
      : waitFor(1, requests, { perMinute: requestsPerMinute, capacity: burst })
  const forTokens =
    tokenRate === undefined || perMinute === undefined
      ? 0
      : waitFor(Math.min(tokens, perMinute), tokenRate, { perMinute, capacity: perMinute })
  const isFull = concurrency !== undefined && concurrency.used >= concurrency.limit
  const forSlot = isFull ? BUSY_RETRY_MS : 0
  const longest = Math.max(forRequest, forTokens, forSlot)
  if (longest === 0) return undefined
  const by = longest === forRequest ? 'rpm' : longest === forTokens ? 'tpm' : 'concurrency'
  return { by, retryAfterMs: longest }
}

/** The bucket is empty after `resetMs`; `cost` fits earlier, by the time that the rest of the bucket takes to leak. */
function waitFor(
  cost: number,
  { remaining, resetMs }: Figures['requests'],
  { perMinute, capacity }: { readonly perMinute: number; readonly capacity: number },
): number {
  if (remaining >= cost) return 0
  return Math.max(1, Math.ceil(resetMs - ((capacity - cost) * MINUTE_MS) / perMinute))
}

function promised(budgets: readonly Standing[]): Obstacle | undefined {
  const one = budgets.find(({ tokens, spend }) => isPromised(tokens) || isPromised(spend))
  return one && { by: 'budget_reserved', scope: one.scope, retryAfterMs: BUSY_RETRY_MS }
}

function isSpent(figure: BudgetFigure | undefined): boolean {
  return figure !== undefined && figure.settled >= figure.limit
}

/** Whether the budget is not spent yet, but running requests may spend it. */
function isPromised(figure: BudgetFigure | undefined): boolean {
  if (figure === undefined || isSpent(figure)) return false
  return figure.settled + figure.reserved >= figure.limit
}
