/** Writes a conversation as a request of OpenAI's Responses. */
import { type Json, listOf, recordOf, textOf } from '../../json/values.ts'
import type { ChatBody, ChatRequest } from '../../wire/inner-form.ts'
import type { Capabilities } from '../../wire/models/capabilities.ts'
import { membersLeftOut, refuseUnsupported, unsupported } from '../../wire/unsupported.ts'
import { effortOf, refusedSampling } from '../efforts.ts'
import { limitOf } from '../limits.ts'
import { shortNames } from '../openai-like/asking/names.ts'
import { objectSchema } from '../schemas.ts'
import { itemsOf } from './items.ts'

/** Members that the API does not have. */
const CANNOT = [
  'audio',
  'frequency_penalty',
  'function_call',
  'functions',
  'logit_bias',
  'modalities',
  'n',
  'presence_penalty',
  'stop',
  'web_search_options',
]
/** Members with the same name. */
const SAME = [
  'metadata',
  'parallel_tool_calls',
  'prompt_cache_key',
  'prompt_cache_retention',
  'safety_identifier',
  'service_tier',
  'temperature',
  'top_p',
  'user',
]
const TAKEN = new Set([
  ...SAME,
  'logprobs',
  'max_completion_tokens',
  'max_tokens',
  'messages',
  'model',
  'reasoning_effort',
  'response_format',
  'store',
  'stream',
  'stream_options',
  'tool_choice',
  'tools',
  'top_logprobs',
  'verbosity',
])
/** The API accepts no smaller limit. */
const OUTPUT_TOKENS_MIN = 16

interface Upstream {
  readonly provider: string
  readonly model: string
  readonly maxTokens: number | undefined
  readonly capabilities: Capabilities
}

/** `body`: that of the request, with messages for the upstream. */
export function responsesRequest(
  { stream }: Pick<ChatRequest, 'stream'>,
  body: ChatBody,
  { provider, model, maxTokens, capabilities }: Upstream,
): Json {
  refuseUnsupported(provider, body, CANNOT)
  const limit = limitOf(body, maxTokens, capabilities)
  const effort = effortOf(body, capabilities)
  const format = formatOf(recordOf(body.response_format))
  const verbosity = textOf(body.verbosity)
  const refused = refusedSampling(body, capabilities)
  const same = SAME.filter((name) => body[name] != null && !refused.includes(name))
  const tools = listOf(body.tools).map((tool) => toolOf(recordOf(tool), provider))
  return {
    model,
    input: itemsOf(body.messages, provider),
    ...Object.fromEntries(same.map((name) => [name, body[name]])),
    ...shortNames(body),
    ...(tools.length > 0 && { tools, ...choiceOf(body.tool_choice) }),
    ...(limit !== undefined && { max_output_tokens: Math.max(OUTPUT_TOKENS_MIN, limit) }),
    ...(effort !== undefined && { reasoning: { effort } }),
    ...((format || verbosity) && { text: { ...format, ...(verbosity && { verbosity }) } }),
    ...logprobsOf(body),
    // By default the API stores the response.
    store: body.store === true,
    ...(stream && { stream }),
  }
}

/** The hints that the request omits. */
export function leftOutOf(body: ChatBody): string[] {
  return membersLeftOut(body, TAKEN, CANNOT)
}

function toolOf(tool: Json, provider: string): Json {
  const { name, description, parameters, strict } = recordOf(tool.function)
  if (textOf(name) === undefined)
    throw unsupported(provider, 'tools', 'send only tools of type function')
  return {
    type: 'function',
    name,
    ...(textOf(description) && { description }),
    parameters: objectSchema(parameters, true),
    // In this API functions are strict by default.
    strict: strict === true,
  }
}

function choiceOf(choice: unknown): Json {
  if (choice == null) return {}
  const { type, function: called, allowed_tools: allowed } = recordOf(choice)
  if (type === 'function') return { tool_choice: { type, name: recordOf(called).name } }
  if (type !== 'allowed_tools') return { tool_choice: choice }
  const { mode, tools } = recordOf(allowed)
  const names = listOf(tools).map((one) => recordOf(recordOf(one).function).name)
  return { tool_choice: { type, mode, tools: names.map((name) => ({ type: 'function', name })) } }
}

function formatOf({ type, json_schema: asked }: Json): Json | undefined {
  if (type === 'json_object') return { format: { type } }
  return type === 'json_schema' ? { format: { type, ...recordOf(asked) } } : undefined
}

function logprobsOf({ logprobs, top_logprobs: most }: ChatBody): Json {
  if (logprobs !== true) return {}
  const include = ['message.output_text.logprobs']
  return { include, ...(typeof most === 'number' && { top_logprobs: most }) }
}
