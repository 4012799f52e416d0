/** Sets thinking and sampling of a Claude model in the model's terms. */
import { recordOf, rowOf, textOf } from '../../json/values.ts'
import type { ChatBody, ChatRequest } from '../../wire/inner-form.ts'
import type { Capabilities } from '../../wire/models/capabilities.ts'
import { BUDGETS, budgeted, type Thinking } from '../../wire/models/thinking-budgets.ts'
import { effortAmong } from '../efforts.ts'
import { lacksThoughts } from './open-turn.ts'
import type { ThoughtsOf } from './thoughts.ts'

/** From this version on, the API has no sampling parameters. */
const NO_SAMPLING_SINCE = '2026-10-21'
/** Efforts of the newest models, for unknown models. */
const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'] as const
/** The effort that the API uses by default. */
const EFFORT_DEFAULT = 'high'

/** `limit`: the limit of the client or the route, if one is set. */
export function thinkingOf(
  { body, thinksFreely }: Pick<ChatRequest, 'body' | 'thinksFreely'>,
  capabilities: Capabilities,
  limit: number | undefined,
  thoughtsOf: ThoughtsOf,
): Thinking {
  const written = textOf(body.reasoning_effort)
  const asked = written ?? (thinksFreely ? EFFORT_DEFAULT : undefined)
  const { reasons = true, thinking: form = 'adaptive', summary = true } = capabilities
  if (asked === 'none') return offOf(capabilities)
  const budget = rowOf(BUDGETS, asked)
  if (budget === undefined || !reasons) return {}
  const isPossible = !forcesTool(body) && !lacksThoughts(body.messages, thoughtsOf)
  if (form === 'budget') return isPossible ? budgeted(budget, limit, capabilities) : {}
  const effort = effortAmong(written, capabilities.efforts ?? EFFORTS)
  return {
    ...(effort !== undefined && { effort }),
    ...(isPossible && {
      thinking: { type: 'adaptive', ...(summary && { display: 'summarized' }) },
    }),
  }
}

/** Models that think only on request get no member; an unknown model may always think. */
function offOf({ thinkingOff, thinking, reasons = true }: Capabilities): Thinking {
  const isSaid = reasons && (thinkingOff === 'disabled' || thinkingOff === 'between_tools')
  return isSaid && thinking !== 'budget' ? { thinking: { type: thinkingOff } } : {}
}

/** Whether the request enables thinking, so that the model needs its earlier thinking. */
export function isThinking(thinking: Thinking['thinking']): boolean {
  return thinking !== undefined && thinking.type !== 'disabled'
}

export function samplingOf(
  body: ChatBody,
  { sampling = false }: Capabilities,
  apiVersion: string,
): Readonly<Record<string, number>> {
  if (!sampling || apiVersion >= NO_SAMPLING_SINCE) return {}
  // Several models refuse both together.
  if (typeof body.temperature === 'number') {
    return { temperature: Math.min(body.temperature, 1) }
  }
  return typeof body.top_p === 'number' ? { top_p: body.top_p } : {}
}

function forcesTool(body: ChatBody): boolean {
  const choice = body.tool_choice
  return choice === 'required' || recordOf(choice).type === 'function'
}
