/** Rules of chat completions, with the differences between their servers. */
import { checkCalls, type Step } from './calls.ts'
import { type Complaints, entries, isObject, type Json } from './contract.ts'
import { checkOpenAiSchema } from './schema.ts'

export interface ChatRules {
  /** Members of the body; undefined: unknown ones are ignored. */
  readonly members?: string
  /** Members of a message, by role; undefined: unknown ones are ignored. */
  readonly message?: Readonly<Record<string, string>>
  readonly part?: Readonly<Record<string, string>>
  readonly roles: string
  readonly callId: RegExp
  readonly name: RegExp
  readonly callMembers?: string
  readonly checksSchemas?: boolean
  readonly textOnly?: boolean
  /** Over turns. */
  readonly idsMayRepeat?: boolean
  /** Results of tools may contain pictures. */
  readonly toolPictures?: boolean
  /** Arguments of calls in history must be a JSON object. */
  readonly objectArguments?: boolean
}

export const OPENAI_MEMBERS =
  'model messages audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens metadata modalities moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options'
export const OPENAI_MESSAGE: Readonly<Record<string, string>> = {
  system: 'role content name',
  developer: 'role content name',
  user: 'role content name',
  assistant: 'role content name refusal tool_calls audio function_call annotations',
  tool: 'role content tool_call_id',
}
export const OPENAI_PART: Readonly<Record<string, string>> = {
  text: 'type text prompt_cache_breakpoint',
  image_url: 'type image_url prompt_cache_breakpoint',
  input_audio: 'type input_audio prompt_cache_breakpoint',
  file: 'type file prompt_cache_breakpoint',
  refusal: 'type refusal',
}

export function checkChat(body: Json, rules: ChatRules, c: Complaints): void {
  if (rules.members !== undefined) c.knows(body, rules.members, 'body')
  c.demand(
    Array.isArray(body.messages) && body.messages.length > 0,
    'messages',
    'messages',
    'empty',
  )
  const steps: Step[] = []
  for (const [index, message] of entries(body.messages)) {
    const at = `messages[${index}]`
    checkMessage(message, rules, at, c)
    const calls = entries(message.tool_calls).map(([, call]) => ({
      id: call.id,
      name: call.function?.name ?? call.custom?.name,
    }))
    const results = message.role === 'tool' ? [{ id: message.tool_call_id }] : []
    steps.push({ at, calls, results })
  }
  checkCalls(
    steps,
    { id: rules.callId, name: rules.name, severalMessages: true, idsMayRepeat: rules.idsMayRepeat },
    c,
  )
  checkTools(body, rules, c)
  c.demand(
    body.stream_options == null || body.stream === true,
    'stream-options',
    'body',
    'no stream',
  )
}

function checkMessage(message: Json, rules: ChatRules, at: string, c: Complaints): void {
  const { role, content, tool_calls: calls } = message
  c.demand(rules.roles.split(' ').includes(role), 'role', at, `Invalid role "${role}".`)
  const members = rules.message?.[role]
  if (members !== undefined) c.knows(message, members, at)
  const isEmpty = content === undefined || content === null
  const mayLack = role === 'assistant' && Array.isArray(calls) && calls.length > 0
  if (isEmpty) c.demand(mayLack, 'no-content', at, 'content must be there.')
  else c.demand(typeof content === 'string' || Array.isArray(content), 'content', at, 'content')
  if (Array.isArray(content))
    c.demand(content.length > 0, 'no-content', at, 'content is an empty list.')
  for (const [index, part] of entries(content))
    checkPart(part, role, rules, `${at}.content[${index}]`, c)
  if (calls !== undefined)
    c.demand(entries(calls).length > 0, 'no-calls', at, 'tool_calls is empty.')
  for (const [index, call] of entries(calls))
    checkCall(call, rules, `${at}.tool_calls[${index}]`, c)
}

function checkPart(part: Json, role: string, rules: ChatRules, at: string, c: Complaints): void {
  const isText = part.type === 'text' || part.type === 'refusal'
  const mayShow = role === 'user' || (role === 'tool' && rules.toolPictures)
  if (!mayShow) c.demand(isText, 'part-type', at, `A part "${part.type}" of ${role}.`)
  if (rules.textOnly) c.demand(isText, 'part-type', at, 'Only texts are supported.')
  if (part.type === 'text') c.demand(typeof part.text === 'string', 'text-type', at, 'text')
  if (rules.part === undefined) return
  const members = rules.part[part.type]
  if (members === undefined) c.add('part-type', at, `Invalid part "${part.type}".`)
  else c.knows(part, members, at)
}

function checkCall(call: Json, rules: ChatRules, at: string, c: Complaints): void {
  const input = call.function?.arguments
  if (rules.callMembers !== undefined) c.knows(call, rules.callMembers, at)
  if (call.type === 'custom') return
  c.demand(call.type === 'function', 'call-type', at, `Type "${call.type}".`)
  c.demand(typeof input === 'string', 'arguments', at, 'arguments must be a string.')
  if (rules.objectArguments && typeof input === 'string' && input !== '')
    c.demand(isObject(parsed(input)), 'arguments', at, `arguments must be an object: ${input}`)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function checkTools(body: Json, rules: ChatRules, c: Complaints): void {
  const { tools, tool_choice: choice } = body
  if (tools == null) c.demand(choice == null, 'choice-without-tools', 'tool_choice', 'no tools')
  if (Array.isArray(tools)) c.demand(tools.length > 0, 'tools-empty', 'tools', 'an empty list')
  const names = entries(tools).map(([, tool]) => tool.function?.name ?? tool.custom?.name)
  for (const [index, tool] of entries(tools)) {
    if (tool.type === 'custom') continue
    const at = `tools[${index}].function`
    c.demand(rules.name.test(names[index]), 'tool-name', at, `Invalid name "${names[index]}".`)
    if (rules.checksSchemas) checkOpenAiSchema(tool.function.parameters, at, c)
  }
  c.demand(new Set(names).size === names.length, 'tool-twice', 'tools', 'Names must be unique.')
  const named = choice?.function?.name
  if (named !== undefined)
    c.demand(names.includes(named), 'choice', 'tool_choice', `No tool "${named}".`)
}
