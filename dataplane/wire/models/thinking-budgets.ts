/** The tokens that a Claude model may think, by the effort that a client asks for. */
import type { Capabilities } from './capabilities.ts'

const BUDGET_MIN = 1_024
/** Tokens of an answer beside its thinking; ordinary long answers are shorter. */
const ROOM = 32_000
/** Limit of the newest models, for unknown models. */
const OUTPUT = 128_000
export const BUDGETS: Readonly<Record<string, number>> = {
  minimal: BUDGET_MIN,
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 32_768,
  max: 49_152,
}

export interface Thinking {
  readonly effort?: string
  readonly thinking?: Readonly<Record<string, unknown>>
  /** The token limit that a budget requires if the request has none. */
  readonly maxTokens?: number
}

/** The limit of an answer without thinking if the request has none. */
export function outputDefault({ outputTokens = OUTPUT }: Capabilities): number {
  return Math.min(ROOM, outputTokens)
}

/** A budget leaves room for an answer: the full room, or else half of the limit. */
export function budgeted(
  asked: number,
  given: number | undefined,
  { outputTokens = OUTPUT, thinkingTokens = asked }: Capabilities,
): Thinking {
  const wanted = Math.min(asked, thinkingTokens)
  const limit = given ?? Math.min(outputTokens, wanted + ROOM)
  const budget = limit >= wanted + ROOM ? wanted : Math.min(wanted, Math.floor(limit / 2))
  if (budget < BUDGET_MIN) return {}
  return {
    thinking: { type: 'enabled', budget_tokens: budget },
    ...(given === undefined && { maxTokens: limit }),
  }
}
