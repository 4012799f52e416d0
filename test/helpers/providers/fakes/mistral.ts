/** Mistral's hosted API for its clients: strict about members, ids of calls and the order of roles. */
import type { ServerResponse } from 'node:http'
import { listOf, recordOf } from '../../../../dataplane/json/values.ts'
import type { Reply } from '../../fake-upstream.ts'
import { answerTo, type Json, type Refused, type Said, vectorOf, writeJson } from './script.ts'

const KEY = 'Bearer upstream-credential'
const MEMBERS =
  'model messages temperature top_p max_tokens stream stop random_seed metadata response_format tools tool_choice ' +
  'presence_penalty frequency_penalty n prediction parallel_tool_calls reasoning_effort prompt_mode guardrails ' +
  'prompt_cache_key service_tier safe_prompt'
const CHAT = '/v1/chat/completions'
const EMBEDDINGS = '/v1/embeddings'
const EMBEDDINGS_MEMBERS = 'model input metadata output_dimension output_dtype encoding_format'
const MESSAGE_MEMBERS: Readonly<Record<string, string>> = {
  system: 'role content',
  user: 'role content',
  assistant: 'role content tool_calls prefix',
  tool: 'role content tool_call_id name',
}
const FRAME = { id: 'cmpl-e5c', created: 1_767_323_045, model: 'mistral-m' }
const USAGE = { prompt_tokens: 20, completion_tokens: 9, total_tokens: 29 }

export const mistralApi: Reply = async (outgoing, { path, headers, body }) => {
  outgoing.setHeader('mistral-correlation-id', 'correlation-1')
  const refused = refusalOf(path, headers.authorization, body)
  if (refused !== undefined) {
    writeJson(outgoing, refused.status, refused.body)
    return
  }
  if (path === EMBEDDINGS) {
    writeJson(outgoing, 200, embeddingsOf(body))
    return
  }
  const format = recordOf(body.response_format).type
  const said = answerTo({
    messages: listOf(body.messages).map(recordOf),
    hasTools: listOf(body.tools).length > 0,
    wantsJson: format === 'json_schema' || format === 'json_object',
    thinks: body.reasoning_effort === 'high',
  })
  if (body.stream !== true) {
    const message = { role: 'assistant', content: contentOf(said), tool_calls: callsOf(said) }
    const choices = [{ index: 0, message, finish_reason: finishOf(said) }]
    writeJson(outgoing, 200, { ...FRAME, object: 'chat.completion', choices, usage: USAGE })
    return
  }
  await streamOut(outgoing, said)
}

function embeddingsOf({ input }: Json): Json {
  const data = [input].flat().map((text, index) => {
    return { object: 'embedding', index, embedding: vectorOf(text) }
  })
  const usage = { prompt_tokens: 5, total_tokens: 5, completion_tokens: 0 }
  return { id: 'embd-1', object: 'list', model: 'mistral-embed', data, usage }
}

async function streamOut(outgoing: ServerResponse, said: Said): Promise<void> {
  outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = async (delta: Json, finish: string | null = null, usage = {}) => {
    const choices = [{ index: 0, delta, finish_reason: finish }]
    const chunk = { ...FRAME, object: 'chat.completion.chunk', choices, ...usage, p: 'abc' }
    outgoing.write(`data: ${JSON.stringify(chunk)}\n\n`)
    // Each event is a separate write on the socket.
    await new Promise(setImmediate)
  }
  await send({ role: 'assistant', content: '' })
  if (said.reasoning !== undefined) await send({ content: thinkingOf(said.reasoning) })
  for (const text of said.text) {
    await send({ content: text })
    if (said.ending === 'fails') {
      outgoing.end(`data: ${JSON.stringify(flat(429, 'Rate limit exceeded', '1300'))}\n\n`)
      return
    }
    if (said.ending === 'vanishes') {
      outgoing.end()
      return
    }
  }
  const calls = callsOf(said)
  const last = { content: '', ...(calls && { tool_calls: calls }) }
  await send(last, finishOf(said), { usage: USAGE })
  outgoing.end('data: [DONE]\n\n')
}

function finishOf({ calls }: Said): string {
  return calls.length > 0 ? 'tool_calls' : 'stop'
}

function contentOf({ text, reasoning }: Said): unknown {
  const words = text.join('')
  if (reasoning === undefined) return words
  return [...thinkingOf(reasoning), { type: 'text', text: words }]
}

function thinkingOf(reasoning: string): Json[] {
  return [{ type: 'thinking', thinking: [{ type: 'text', text: reasoning }] }]
}

function callsOf({ calls }: Said): Json[] | null {
  if (calls.length === 0) return null
  return calls.map((call, index) => ({ id: `D681PevK${index}`, function: call, index }))
}

function flat(status: number, message: unknown, code: string | null): Json {
  const type = code === '1300' ? 'rate_limited' : 'invalid_request_error'
  return { object: 'error', message, type, param: null, code, raw_status_code: status }
}

function refusalOf(path: string, key: string | undefined, body: Json): Refused | undefined {
  if (path !== CHAT && path !== EMBEDDINGS) return { status: 404, body: { detail: 'Not Found' } }
  if (key !== KEY) return { status: 401, body: { detail: 'Unauthorized' } }
  if (path === EMBEDDINGS) {
    const unknown = unknownIn(body, EMBEDDINGS_MEMBERS, [])
    return unknown.length === 0 ? undefined : { status: 422, body: { detail: unknown } }
  }
  return chatRefusal(body)
}

function chatRefusal(body: Json): Refused | undefined {
  const messages = listOf(body.messages).map(recordOf)
  const unknown = [
    ...unknownIn(body, MEMBERS, []),
    ...messages.flatMap((message, index) =>
      unknownIn(message, MESSAGE_MEMBERS[String(message.role)] ?? '', ['messages', index]),
    ),
  ]
  if (unknown.length > 0) return { status: 422, body: { detail: unknown } }
  if (Number(body.temperature ?? 0) > 1.5) return bad('The temperature is too high.', null)
  const said = JSON.stringify(messages)
  if (said.includes('too long')) {
    return bad('Prompt contains 40000 tokens, too large for model with 32768 tokens', '3051')
  }
  if (said.includes('too often')) {
    return { status: 429, body: flat(429, 'Rate limit exceeded', '1300') }
  }
  return idRefusal(messages) ?? orderRefusal(messages)
}

function idRefusal(messages: readonly Json[]): Refused | undefined {
  const calls = messages.flatMap(({ tool_calls }) => listOf(tool_calls)).map(recordOf)
  const answered = messages.flatMap((one) => (one.role === 'tool' ? [one.tool_call_id] : []))
  const ids = [...calls.map(({ id }) => id), ...answered]
  const wrong = ids.find((id) => !/^[a-zA-Z0-9]{9}$/.test(String(id)))
  if (wrong !== undefined) {
    const rule = 'must be a-z, A-Z, 0-9, with a length of 9.'
    return bad(`Tool call id was ${wrong} but ${rule}`, '3280')
  }
  const isAnswered = calls.every(({ id }) => answered.includes(id))
  return isAnswered ? undefined : bad('Not the same number of calls and responses', '3230')
}

function orderRefusal(messages: readonly Json[]): Refused | undefined {
  for (const [index, { role }] of messages.entries()) {
    if (messages[index - 1]?.role !== 'tool' || role === 'tool' || role === 'assistant') continue
    return bad(`Unexpected role '${role}' after role 'tool'`, '3230')
  }
  const last = messages.at(-1)
  if (last?.role === 'user' || last?.role === 'tool' || last?.prefix === true) return undefined
  return bad('Expected last role User or Tool (or Assistant with prefix True)', '3230')
}

function unknownIn(value: Json, members: string, at: readonly unknown[]): Json[] {
  const known = members.split(' ')
  const names = Object.keys(value).filter((name) => !known.includes(name))
  return names.map((name) => ({
    type: 'extra_forbidden',
    loc: ['body', ...at, name],
    msg: 'Extra inputs are not permitted',
  }))
}

function bad(message: string, code: string | null): Refused {
  return { status: 400, body: flat(400, message, code) }
}
