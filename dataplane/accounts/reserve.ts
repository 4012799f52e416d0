/** The tokens that a budget reserves for an answer that neither the client nor the route bounds. */

/** Reasoning models and agents answer with thousands of tokens; most other answers are far shorter. */
export const ANSWER_TOKENS_RESERVED = 16_384

/** At most half of the context window, because the prompt needs room, too. */
export function answerReserved(window: number): number {
  return Math.min(ANSWER_TOKENS_RESERVED, Math.max(1, Math.floor(window / 2)))
}
