/** Mistral: chat completions with ids of nine characters, strict about members and the order of roles. */
import { type Checker, entries, type Json } from './rules/contract.ts'
import { checkChat } from './rules/openai-chat.ts'
import { checkVectors } from './rules/operations.ts'

const RULES = {
  members:
    'model messages temperature top_p max_tokens stream stop random_seed metadata response_format tools tool_choice presence_penalty frequency_penalty n prediction parallel_tool_calls reasoning_effort prompt_mode guardrails prompt_cache_key service_tier safe_prompt',
  message: {
    system: 'role content',
    user: 'role content',
    assistant: 'role content tool_calls prefix',
    tool: 'role content tool_call_id name',
  },
  part: {
    text: 'type text',
    image_url: 'type image_url',
    document_url: 'type document_url document_name',
    input_audio: 'type input_audio',
    thinking: 'type thinking signature closed',
    file: 'type file_id',
    reference: 'type reference_ids',
  },
  roles: 'system user assistant tool',
  callId: /^[a-zA-Z0-9]{9}$/,
  name: /^[a-zA-Z0-9_-]{1,64}$/,
  callMembers: 'id type function index',
}

export const mistral: Checker = ({ path, body }, c) => {
  if (/\/embeddings$/.test(path))
    checkVectors(body, { members: 'model input encoding_format output_dimension output_dtype' }, c)
  if (!path.includes('/chat/completions')) return
  // The vendor's own calls may lack a type, and an assistant's parts may be thinking.
  checkChat({ ...body, messages: entries(body.messages).map(([, one]) => plain(one)) }, RULES, c)
  const roles: string[] = entries(body.messages).map(([, { role }]) => role)
  for (const [index, role] of roles.entries()) {
    const follows = role === 'tool' || role === 'assistant'
    c.demand(
      roles[index - 1] !== 'tool' || follows,
      'role-order',
      `messages[${index}]`,
      `Unexpected role '${role}' after role 'tool'`,
    )
    const isSystem = role === 'system' && roles[index - 1] === 'assistant'
    c.demand(!isSystem, 'role-order', `messages[${index}]`, 'Unexpected system after assistant')
  }
  const last = body.messages?.at(-1)
  const ends = last?.role === 'user' || last?.role === 'tool' || last?.prefix === true
  c.demand(ends, 'last-role', 'messages', 'Expected last role User or Tool.')
  c.range(body.temperature, [0, 1.5], 'temperature')
  for (const [index, one] of entries(body.messages)) {
    const isNothing = one.role === 'assistant' && one.tool_calls == null && isBlank(one.content)
    c.demand(
      !isNothing,
      'no-content',
      `messages[${index}]`,
      'Assistant message must have content or calls.',
    )
  }
}

function isBlank(content: Json): boolean {
  return content == null || content === '' || (Array.isArray(content) && content.length === 0)
}

function plain(message: Json): Json {
  const { tool_calls: calls, content } = message
  return {
    ...message,
    ...(Array.isArray(calls) && {
      tool_calls: calls.map((call: Json) => ({ type: 'function', ...call })),
    }),
    ...(message.role === 'assistant' &&
      Array.isArray(content) && {
        content: content
          .filter(({ type }: Json) => type !== 'thinking')
          .concat({ type: 'text', text: '' }),
      }),
  }
}
