/** What budgets leave for the answer of a request that was just admitted: its limit, where the client gave none. */
import type { Amount, BudgetFigure, Figures } from '../store/contract.ts'
import { estimateOf, type Price } from './price.ts'

/**
 * What the windows left before this request, whose hold stands in the figures already. Infinity without a budget, and
 * where it is spent: then the request runs on the downgrade route, where that budget is not enforced.
 */
export function headroom(figures: Figures, own: Amount): Amount {
  return { tokens: left(figures.tokens, own.tokens), nanos: left(figures.spend, own.nanos) }
}

/** Answer tokens that the room pays for beside the prompt; an answer has at least one. */
export function answerTokensWithin(
  room: Amount,
  promptTokens: number,
  price: Price | undefined,
): number {
  const byTokens = room.tokens - promptTokens
  return Math.max(1, Math.min(byTokens, answerTokensFor(room.nanos, promptTokens, price)))
}

function answerTokensFor(nanos: number, promptTokens: number, price: Price | undefined): number {
  const perToken = price === undefined ? 0 : Math.max(price.output, price.reasoning)
  if (perToken === 0 || nanos === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY
  const prompt = estimateOf(promptTokens, 0, price).nanos
  const tokens = Math.max(0, Math.floor(((nanos - prompt) / perToken) * 1_000))
  // The quotient is a float: it may be one token too generous.
  return estimateOf(promptTokens, tokens, price).nanos > nanos ? tokens - 1 : tokens
}

function left(figure: BudgetFigure | undefined, own: number): number {
  if (figure === undefined || figure.settled >= figure.limit) return Number.POSITIVE_INFINITY
  return Math.max(0, figure.limit - figure.settled - Math.max(0, figure.reserved - own))
}
