/** Sound as tokens, because budgets and limits count only tokens. */

/** OpenAI's models use one token for a tenth of a second. */
const TOKENS_PER_SECOND = 10

export function tokensOf(seconds: number): number {
  return Math.ceil(seconds * TOKENS_PER_SECOND)
}
