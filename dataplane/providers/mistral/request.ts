/** The members of a chat completion for Mistral's API. */

import { countOf, isRecord, type Json, listOf, recordOf, textOf } from '../../json/values.ts'
import type { ChatBody } from '../../wire/inner-form.ts'
import { type Unsupported, unsupported } from '../../wire/unsupported.ts'
import { facts } from './facts.ts'
import { messagesOf } from './messages.ts'

/** The API refuses every other member with 422. */
export const MEMBERS: readonly string[] = [
  'model',
  'messages',
  'temperature',
  'top_p',
  'max_tokens',
  'stream',
  'stop',
  'random_seed',
  'metadata',
  'response_format',
  'tools',
  'tool_choice',
  'presence_penalty',
  'frequency_penalty',
  'n',
  'prediction',
  'parallel_tool_calls',
  'reasoning_effort',
  'prompt_mode',
  'guardrails',
  'prompt_cache_key',
  'service_tier',
  'safe_prompt',
]
/** Members that the API does not support. */
export const CANNOT: readonly string[] = [
  'audio',
  'function_call',
  'functions',
  'logit_bias',
  'logprobs',
  'modalities',
  'top_logprobs',
  'web_search_options',
]
const ABOUT_TOOLS = new Set(['tools', 'tool_choice', 'parallel_tool_calls'])
const TEMPERATURE_MAX = 1.5

/** New values of members; `undefined` removes a member. */
export function asMistral(body: ChatBody): Json {
  const messages = messagesOf(body.messages)
  const { temperature } = body
  const seed = countOf(body.seed)
  return {
    ...removed(body),
    ...(messages !== body.messages && { messages }),
    ...(typeof temperature === 'number' &&
      temperature > TEMPERATURE_MAX && { temperature: TEMPERATURE_MAX }),
    ...(seed !== undefined && { random_seed: seed }),
    ...(body.reasoning_effort === 'max' && { reasoning_effort: 'xhigh' }),
    ...tools(body),
    ...format(body),
    ...prediction(body),
  }
}

/** Removed members: replaced ones, null values, tool settings without tools, an unknown tier. */
function removed(body: ChatBody): Json {
  const isToolless = listOf(body.tools).length === 0
  const names = Object.keys(body).filter((name) => {
    // The gateway may have set a limit instead.
    if (name === 'max_tokens') return false
    if (body[name] === null || name === 'stream_options') return true
    if (name === 'seed') return countOf(body.seed) !== undefined
    if (name === 'service_tier') return body.service_tier !== 'auto'
    return isToolless && ABOUT_TOOLS.has(name)
  })
  return Object.fromEntries(names.map((name) => [name, undefined]))
}

function tools(body: ChatBody): Json {
  const given = listOf(body.tools).map(recordOf)
  if (given.length === 0) return {}
  const { mode, allowed } = choiceOf(body.tool_choice)
  const sent = given.map(toolOf).filter((tool) => allowed?.includes(tool.function.name) ?? true)
  return { tools: sent, ...(body.tool_choice != null && { tool_choice: mode }) }
}

function toolOf(tool: Json) {
  const { name, description, parameters, strict } = recordOf(tool.function)
  if (textOf(name) === undefined) throw refused('tools', 'send tools of type function')
  const schema = isRecord(parameters) ? parameters : { type: 'object', properties: {} }
  const about = textOf(description)
  return {
    type: 'function',
    function: {
      name,
      ...(about && { description: about }),
      parameters: schema,
      ...(strict === true && { strict }),
    },
  }
}

/** `allowed`: the names that the choice allows; undefined: all. */
function choiceOf(choice: unknown): { mode: unknown; allowed?: readonly unknown[] } {
  if (!isRecord(choice)) return { mode: choice === 'required' ? 'any' : choice }
  if (choice.type === 'allowed_tools') {
    const { mode, tools: named } = recordOf(choice.allowed_tools)
    const allowed = listOf(named).map((tool) => recordOf(recordOf(tool).function).name)
    return { mode: mode === 'required' ? 'any' : 'auto', allowed }
  }
  const { name } = recordOf(choice.function)
  if (textOf(name) === undefined) {
    throw refused('tool_choice', 'name a function')
  }
  return { mode: { type: 'function', function: { name } } }
}

function format(body: ChatBody): Json {
  const { type, json_schema: wanted } = recordOf(body.response_format)
  if (type !== 'json_schema') return {}
  const { name, description, schema, strict } = recordOf(wanted)
  const about = textOf(description)
  const json = {
    name: textOf(name) ?? 'answer',
    ...(about && { description: about }),
    schema: isRecord(schema) ? schema : { type: 'object' },
    ...(typeof strict === 'boolean' && { strict }),
  }
  return { response_format: { type, json_schema: json } }
}

function prediction(body: ChatBody): Json {
  const { type, content } = recordOf(body.prediction)
  if (!Array.isArray(content)) return {}
  const text = content.map((part) => textOf(recordOf(part).text)).join('')
  return { prediction: { type, content: text } }
}

function refused(param: string, fix: string): Unsupported {
  return unsupported(facts.name, param, fix)
}
