/** Sets a Gemini model's thinking in the model's terms: a budget of tokens, or a level. */
import { type Json, rowOf, textOf } from '../../json/values.ts'
import type { ChatBody } from '../../wire/inner-form.ts'
import { type Capabilities, EFFORTS } from '../../wire/models/capabilities.ts'
import { effortAmong } from '../efforts.ts'

const BUDGETS: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 1_024,
  low: 1_024,
  medium: 8_192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
}
/** The least thinking of the larger models. */
const BUDGET_MIN = 128
/** The lowest level of the smaller models is close to no thinking. */
const LEVELS = ['minimal', 'low', 'medium', 'high'] as const

/** The member `thinkingConfig`; undefined if the client does not set thinking, or the model cannot change it. */
export function thinkingOf(body: ChatBody, capabilities: Capabilities): Json | undefined {
  const { reasons = true, thinking = 'effort' } = capabilities
  const effort = textOf(body.reasoning_effort)
  if (!reasons || !EFFORTS.some((one) => one === effort)) return undefined
  const shown = effort !== 'none' && { includeThoughts: true }
  if (thinking === 'budget')
    return { thinkingConfig: { thinkingBudget: budgetOf(effort, capabilities), ...shown } }
  const level = effortAmong(effort, capabilities.efforts ?? LEVELS)
  return level && { thinkingConfig: { thinkingLevel: level.toUpperCase(), ...shown } }
}

function budgetOf(
  effort: string | undefined,
  { thinkingOff, thinkingTokens = Number.POSITIVE_INFINITY }: Capabilities,
): number {
  const budget = Math.min(rowOf(BUDGETS, effort) ?? 0, thinkingTokens)
  return thinkingOff === 'never' ? Math.max(BUDGET_MIN, budget) : budget
}
