/** Cohere's hosted API for its clients: strict about members, ranges and tools. */
import type { ServerResponse } from 'node:http'
import { isRecord, listOf, recordOf } from '../../../../dataplane/json/values.ts'
import type { Reply } from '../../fake-upstream.ts'
import {
  answerTo,
  type Json,
  type Refused,
  type Said,
  textIn,
  vectorOf,
  writeJson,
} from './script.ts'

const KEY = 'Bearer upstream-credential'
const MEMBERS = new Set(
  (
    'model messages stream tools strict_tools tool_choice documents citation_options response_format safety_mode ' +
    'max_tokens stop_sequences temperature seed frequency_penalty presence_penalty k p logprobs thinking priority'
  ).split(' '),
)
const CHAT = '/v2/chat'
const EMBED = '/v2/embed'
const RANGES: Readonly<Record<string, readonly [least: number, most: number]>> = {
  p: [0.01, 0.99],
  temperature: [0, 1],
  frequency_penalty: [0, 1],
  presence_penalty: [0, 1],
}
const USAGE = {
  billed_units: { input_tokens: 4, output_tokens: 9 },
  tokens: { input_tokens: 20, output_tokens: 9 },
}

export const cohereApi: Reply = async (outgoing, { path, headers, body }) => {
  const refused = refusalOf(path, headers.authorization, body)
  if (refused !== undefined) {
    writeJson(outgoing, refused.status, refused.body)
    return
  }
  if (path === EMBED) {
    const float = listOf(body.texts).map(vectorOf)
    const meta = { api_version: { version: '2' }, billed_units: { input_tokens: 5 } }
    const type = 'embeddings_by_type'
    writeJson(outgoing, 200, { id: 'e-1', response_type: type, embeddings: { float }, meta })
    return
  }
  const said = answerTo({
    messages: listOf(body.messages).map(recordOf),
    hasTools: listOf(body.tools).length > 0,
    wantsJson: recordOf(body.response_format).type === 'json_object',
    thinks: recordOf(body.thinking).type === 'enabled',
  })
  if (body.stream === true) await streamOut(outgoing, said)
  else {
    const answer = { finish_reason: finishOf(said), message: messageOf(said), usage: USAGE }
    writeJson(outgoing, 200, { id: 'c14c80c3', ...answer })
  }
}

function messageOf(said: Said): Json {
  const { text, reasoning, calls } = said
  const thinking = reasoning === undefined ? [] : [{ type: 'thinking', thinking: reasoning }]
  const words = [{ type: 'text', text: text.join('') }]
  if (calls.length > 0) {
    return { role: 'assistant', tool_plan: 'I look it up.', tool_calls: callsOf(said) }
  }
  return { role: 'assistant', content: [...thinking, ...words] }
}

async function streamOut(outgoing: ServerResponse, said: Said): Promise<void> {
  outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = async (type: string, message: Json, more: Json = {}) => {
    const event = { type, ...more, delta: { message } }
    outgoing.write(`event: ${type}\ndata: ${JSON.stringify(event)}\n\n`)
    // Each event is a separate write on the socket.
    await new Promise(setImmediate)
  }
  await send('message-start', { role: 'assistant', content: [] }, { id: 'c14c80c3' })
  for (const [index, call] of callsOf(said).entries()) {
    if (index === 0) await send('tool-plan-delta', { tool_plan: 'I look it up.' })
    const { name, arguments: input } = call.function
    const begun = { ...call, function: { name, arguments: '' } }
    await send('tool-call-start', { tool_calls: begun }, { index })
    const given = { function: { arguments: input } }
    await send('tool-call-delta', { tool_calls: given }, { index })
    await send('tool-call-end', {}, { index })
  }
  for (const [index, block] of blocksOf(said).entries()) {
    const [first = {}, ...pieces] = block
    await send('content-start', { content: first }, { index })
    for (const piece of pieces) {
      await send('content-delta', { content: piece }, { index })
      if (said.ending !== undefined) break
    }
    if (said.ending === undefined) await send('content-end', {}, { index })
  }
  if (said.ending === 'vanishes') {
    outgoing.end()
    return
  }
  const failed = { finish_reason: 'ERROR', error: 'Internal failure' }
  const end = said.ending === 'fails' ? failed : { finish_reason: finishOf(said), usage: USAGE }
  const event = { type: 'message-end', delta: end }
  outgoing.end(`event: message-end\ndata: ${JSON.stringify(event)}\n\n`)
}

/** Each with its start, then its pieces. */
function blocksOf({ text, reasoning, calls }: Said): Json[][] {
  if (calls.length > 0) return []
  const thinking = [{ type: 'thinking', thinking: '' }, { thinking: reasoning }]
  const words = [{ type: 'text', text: '' }, ...text.map((piece) => ({ text: piece }))]
  return reasoning === undefined ? [words] : [thinking, words]
}

function finishOf({ calls }: Said): string {
  return calls.length > 0 ? 'TOOL_CALL' : 'COMPLETE'
}

function callsOf({ calls }: Said) {
  return calls.map((call, index) => ({
    id: `${call.name}_${index}`,
    type: 'function',
    function: call,
  }))
}

function refusalOf(path: string, key: string | undefined, body: Json): Refused | undefined {
  if (path !== CHAT && path !== EMBED) return refusal(404, 'not found')
  if (key !== KEY) return refusal(401, 'invalid api token')
  return path === EMBED ? embedRefusal(body) : chatRefusal(body)
}

function embedRefusal({ texts, input_type: type, truncate }: Json): Refused | undefined {
  if (typeof type !== 'string') return refusal(400, 'invalid request: input_type must be set')
  if (truncate !== 'NONE') return refusal(400, 'this fake cuts nothing')
  return listOf(texts).length > 96 ? refusal(400, 'invalid request: at most 96 texts') : undefined
}

function chatRefusal(body: Json): Refused | undefined {
  const unknown = Object.keys(body).find((name) => !MEMBERS.has(name))
  if (unknown !== undefined) return refusal(422, `unknown field: parameter '${unknown}'`)
  for (const [name, [least, most]] of Object.entries(RANGES)) {
    const value = body[name]
    if (value === undefined || (Number(value) >= least && Number(value) <= most)) continue
    return refusal(400, `invalid request: ${name} must be between ${least} and ${most}.`)
  }
  const { tools, tool_choice: choice } = body
  if (isRecord(body.response_format) && tools !== undefined) {
    return refusal(400, 'invalid request: cannot specify both response_format and tools.')
  }
  if (![undefined, 'NONE', 'REQUIRED'].includes(choice as string | undefined)) {
    return refusal(400, 'invalid request: tool_choice must be REQUIRED or NONE.')
  }
  const said = listOf(body.messages).map((message) => textIn(recordOf(message).content))
  if (said.join().includes('too long')) {
    return refusal(400, 'too many tokens: the prompt cannot exceed 128000 tokens')
  }
  return said.join().includes('too often')
    ? refusal(429, 'limited to 20 calls / minute')
    : undefined
}

function refusal(status: number, message: string): Refused {
  return { status, body: { id: 'e1', message } }
}
