/** Sound as tokens: budgets and limits know nothing else. */

/** OpenAI's models hear a tenth of a second as a token. */
const TOKENS_PER_SECOND = 10

export function tokensOf(seconds: number): number {
  return Math.ceil(seconds * TOKENS_PER_SECOND)
}
