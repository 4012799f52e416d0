/** Writes a chat completion request for Cohere's Chat API. */

import { countOf, isRecord, type Json, listOf, recordOf, rowOf, textOf } from '../../json/values.ts'
import type { ChatBody, ChatRequest } from '../../wire/inner-form.ts'
import type { Capabilities } from '../../wire/models/capabilities.ts'
import type { ProviderSettings } from '../../wire/provider.ts'
import { membersLeftOut, refuseUnsupported, unsupported } from '../../wire/unsupported.ts'
import { limitOf } from '../limits.ts'
import { shownByUser } from '../pictures.ts'
import { facts } from './facts.ts'
import { messagesOf } from './messages.ts'
import { toolsOf } from './tools.ts'

/** Members that the Chat API does not have. */
const CANNOT = [
  'audio',
  'function_call',
  'functions',
  'logit_bias',
  'modalities',
  'n',
  'top_logprobs',
  'web_search_options',
]
/** Members that the gateway translates. */
const TAKEN = new Set([
  'frequency_penalty',
  'logprobs',
  'max_completion_tokens',
  'max_tokens',
  'messages',
  'model',
  'parallel_tool_calls',
  'presence_penalty',
  'response_format',
  'seed',
  'stop',
  'stream',
  'stream_options',
  'temperature',
  'tool_choice',
  'tools',
  'top_p',
])
const STOPS_MAX = 5
/** Thinking tokens for the efforts of OpenAI's clients. */
const BUDGETS: Readonly<Record<string, number>> = {
  minimal: 1_024,
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 32_768,
  max: 32_768,
}

export function chatRequest(
  request: ChatRequest,
  settings: ProviderSettings,
  bound: number | undefined,
): Json {
  const { body } = request
  refuseUnsupported(facts.name, body, CANNOT)
  const maxTokens = limitOf(body, bound, settings.capabilities)
  const stops = stopsOf(body)
  const seed = countOf(body.seed)
  const thinking = thinkingOf(body, settings.capabilities, maxTokens)
  return {
    model: settings.model,
    messages: messagesOf(shownByUser(body.messages)),
    ...(request.stream && { stream: true }),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    ...within('temperature', body.temperature, 0, 1),
    ...within('p', body.top_p, 0.01, 0.99),
    ...within('frequency_penalty', body.frequency_penalty, 0, 1),
    ...within('presence_penalty', body.presence_penalty, 0, 1),
    ...(stops.length > 0 && { stop_sequences: stops }),
    ...(seed !== undefined && { seed }),
    ...(body.logprobs === true && { logprobs: true }),
    ...toolsOf(body),
    ...formatOf(body),
    ...(thinking && { thinking }),
  }
}

/** The members of the client's request that `sent` omits. */
export function leftOutOf(body: ChatBody, sent: Json): string[] {
  const isSent = (name: string) => name === 'reasoning_effort' && 'thinking' in sent
  return membersLeftOut(body, TAKEN, CANNOT).filter((name) => !isSent(name))
}

/** OpenAI's ranges are wider, so the nearest allowed value is used. */
function within(name: string, value: unknown, least: number, most: number): Json {
  if (typeof value !== 'number') return {}
  return { [name]: Math.min(Math.max(value, least), most) }
}

function stopsOf({ stop }: ChatBody): string[] {
  const stops = (typeof stop === 'string' ? [stop] : listOf(stop)).flatMap(
    (one) => textOf(one) ?? [],
  )
  if (stops.length > STOPS_MAX) throw unsupported(facts.name, 'stop', `send at most ${STOPS_MAX}`)
  return stops
}

function formatOf(body: ChatBody): Json {
  const { type, json_schema: wanted } = recordOf(body.response_format)
  if (type !== 'json_object' && type !== 'json_schema') return {}
  if (listOf(body.tools).length > 0) {
    throw unsupported(facts.name, 'response_format', 'leave it out where you send tools')
  }
  const { schema } = recordOf(wanted)
  const isGiven = type === 'json_schema' && isRecord(schema)
  return { response_format: { type: 'json_object', ...(isGiven && { json_schema: schema }) } }
}

function thinkingOf(
  body: ChatBody,
  { reasons = true, thinkingTokens = Number.POSITIVE_INFINITY }: Capabilities,
  maxTokens: number | undefined,
): Json | undefined {
  const effort = textOf(body.reasoning_effort)
  if (effort === undefined || !reasons) return undefined
  if (effort === 'none') return { type: 'disabled' }
  const wanted = rowOf(BUDGETS, effort)
  if (wanted === undefined) return undefined
  const budget = Math.min(wanted, thinkingTokens)
  // Thinking counts as part of the answer, so some of the limit must stay for the text.
  const room = maxTokens === undefined ? budget : Math.min(budget, Math.floor(maxTokens / 2))
  return { type: 'enabled', ...(room > 0 && { token_budget: room }) }
}
