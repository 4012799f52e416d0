/** The headers that show a tenant how it stands, on every answer to it. Retry-After belongs to refusals. */
import type { BudgetFigure, Figures } from '../store/contract.ts'

const NANOS_PER_USD = 1_000_000_000

/** Budgets show what is settled: a hold is an upper bound that mostly comes back. */
export function limitHeaders({ requests, tokens, spend }: Figures): Record<string, string> {
  const headers: Record<string, string> = {
    'X-Gw-RateLimit-Limit': String(requests.limit),
    'X-Gw-RateLimit-Remaining': String(requests.remaining),
    'X-Gw-RateLimit-Reset': String(wholeSeconds(requests.resetMs)),
  }
  if (tokens !== undefined) headers['X-Gw-Budget-Tokens-Remaining'] = String(remaining(tokens))
  if (spend !== undefined) headers['X-Gw-Budget-Spend-Remaining-Usd'] = usdText(remaining(spend))
  return headers
}

export function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000)
}

/** Every digit that is there and no exponent: `12.5`, `0.00000015`. */
export function usdText(nanos: number): string {
  const whole = String(Math.floor(nanos / NANOS_PER_USD))
  let fraction = nanos % NANOS_PER_USD
  if (fraction === 0) return whole
  let digits = 9
  while (fraction % 10 === 0) {
    fraction /= 10
    digits--
  }
  return `${whole}.${String(fraction).padStart(digits, '0')}`
}

function remaining({ limit, settled }: BudgetFigure): number {
  return Math.max(0, limit - settled)
}
