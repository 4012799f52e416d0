/** Writes a chat completion request for Anthropic's Messages API. */

import { type Json, listOf, recordOf, textOf } from '../../json/values.ts'
import type { ChatBody, ChatRequest } from '../../wire/inner-form.ts'
import { outputDefault } from '../../wire/models/thinking-budgets.ts'
import type { ProviderSettings } from '../../wire/provider.ts'
import { membersLeftOut, refuseUnsupported, unsupported } from '../../wire/unsupported.ts'
import { limitOf } from '../limits.ts'
import { markOfTool, unmarkedBody, withFewMarks } from '../marks.ts'
import { closedSchema, objectSchema } from '../schemas.ts'
import { facts } from './facts.ts'
import { conversationOf, systemOf } from './messages.ts'
import { isThinking, samplingOf, thinkingOf } from './thinking.ts'
import { NO_THOUGHTS, thoughtsFor } from './thoughts.ts'

/** Members that neither the Messages API nor Bedrock's API has. */
export const CANNOT = [
  'audio',
  'frequency_penalty',
  'function_call',
  'functions',
  'logit_bias',
  'logprobs',
  'modalities',
  'n',
  'presence_penalty',
  'top_logprobs',
  'web_search_options',
]
/** Members that the gateway translates. */
const TAKEN = new Set([
  'max_completion_tokens',
  'max_tokens',
  'messages',
  'model',
  'parallel_tool_calls',
  'response_format',
  'safety_identifier',
  'service_tier',
  'stop',
  'stream',
  'stream_options',
  'tool_choice',
  'tools',
  'user',
])
/** Members that some models accept. */
const SAMPLING = ['temperature', 'top_p']
/** For a model without a JSON mode. */
const JSON_INSTRUCTION = 'Answer with one JSON object and nothing else.'

export function messagesRequest(
  request: ChatRequest,
  settings: ProviderSettings,
  apiVersion: string,
  bound: number | undefined,
): Json {
  const { marks } = settings.capabilities
  const body = marks === false ? unmarkedBody(request.body) : withFewMarks(request.body)
  refuseUnsupported(facts.name, body, CANNOT)
  const { model, capabilities } = settings
  const limit = limitOf(body, bound, capabilities)
  const thoughtsOf = thoughtsFor(model, request)
  const { effort, thinking, maxTokens } = thinkingOf(request, capabilities, limit, thoughtsOf)
  const format = formatOf(body)
  const system = systemOf(body.messages, jsonInstruction(body))
  const stop = stopsOf(body)
  const tools = toolsOf(body)
  const user = textOf(body.user) ?? textOf(body.safety_identifier)
  return {
    model,
    // The API requires a limit.
    max_tokens: limit ?? maxTokens ?? outputDefault(capabilities),
    ...(system.length > 0 && { system }),
    messages: conversationOf(body.messages, isThinking(thinking) ? thoughtsOf : NO_THOUGHTS),
    ...(stop.length > 0 && { stop_sequences: stop }),
    ...(request.stream && { stream: true }),
    ...(tools.length > 0 && { tools, ...toolChoice(body) }),
    ...((format || effort) && { output_config: { ...format, ...(effort && { effort }) } }),
    ...(thinking && { thinking }),
    // Thinking requires the default sampling.
    ...(thinking === undefined && samplingOf(body, capabilities, apiVersion)),
    ...(user && { metadata: { user_id: user } }),
    ...serviceTier(body),
  }
}

/** The members of the client's request that `sent` omits. */
export function leftOutOf(body: ChatBody, sent: Json): string[] {
  const isThinkingSaid = 'thinking' in sent || recordOf(sent.output_config).effort !== undefined
  const isSent = (name: string) =>
    name === 'reasoning_effort' ? isThinkingSaid : SAMPLING.includes(name) && name in sent
  return membersLeftOut(body, TAKEN, CANNOT).filter((name) => !isSent(name))
}

export function stopsOf(body: ChatBody): string[] {
  const stops = typeof body.stop === 'string' ? [body.stop] : listOf(body.stop)
  // The API refuses blank texts.
  return stops.filter((stop) => typeof stop === 'string' && stop.trim() !== '').map(String)
}

function toolsOf(body: ChatBody): Json[] {
  const allowed = allowedNames(body)
  return listOf(body.tools)
    .map((tool) => {
      const { name, description, parameters, strict } = recordOf(recordOf(tool).function)
      const mark = markOfTool(recordOf(tool))
      if (textOf(name) === undefined) {
        throw unsupported(facts.name, 'tools', 'send only tools of type function')
      }
      return {
        name,
        ...(textOf(description)?.trim() && { description }),
        input_schema:
          strict === true ? closedSchema(objectSchema(parameters)) : objectSchema(parameters),
        ...(strict === true && { strict }),
        ...(mark && { cache_control: mark }),
      }
    })
    .filter(({ name }) => allowed === undefined || allowed.includes(name))
}

function allowedNames(body: ChatBody): unknown[] | undefined {
  const choice = recordOf(body.tool_choice)
  if (choice.type !== 'allowed_tools') return undefined
  const tools = listOf(recordOf(choice.allowed_tools).tools)
  return tools.map((tool) => recordOf(recordOf(tool).function).name)
}

function toolChoice(body: ChatBody): Json {
  const choice = body.tool_choice
  const named = textOf(recordOf(recordOf(choice).function).name)
  const mode = recordOf(recordOf(choice).allowed_tools).mode ?? choice
  const alone = body.parallel_tool_calls === false && { disable_parallel_tool_use: true }
  if (named !== undefined) return { tool_choice: { type: 'tool', name: named, ...alone } }
  if (mode === 'none') return { tool_choice: { type: 'none' } }
  if (mode === 'required') return { tool_choice: { type: 'any', ...alone } }
  return mode === 'auto' || alone ? { tool_choice: { type: 'auto', ...alone } } : {}
}

function formatOf(body: ChatBody): Json | undefined {
  const format = recordOf(body.response_format)
  if (format.type !== 'json_schema') return undefined
  const schema = recordOf(format.json_schema).schema
  return { format: { type: 'json_schema', schema: closedSchema(objectSchema(schema)) } }
}

export function jsonInstruction(body: ChatBody): string | undefined {
  return recordOf(body.response_format).type === 'json_object' ? JSON_INSTRUCTION : undefined
}

function serviceTier(body: ChatBody): Json {
  if (body.service_tier === 'auto') return { service_tier: 'auto' }
  return body.service_tier === 'default' ? { service_tier: 'standard_only' } : {}
}
