/** The differences between Claudes as far as a request shows them. */
import { recordOf, rowOf, textOf } from '../../json/values.ts'
import type { ChatBody, ChatRequest } from '../../wire/inner-form.ts'
import { lacksThoughts } from './open-turn.ts'
import type { ThoughtsOf } from './thoughts.ts'

interface Traits {
  readonly of: RegExp
  /** Whether `temperature` and `top_p` are accepted at all. */
  readonly sampling: boolean
  /** How thinking is asked for: a budget of tokens, or an effort. */
  readonly thinking: 'none' | 'budget' | 'adaptive'
  /** Whether it refuses `thinking: disabled`, and shows no thinking unless it is asked for a summary. */
  readonly alwaysThinks?: boolean
  /** The most tokens of an answer with its thinking. */
  readonly output: number
}

/**
 * The first that matches; models that are not known are taken for new ones. All rows: 2026-11-26,
 * https://platform.claude.com/docs/en/about-claude/models/overview for the output, and
 * https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-adaptive-thinking.html for thinking.
 */
const MODELS: readonly Traits[] = [
  { of: /^claude-3-5/, sampling: true, thinking: 'none', output: 8_192 },
  {
    of: /^claude-(?:instant|2|3-(?:opus|sonnet|haiku))/,
    sampling: true,
    thinking: 'none',
    output: 4_096,
  },
  {
    of: /^claude-opus-4(?:-[01])?(?:-20\d{6}|-latest|$)/,
    sampling: true,
    thinking: 'budget',
    output: 32_000,
  },
  {
    of: /^claude-(?:3-7|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:-20\d{6}|-latest|$))/,
    sampling: true,
    thinking: 'budget',
    output: 64_000,
  },
  {
    of: /^claude-(?:opus|sonnet|haiku)-4-6/,
    sampling: true,
    thinking: 'adaptive',
    output: 64_000,
  },
  // Opus 4.7 and later refuse a budget and `disabled`.
  { of: /^/, sampling: false, thinking: 'adaptive', alwaysThinks: true, output: 128_000 },
]
/** This version and later ones took sampling out of the API. */
const NO_SAMPLING_SINCE = '2026-10-21'
const BUDGET_MIN = 1_024
/** Tokens of an answer beside its thinking: ordinary long answers end before it. */
const ROOM = 32_000
const EFFORTS: Readonly<Record<string, { readonly effort: string; readonly budget: number }>> = {
  minimal: { effort: 'low', budget: BUDGET_MIN },
  low: { effort: 'low', budget: 2_048 },
  medium: { effort: 'medium', budget: 8_192 },
  high: { effort: 'high', budget: 16_384 },
  xhigh: { effort: 'xhigh', budget: 32_768 },
  max: { effort: 'max', budget: 49_152 },
}
/** The effort that the API takes where none is written. */
const EFFORT_DEFAULT = 'high'

export interface Thinking {
  readonly effort?: string
  readonly thinking?: Readonly<Record<string, unknown>>
  /** The limit of tokens that a budget needs, where the request has none. */
  readonly maxTokens?: number
}

/** `limit`: of the client or the route, if one of them sets it. */
export function thinkingOf(
  { body, thinksFreely }: Pick<ChatRequest, 'body' | 'thinksFreely'>,
  model: string,
  limit: number | undefined,
  thoughtsOf: ThoughtsOf,
): Thinking {
  const traits = traitsOf(model)
  const asked = textOf(body.reasoning_effort)
  const isAdaptive = traits.thinking === 'adaptive'
  if (asked === 'none')
    return isAdaptive && !traits.alwaysThinks ? { thinking: { type: 'disabled' } } : {}
  const effort = rowOf(EFFORTS, asked ?? (thinksFreely ? EFFORT_DEFAULT : undefined))
  if (effort === undefined || traits.thinking === 'none') return {}
  const isPossible = !forcesTool(body) && !lacksThoughts(body.messages, thoughtsOf)
  if (!isAdaptive) return isPossible ? budgeted(effort.budget, limit, traits) : {}
  const shown = traits.alwaysThinks === true && { display: 'summarized' }
  return {
    ...(asked !== undefined && { effort: effort.effort }),
    ...(isPossible && { thinking: { type: 'adaptive', ...shown } }),
  }
}

/** A budget leaves room for an answer: all of it, or else half of the limit. */
function budgeted(wanted: number, given: number | undefined, { output }: Traits): Thinking {
  const limit = given ?? Math.min(output, wanted + ROOM)
  const budget = limit >= wanted + ROOM ? wanted : Math.min(wanted, Math.floor(limit / 2))
  if (budget < BUDGET_MIN) return {}
  return {
    thinking: { type: 'enabled', budget_tokens: budget },
    ...(given === undefined && { maxTokens: limit }),
  }
}

/** The limit of an answer without thinking where the request has none. */
export function outputDefault(model: string): number {
  return Math.min(ROOM, traitsOf(model).output)
}

/** Whether the model refuses to be asked for no thinking. */
export function alwaysThinks(model: string): boolean {
  return traitsOf(model).alwaysThinks === true
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

function traitsOf(model: string): Traits {
  // The last row matches every name.
  return MODELS.find(({ of }) => of.test(model)) as Traits
}

function forcesTool(body: ChatBody): boolean {
  const choice = body.tool_choice
  return choice === 'required' || recordOf(choice).type === 'function'
}
