/** Predicts what the store would decide about a request, from how its tenant stands. Charges and holds nothing. */
import {
  type AdmitResult,
  type Amount,
  BUSY_RETRY_MS,
  type BudgetFigure,
  type Figures,
  type Refusal,
  type Rules,
} from '../store/contract.ts'

const MINUTE_MS = 60_000

export interface Wanted {
  readonly estimate: Amount
  /** The same on the downgrade route, where that may serve. */
  readonly downgradeEstimate: Amount | undefined
}

interface Obstacle {
  readonly by: Refusal
  readonly retryAfterMs: number
}

/** Waits are exact to the millisecond, the unit of the figures. */
export function forecast(
  figures: Figures,
  rules: Rules,
  { estimate, downgradeEstimate }: Wanted,
  wallMs: number,
): AdmitResult {
  const spent = spentBudget(figures)
  const mayDowngrade = rules.budget?.onExceeded === 'downgrade' && downgradeEstimate !== undefined
  const downgradedBy = mayDowngrade ? spent : undefined
  const reserved = downgradedBy === undefined ? estimate : (downgradeEstimate ?? estimate)
  const limit = limitInTheWay(figures, rules, reserved)
  const budget = budgetInTheWay(figures, downgradedBy === undefined ? spent : undefined, wallMs)
  const obstacle = (budget?.retryAfterMs ?? 0) > (limit?.retryAfterMs ?? 0) ? budget : limit
  if (obstacle !== undefined) return { outcome: 'refused', ...obstacle, figures }
  if (downgradedBy === undefined) return { outcome: 'admitted', figures }
  return { outcome: 'downgraded', by: downgradedBy, figures }
}

/** The spent budget; if both are, the one that resets later. */
function spentBudget({ tokens, spend }: Figures): 'budget_tokens' | 'budget_spend' | undefined {
  if (!isSpent(spend)) return isSpent(tokens) ? 'budget_tokens' : undefined
  return isSpent(tokens) && tokens?.resetsAt === spend?.resetsAt ? 'budget_tokens' : 'budget_spend'
}

function limitInTheWay(figures: Figures, rules: Rules, { tokens }: Amount): Obstacle | undefined {
  const { requests, tokenRate, concurrency } = figures
  const { requestsPerMinute, burst, tokensPerMinute: perMinute } = rules
  const forRequest = waitFor(1, requests, { perMinute: requestsPerMinute, capacity: burst })
  const forTokens =
    tokenRate === undefined || perMinute === undefined
      ? 0
      : waitFor(Math.min(tokens, perMinute), tokenRate, { perMinute, capacity: perMinute })
  const forSlot = concurrency.used >= concurrency.limit ? BUSY_RETRY_MS : 0
  const longest = Math.max(forRequest, forTokens, forSlot)
  if (longest === 0) return undefined
  const by = longest === forRequest ? 'rpm' : longest === forTokens ? 'tpm' : 'concurrency'
  return { by, retryAfterMs: longest }
}

/** It is empty after `resetMs`; `cost` fits as much earlier as the rest of the bucket takes to leak. */
function waitFor(
  cost: number,
  { remaining, resetMs }: Figures['requests'],
  { perMinute, capacity }: { readonly perMinute: number; readonly capacity: number },
): number {
  if (remaining >= cost) return 0
  return Math.max(1, Math.ceil(resetMs - ((capacity - cost) * MINUTE_MS) / perMinute))
}

function budgetInTheWay(
  { tokens, spend }: Figures,
  spent: 'budget_tokens' | 'budget_spend' | undefined,
  wallMs: number,
): Obstacle | undefined {
  if (spent !== undefined) {
    const { resetsAt = wallMs } = (spent === 'budget_tokens' ? tokens : spend) ?? {}
    return { by: spent, retryAfterMs: Math.max(1, resetsAt - wallMs) }
  }
  if (!isPromised(tokens) && !isPromised(spend)) return undefined
  return { by: 'budget_reserved', retryAfterMs: BUSY_RETRY_MS }
}

function isSpent(figure: BudgetFigure | undefined): boolean {
  return figure !== undefined && figure.settled >= figure.limit
}

/** Not spent, but running requests may spend it. */
function isPromised(figure: BudgetFigure | undefined): boolean {
  if (figure === undefined || isSpent(figure)) return false
  return figure.settled + figure.reserved >= figure.limit
}
