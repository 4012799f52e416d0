/** Writes a chat completion request for Ollama's own API. */

import { isRecord, type Json, listOf, recordOf, rowOf, textOf } from '../../json/values.ts'
import type { ChatBody, ChatRequest, CompletionsBody } from '../../wire/inner-form.ts'
import type { Capabilities } from '../../wire/models/capabilities.ts'
import type { ProviderSettings } from '../../wire/provider.ts'
import { membersLeftOut, refuseUnsupported, unsupported } from '../../wire/unsupported.ts'
import { limitOf } from '../limits.ts'
import { withoutMarks } from '../marks.ts'
import { shownByUser } from '../pictures.ts'
import { objectSchema } from '../schemas.ts'
import { facts } from './facts.ts'
import { messagesOf } from './messages.ts'

/** Members that its API does not have. */
const CANNOT = [
  'audio',
  'function_call',
  'functions',
  'logit_bias',
  'modalities',
  'n',
  'web_search_options',
]
/** Options that it has by the same name. */
export const OPTIONS = [
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'seed',
  'presence_penalty',
  'frequency_penalty',
  'repeat_penalty',
]
/** Members that the gateway translates. */
const TAKEN = new Set([
  ...OPTIONS,
  'logprobs',
  'max_completion_tokens',
  'max_tokens',
  'messages',
  'model',
  'parallel_tool_calls',
  'reasoning_effort',
  'response_format',
  'stop',
  'stream',
  'stream_options',
  'tools',
  'top_logprobs',
])
const EFFORTS: Readonly<Record<string, unknown>> = {
  none: false,
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'max',
  max: 'max',
}

export function chatRequest(
  { body, stream }: ChatRequest,
  { model, contextWindow, capabilities }: ProviderSettings,
  bound: number | undefined,
): Json {
  refuseUnsupported(facts.name, body, CANNOT)
  const tools = toolsOf(withoutMarks(body))
  const options = optionsOf(body, bound, contextWindow, capabilities)
  const format = formatOf(body)
  const think = capabilities.reasons === false ? undefined : rowOf(EFFORTS, body.reasoning_effort)
  return {
    model,
    messages: messagesOf(shownByUser(body.messages)),
    // Ollama's default is true.
    stream,
    // Otherwise Ollama truncates the conversation to its window without an error.
    truncate: false,
    ...(tools.length > 0 && { tools }),
    ...(format !== undefined && { format }),
    ...(think !== undefined && { think }),
    ...(Object.keys(options).length > 0 && { options }),
    ...(body.logprobs === true && { logprobs: true }),
    ...(typeof body.top_logprobs === 'number' && { top_logprobs: body.top_logprobs }),
  }
}

/** Only the names in `tool_choice` have an effect: nothing forces the model to call. */
export function leftOutOf({ body }: ChatRequest, { capabilities }: ProviderSettings): string[] {
  const isAsked = capabilities.reasons !== false || body.reasoning_effort == null
  const unasked = isAsked ? [] : ['reasoning_effort']
  const names = [...membersLeftOut(body, TAKEN, CANNOT), ...unasked]
  const isObeyed = body.tool_choice === 'auto' || body.tool_choice === 'none'
  return isObeyed ? names.filter((name) => name !== 'tool_choice') : names
}

export function optionsOf(
  body: ChatBody | CompletionsBody,
  bound: number | undefined,
  window: number | undefined,
  capabilities: Capabilities,
): Json {
  const limit = limitOf(body, bound, capabilities)
  const stops = (typeof body.stop === 'string' ? [body.stop] : listOf(body.stop)).filter(textOf)
  const same = OPTIONS.filter((name) => typeof body[name] === 'number')
  return {
    ...Object.fromEntries(same.map((name) => [name, body[name]])),
    ...(limit !== undefined && { num_predict: limit }),
    ...(stops.length > 0 && { stop: stops }),
    ...(window !== undefined && { num_ctx: window }),
  }
}

/** Ollama has no `tool_choice`, so the request offers fewer tools instead. */
function toolsOf(body: ChatBody): Json[] {
  const choice = body.tool_choice
  if (choice === 'none') return []
  const tools = listOf(body.tools).map(recordOf)
  if (tools.some(({ function: called }) => nameOf(called) === undefined)) {
    throw unsupported(facts.name, 'tools', 'send only tools of type function')
  }
  const chosen = chosenNames(recordOf(choice))
  return tools
    .filter(({ function: called }) => chosen?.includes(nameOf(called)) ?? true)
    .map((tool) => {
      const called = recordOf(tool.function)
      return { ...tool, function: { ...called, parameters: objectSchema(called.parameters) } }
    })
}

function chosenNames({ function: called, allowed_tools }: Json): unknown[] | undefined {
  const name = nameOf(called)
  if (name !== undefined) return [name]
  if (!isRecord(allowed_tools)) return undefined
  return listOf(allowed_tools.tools).map((tool) => nameOf(recordOf(tool).function))
}

function nameOf(called: unknown): string | undefined {
  return textOf(recordOf(called).name)
}

function formatOf(body: ChatBody): unknown {
  const format = recordOf(body.response_format)
  if (format.type === 'json_object') return 'json'
  if (format.type !== 'json_schema') return undefined
  const { schema } = recordOf(format.json_schema)
  return isRecord(schema) ? schema : 'json'
}
