/** What Anthropic's models differ in as far as a request shows it. */

import { listOf, recordOf, rowOf, textOf } from '../../json/values.ts'
import type { ChatBody } from '../../wire/inner-form.ts'
import type { ThoughtsOf } from './thoughts.ts'

interface Traits {
  readonly of: RegExp
  /** Whether `temperature` and `top_p` are accepted at all. */
  readonly sampling: boolean
  /** How thinking is asked for: a budget of tokens, or an effort. */
  readonly thinking: 'none' | 'budget' | 'adaptive'
}

/**
 * The first that matches; models that are not known are taken for new ones, which refuse sampling.
 */
const MODELS: readonly Traits[] = [
  {
    of: /^claude-(?:instant|2|3-(?:5|opus|sonnet|haiku))/,
    sampling: true,
    thinking: 'none',
  },
  {
    of: /^claude-(?:3-7|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:-20\d{6}|-latest|$))/,
    sampling: true,
    thinking: 'budget',
  },
  { of: /^claude-(?:opus|sonnet|haiku)-4-6/, sampling: true, thinking: 'adaptive' },
  { of: /^/, sampling: false, thinking: 'adaptive' },
]
/** This version and later ones took sampling out of the API. */
const NO_SAMPLING_SINCE = '2026-10-21'
const BUDGET_MIN = 1_024
const EFFORTS: Readonly<Record<string, { readonly effort: string; readonly budget: number }>> = {
  minimal: { effort: 'low', budget: BUDGET_MIN },
  low: { effort: 'low', budget: 2_048 },
  medium: { effort: 'medium', budget: 8_192 },
  high: { effort: 'high', budget: 16_384 },
  xhigh: { effort: 'xhigh', budget: 32_768 },
  max: { effort: 'max', budget: 49_152 },
}

interface Thinking {
  readonly effort?: string
  readonly thinking?: Readonly<Record<string, unknown>>
}

export function thinkingOf(
  body: ChatBody,
  model: string,
  maxTokens: number,
  thoughtsOf: ThoughtsOf,
): Thinking {
  const kind = traitsOf(model).thinking
  const asked = textOf(body.reasoning_effort)
  if (asked === 'none') return kind === 'adaptive' ? { thinking: { type: 'disabled' } } : {}
  const effort = rowOf(EFFORTS, asked)
  if (effort === undefined || kind === 'none') return {}
  const possible = !forcesTool(body) && !lacksThoughts(body, thoughtsOf)
  if (kind === 'adaptive') {
    return { effort: effort.effort, ...(possible && { thinking: { type: 'adaptive' } }) }
  }
  const budget = Math.min(effort.budget, maxTokens - 1)
  return possible && budget >= BUDGET_MIN
    ? { thinking: { type: 'enabled', budget_tokens: budget } }
    : {}
}

/** Whether the model is asked to think, and so wants its thinking back. */
export function isThinking(thinking: Thinking['thinking']): boolean {
  return thinking !== undefined && thinking.type !== 'disabled'
}

export function samplingOf(
  body: ChatBody,
  model: string,
  apiVersion: string,
): Readonly<Record<string, number>> {
  if (!traitsOf(model).sampling || apiVersion >= NO_SAMPLING_SINCE) return {}
  // Several models refuse the two together.
  if (typeof body.temperature === 'number') {
    return { temperature: Math.min(body.temperature, 1) }
  }
  return typeof body.top_p === 'number' ? { top_p: body.top_p } : {}
}

function traitsOf(model: string): Pick<Traits, 'sampling' | 'thinking'> {
  return MODELS.find(({ of }) => of.test(model)) ?? { sampling: false, thinking: 'adaptive' }
}

function forcesTool(body: ChatBody): boolean {
  const choice = body.tool_choice
  return choice === 'required' || recordOf(choice).type === 'function'
}

/**
 * Whether the model's turn is still going on after calls of tools whose thinking is lost: it would have to be handed back
 * first, signed.
 */
function lacksThoughts({ messages }: ChatBody, thoughtsOf: ThoughtsOf): boolean {
  const asked = messages.findLastIndex(({ role }) => role === 'user')
  const first = messages.slice(asked + 1).find(({ tool_calls: calls }) => listOf(calls).length > 0)
  return first !== undefined && thoughtsOf(first).length === 0
}
