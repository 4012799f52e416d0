/** Writes a chat completion request as Anthropic's Messages API wants it. */

import { GatewayError } from '../../base/errors.ts'
import type { ChatBody, ChatRequest } from '../../inner-form.ts'
import { isRecord, listOf, recordOf, textOf } from '../../json/values.ts'
import type { ProviderSettings } from '../contract.ts'
import { conversationOf, systemOf } from './messages.ts'
import { samplingOf, thinkingOf } from './models.ts'

type Json = Readonly<Record<string, unknown>>

/** The API requires a limit; this one is sent where neither client nor route gives one. */
const MAX_TOKENS_DEFAULT = 4_096
const JSON_INSTRUCTION = 'Answer with one JSON object and nothing else.'

export function messagesRequest(
  request: ChatRequest,
  settings: ProviderSettings,
  apiVersion: string,
  bound: number | undefined,
): Json {
  const { body } = request
  refuseUntranslatable(body)
  const maxTokens = body.max_completion_tokens ?? body.max_tokens ?? bound ?? MAX_TOKENS_DEFAULT
  const { effort, thinking } = thinkingOf(body, settings.model, maxTokens)
  const format = formatOf(body)
  const system = systemOf(body.messages, wantsJson(body) ? JSON_INSTRUCTION : undefined)
  const stop = stopsOf(body)
  const tools = toolsOf(body)
  const user = textOf(body.user) ?? textOf(body.safety_identifier)
  return {
    model: settings.model,
    max_tokens: maxTokens,
    ...(system.length > 0 && { system }),
    messages: conversationOf(body.messages),
    ...(stop.length > 0 && { stop_sequences: stop }),
    ...(request.stream && { stream: true }),
    ...(tools.length > 0 && { tools, ...toolChoice(body) }),
    ...((format || effort) && { output_config: { ...format, ...(effort && { effort }) } }),
    ...(thinking && { thinking }),
    // Thinking goes only with the default sampling.
    ...(thinking === undefined && samplingOf(body, settings.model, apiVersion)),
    ...(user && { metadata: { user_id: user } }),
    ...serviceTier(body),
  }
}

function untranslatable(param: string, message: string): GatewayError {
  return new GatewayError('ERR_GW_INVALID_REQUEST', message, { param })
}

/**
 * Refuses members that would silently mean something else; hints such as seeds and penalties are
 * left out.
 */
function refuseUntranslatable(body: ChatBody): void {
  if (typeof body.n === 'number' && body.n > 1) {
    throw untranslatable('n', 'This model gives one choice; send n: 1.')
  }
  if (body.logprobs === true) {
    throw untranslatable('logprobs', 'This model tells no log probabilities; leave logprobs out.')
  }
  if (listOf(body.modalities).includes('audio')) {
    throw untranslatable('modalities', 'This model answers in text; leave modalities out.')
  }
  if (listOf(body.functions).length > 0) {
    throw untranslatable('functions', 'Functions are not translated for this model; send tools.')
  }
}

function stopsOf(body: ChatBody): string[] {
  const stops = typeof body.stop === 'string' ? [body.stop] : listOf(body.stop)
  // Blank ones are refused.
  return stops.filter((stop) => typeof stop === 'string' && stop.trim() !== '').map(String)
}

function toolsOf(body: ChatBody): Json[] {
  const allowed = allowedNames(body)
  return listOf(body.tools)
    .map((tool) => {
      const { name, description, parameters, strict } = recordOf(recordOf(tool).function)
      if (textOf(name) === undefined) {
        throw untranslatable('tools', 'This model takes only tools of type function.')
      }
      return {
        name,
        ...(textOf(description) && { description }),
        input_schema: isRecord(parameters) ? parameters : { type: 'object', properties: {} },
        ...(strict === true && { strict }),
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
  return { format: { type: 'json_schema', schema: isRecord(schema) ? schema : { type: 'object' } } }
}

function wantsJson(body: ChatBody): boolean {
  return recordOf(body.response_format).type === 'json_object'
}

function serviceTier(body: ChatBody): Json {
  if (body.service_tier === 'auto') return { service_tier: 'auto' }
  return body.service_tier === 'default' ? { service_tier: 'standard_only' } : {}
}
