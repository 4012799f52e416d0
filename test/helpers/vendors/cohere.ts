/** Cohere's chat of version 2. */
import { checkCalls, type Step } from './rules/calls.ts'
import { type Checker, type Complaints, entries, type Json } from './rules/contract.ts'
import { checkRerank, checkTexts } from './rules/operations.ts'

const EMBED = 'model texts input_type embedding_types output_dimension truncate max_tokens'
const RERANK = 'model query documents top_n max_tokens_per_doc priority'
const MEMBERS =
  'model messages stream tools strict_tools tool_choice response_format max_tokens stop_sequences temperature seed frequency_penalty presence_penalty k p logprobs thinking documents citation_options safety_mode priority'
const MESSAGES: Readonly<Record<string, string>> = {
  system: 'role content',
  user: 'role content',
  assistant: 'role content tool_calls tool_plan citations',
  tool: 'role content tool_call_id',
}
const PARTS: Readonly<Record<string, string>> = {
  system: 'text',
  user: 'text image_url',
  assistant: 'text thinking',
  tool: 'text document',
}

export const cohere: Checker = ({ path, body }, c) => {
  if (/\/embed$/.test(path)) {
    c.knows(body, EMBED, 'body')
    checkTexts(body.texts, 96, 'texts', c)
    c.demand(typeof body.input_type === 'string', 'input-type', 'input_type', 'It is required.')
  }
  if (/\/rerank$/.test(path)) checkRerank(body, RERANK, c)
  if (!path.includes('/v2/chat') && path !== '/chat') return
  c.knows(body, MEMBERS, 'body')
  const steps = entries(body.messages).map(([index, one]) => stepOf(one, `messages[${index}]`, c))
  c.demand(steps.length > 0, 'messages', 'messages', 'at least one message')
  checkCalls(steps, { id: /./s, name: /^[a-zA-Z0-9_-]{1,128}$/, severalMessages: true }, c)
  for (const [name, most] of Object.entries({
    temperature: 1,
    frequency_penalty: 1,
    presence_penalty: 1,
  }))
    c.range(body[name], [0, most], name)
  c.range(body.p, [0.01, 0.99], 'p')
  c.demand(entries(body.stop_sequences).length <= 5, 'stop', 'stop_sequences', 'at most 5')
  c.demand(
    [undefined, 'REQUIRED', 'NONE'].includes(body.tool_choice),
    'choice',
    'tool_choice',
    'invalid',
  )
  c.demand(
    body.tool_choice === undefined || entries(body.tools).length > 0,
    'choice-without-tools',
    'tool_choice',
    'no tools',
  )
  for (const [index, { function: one }] of entries(body.tools)) {
    c.knows(one, 'name description parameters', `tools[${index}]`)
    c.demand(
      one.parameters?.type === 'object',
      'schema-type',
      `tools[${index}]`,
      'type must be "object".',
    )
  }
  const last = body.messages?.at(-1)?.role
  c.demand(last === 'user' || last === 'tool', 'last-role', 'messages', `The last is of ${last}.`)
}

function stepOf(message: Json, at: string, c: Complaints): Step {
  const { role, content, tool_calls: calls } = message
  const members = MESSAGES[role]
  if (members === undefined) c.add('role', at, `Invalid role "${role}".`)
  else c.knows(message, members, at)
  const isEmpty =
    content == null || content === '' || (Array.isArray(content) && content.length === 0)
  c.demand(
    !isEmpty || entries(calls).length > 0,
    'no-content',
    at,
    'content or tool_calls must be there.',
  )
  for (const [index, part] of entries(content)) {
    const isKnown = (PARTS[role] ?? '').split(' ').includes(part.type)
    c.demand(isKnown, 'part-type', `${at}.content[${index}]`, `A part "${part.type}" of ${role}.`)
  }
  for (const [index, call] of entries(calls)) {
    c.knows(call, 'id type function', `${at}.tool_calls[${index}]`)
    c.demand(
      typeof call.function?.arguments === 'string',
      'arguments',
      at,
      'arguments is a string.',
    )
  }
  return {
    at,
    calls: entries(calls).map(([, call]) => ({ id: call.id, name: call.function?.name })),
    results: role === 'tool' ? [{ id: message.tool_call_id }] : [],
  }
}
