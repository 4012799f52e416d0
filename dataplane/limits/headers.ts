/**
 * The headers that show a tenant its limits, on every answer: those of the gateway, and those that SDKs and tools for
 * OpenAI read. Only refusals have Retry-After.
 */
import type { BucketFigure, BudgetFigure, Figures } from '../accounts/store.ts'

const TOKENS = 'X-Gw-Budget-Tokens-Remaining'
const SPEND = 'X-Gw-Budget-Spend-Remaining-Usd'
const NANOS_PER_USD = 1_000_000_000

/** Budgets show settled amounts only: a hold is an upper bound, and most of it is released. */
export function limitHeaders(figures: Figures): Record<string, string> {
  const requests = tightest(figures.requests, figures.scoped, 'requests') ?? figures.requests
  const tokenRate = tightest(figures.tokenRate, figures.scoped, 'tokenRate')
  const [limit, remainder] = [String(requests.limit), String(requests.remaining)]
  const headers: Record<string, string> = {
    'X-Gw-RateLimit-Limit': limit,
    'X-Gw-RateLimit-Remaining': remainder,
    'X-Gw-RateLimit-Reset': String(wholeSeconds(requests.resetMs)),
    'x-ratelimit-limit-requests': limit,
    'x-ratelimit-remaining-requests': remainder,
    'x-ratelimit-reset-requests': durationText(requests.resetMs),
  }
  if (tokenRate !== undefined) {
    headers['x-ratelimit-limit-tokens'] = String(tokenRate.limit)
    headers['x-ratelimit-remaining-tokens'] = String(tokenRate.remaining)
    headers['x-ratelimit-reset-tokens'] = durationText(tokenRate.resetMs)
  }
  const tokens = least(figures, 'tokens')
  const spend = least(figures, 'spend')
  if (tokens !== undefined) headers[TOKENS] = String(tokens)
  if (spend !== undefined) headers[SPEND] = usdText(spend)
  return headers
}

/** Whether the headers include the rest of a budget, not only of the rates. */
export function tellsBudgets(headers: Readonly<Record<string, string>>): boolean {
  return TOKENS in headers || SPEND in headers
}

/** The rate of the request that leaves least. */
function tightest(
  own: BucketFigure | undefined,
  scoped: Figures['scoped'],
  kind: 'requests' | 'tokenRate',
): BucketFigure | undefined {
  let found = own
  if (scoped === undefined) return found
  for (const { [kind]: other } of scoped) {
    if (other !== undefined && (found === undefined || other.remaining < found.remaining))
      found = other
  }
  return found
}

/** The smallest rest among the budgets of the request. */
function least(figures: Figures, kind: 'tokens' | 'spend'): number | undefined {
  const { [kind]: mine, scoped } = figures
  let left = mine === undefined ? undefined : remaining(mine)
  if (scoped === undefined) return left
  for (const { [kind]: figure } of scoped) {
    if (figure === undefined) continue
    left = Math.min(left ?? Number.POSITIVE_INFINITY, remaining(figure))
  }
  return left
}

export function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000)
}

/** A duration in OpenAI's notation: `20ms`, `1.2s`, `6m0s`. */
function durationText(ms: number): string {
  const whole = Math.ceil(ms)
  if (whole < 1000) return `${whole}ms`
  const minutes = Math.floor(whole / 60_000)
  const seconds = `${(whole % 60_000) / 1000}s`
  return minutes === 0 ? seconds : `${minutes}m${seconds}`
}

/** An amount with all its digits, without an exponent: `12.5`, `0.00000015`. */
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
