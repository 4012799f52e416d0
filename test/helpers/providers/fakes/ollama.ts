/** Ollama's own API for its clients: typed as strictly as its Go structs, streaming by default. */
import type { ServerResponse } from 'node:http'
import { isRecord, listOf, recordOf } from '../../../../dataplane/json/values.ts'
import type { Reply } from '../../fake-upstream.ts'
import { answerTo, type Json, type Refused, type Said, vectorOf, writeJson } from './script.ts'

const CHAT = '/api/chat'
const EMBED = '/api/embed'
const FRAME = { model: 'llama3.2:3b', created_at: '2026-01-02T03:04:05.1Z' }
const COUNTS = { prompt_eval_count: 20, eval_count: 9, total_duration: 812_000_000 }
const THINKING = new Set<unknown>([true, 'low', 'medium', 'high', 'max'])

export const ollamaApi: Reply = async (outgoing, { path, body }) => {
  const refused = refusalOf(path, body)
  if (refused !== undefined) {
    writeJson(outgoing, refused.status, refused.body)
    return
  }
  if (path === EMBED) {
    const embeddings = [body.input].flat().map(vectorOf)
    writeJson(outgoing, 200, { model: FRAME.model, embeddings, prompt_eval_count: 5 })
    return
  }
  const said = answerTo({
    messages: listOf(body.messages).map(recordOf).map(asScripted),
    hasTools: listOf(body.tools).length > 0,
    wantsJson: body.format !== undefined,
    thinks: THINKING.has(body.think),
  })
  if (body.stream === false) {
    const message = messageOf(said.text.join(''), said)
    writeJson(outgoing, 200, { ...FRAME, message, done: true, done_reason: 'stop', ...COUNTS })
  } else await streamOut(outgoing, said)
}

/** The script reads pictures in OpenAI's form. */
function asScripted(message: Json): Json {
  const pictures = listOf(message.images).map(() => ({ type: 'image_url' }))
  if (pictures.length === 0) return message
  return { ...message, content: [{ type: 'text', text: message.content }, ...pictures] }
}

function messageOf(content: string, { reasoning, calls }: Partial<Said>): Json {
  const called = calls?.map(({ name, arguments: text }, index) => ({
    id: `call_${index}`,
    function: { index, name, arguments: JSON.parse(text) },
  }))
  return {
    role: 'assistant',
    content,
    ...(reasoning !== undefined && { thinking: reasoning }),
    ...(called?.length && { tool_calls: called }),
  }
}

async function streamOut(outgoing: ServerResponse, said: Said): Promise<void> {
  outgoing.writeHead(200, { 'content-type': 'application/x-ndjson' })
  const send = async (line: Json) => {
    outgoing.write(`${JSON.stringify(line)}\n`)
    // Each line is a separate write on the socket.
    await new Promise(setImmediate)
  }
  const say = (message: Json) => send({ ...FRAME, message, done: false })
  const { reasoning, calls } = said
  if (reasoning !== undefined) await say(messageOf('', { reasoning }))
  for (const text of said.text) {
    await say(messageOf(text, {}))
    if (said.ending === undefined) continue
    if (said.ending === 'fails') await send({ error: 'an error was encountered: unexpected EOF' })
    outgoing.end()
    return
  }
  if (calls.length > 0) await say(messageOf('', { calls }))
  await send({ ...FRAME, message: messageOf('', {}), done: true, done_reason: 'stop', ...COUNTS })
  outgoing.end()
}

function refusalOf(path: string, body: Json): Refused | undefined {
  if (path !== CHAT && path !== EMBED) return { status: 404, body: '404 page not found' }
  if (path === EMBED) return undefined
  const messages = listOf(body.messages).map(recordOf)
  const wrong = messages.map(typeFaultOf).find((fault) => fault !== undefined)
  if (wrong !== undefined) return refused(400, wrong)
  const said = JSON.stringify(messages)
  if (said.includes('too long') && body.truncate === false) {
    return refused(400, 'the input length exceeds the context length')
  }
  return said.includes('too often') ? refused(429, 'you have reached your limit') : undefined
}

function typeFaultOf({ content, images, tool_calls }: Json): string | undefined {
  if (typeof content !== 'string') return 'json: cannot unmarshal array into Go struct field'
  const isPicture = (image: unknown) => /^[A-Za-z0-9+/]+=*$/.test(String(image))
  if (!listOf(images).every(isPicture)) return 'illegal base64 data at input byte 4'
  const calls = listOf(tool_calls).map((call) => recordOf(recordOf(call).function))
  if (calls.every((called) => isRecord(called.arguments))) return undefined
  return 'json: cannot unmarshal string into Go struct field .arguments'
}

function refused(status: number, error: string): Refused {
  return { status, body: { error } }
}
