/** Azure OpenAI for its clients: two forms of paths, keys or tokens, and verdicts on content throughout its answers. */
import type { ServerResponse } from 'node:http'
import { listOf, recordOf } from '../../../../dataplane/json/values.ts'
import type { Asked, Reply } from '../../fake-upstream.ts'
import {
  answerTo,
  type Json,
  type Refused,
  type Said,
  textIn,
  vectorOf,
  writeJson,
} from './script.ts'

const KEY = 'upstream-credential'
const DEPLOYED = 'upstream-m'
const V1 = /^\/openai\/v1\/(chat\/completions|embeddings)$/
const DATED =
  /^\/openai\/deployments\/([^/]+)\/(chat\/completions|embeddings)\?api-version=(\d{4}-\d{2}-\d{2})(-preview)?$/
const FRAME = { id: 'chatcmpl-Az1', created: 1_767_323_045, model: 'gpt-x-2026' }
const USAGE = { prompt_tokens: 20, completion_tokens: 9, total_tokens: 29 }
const SAFE = { violence: { filtered: false, severity: 'safe' } }
const BLOCKED = { violence: { filtered: true, severity: 'medium' } }
const PROMPT = [{ prompt_index: 0, content_filter_results: SAFE }]

/** `tokens` are accepted in addition to the key. */
export function azureApi(tokens: ReadonlySet<string> = new Set()): Reply {
  return async (outgoing, asked) => {
    const refused = refusalOf(asked, tokens)
    if (refused !== undefined) {
      outgoing.setHeader('apim-request-id', 'apim-1')
      writeJson(outgoing, refused.status, refused.body)
      return
    }
    const { path, body } = asked
    if (path.includes('/embeddings')) {
      writeJson(outgoing, 200, embeddingsOf(body))
      return
    }
    const said = answerTo({
      messages: listOf(body.messages).map(recordOf),
      hasTools: listOf(body.tools).length > 0,
      wantsJson: recordOf(body.response_format).type === 'json_schema',
      thinks: body.reasoning_effort === 'high',
    })
    if (body.stream === true) await streamOut(outgoing, said, body)
    else writeJson(outgoing, 200, wholeOf(said))
  }
}

function embeddingsOf({ input, encoding_format: format }: Json): Json {
  const data = [input].flat().map((text, index) => {
    const vector = vectorOf(text)
    const base64 = Buffer.from(Float32Array.from(vector).buffer).toString('base64')
    return { object: 'embedding', index, embedding: format === 'base64' ? base64 : vector }
  })
  const usage = { prompt_tokens: 5, total_tokens: 5 }
  return { object: 'list', model: 'embed', data, usage }
}

function wholeOf(said: Said): Json {
  const message = { role: 'assistant', ...wordsOf(said), refusal: null }
  const choice = { index: 0, message, finish_reason: finishOf(said), content_filter_results: SAFE }
  const answer = { ...FRAME, object: 'chat.completion', choices: [choice], usage: USAGE }
  return { ...answer, prompt_filter_results: PROMPT }
}

function wordsOf({ text, reasoning, calls }: Said): Json {
  return {
    content: calls.length > 0 ? null : text.join(''),
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls.map(callOf) }),
  }
}

function callOf(call: Said['calls'][number], index: number): Json {
  return { id: `call_${index}abc`, type: 'function', function: call, index }
}

async function streamOut(outgoing: ServerResponse, said: Said, body: Json): Promise<void> {
  outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = async (chunk: Json) => {
    outgoing.write(`data: ${JSON.stringify(chunk)}\n\n`)
    // Each event is a separate write on the socket.
    await new Promise(setImmediate)
  }
  const deltaOf = (delta: Json, finish: string | null = null) =>
    send(chunkOf([{ content_filter_results: {}, delta, finish_reason: finish, index: 0 }]))
  const note = { content_filter_offsets: { check_offset: 0 }, content_filter_results: SAFE }
  const verdict = { ...note, finish_reason: null, index: 0 }
  await send({
    choices: [],
    created: 0,
    id: '',
    model: '',
    object: '',
    prompt_filter_results: PROMPT,
  })
  await deltaOf({ role: 'assistant', content: '', refusal: null })
  if (said.reasoning !== undefined) await deltaOf({ reasoning_content: said.reasoning })
  for (const text of said.text) {
    await deltaOf({ content: text })
    await send({ choices: [verdict], created: 0, id: '', model: '', object: '' })
    if (said.ending === 'vanishes') return void outgoing.end()
    if (said.ending === 'fails') {
      const error = { code: '500', message: 'The server had an error.' }
      return void outgoing.end(`data: ${JSON.stringify({ error })}\n\n`)
    }
  }
  for (const [index, call] of said.calls.entries()) {
    const { arguments: text, ...rest } = call
    const announced = { ...callOf(call, index), function: { ...rest, arguments: '' } }
    await deltaOf({ tool_calls: [announced] })
    await deltaOf({ tool_calls: [{ index, function: { arguments: text } }] })
  }
  await deltaOf({}, finishOf(said))
  await send({ choices: [verdict], created: 0, id: '', model: '', object: '' })
  if (recordOf(body.stream_options).include_usage === true) {
    await send({ ...chunkOf([]), usage: USAGE })
  }
  outgoing.end('data: [DONE]\n\n')
}

function chunkOf(choices: readonly Json[]): Json {
  return { ...FRAME, object: 'chat.completion.chunk', choices }
}

function finishOf({ calls }: Said): string {
  return calls.length > 0 ? 'tool_calls' : 'stop'
}

function refusalOf(
  { path, headers, body }: Asked,
  tokens: ReadonlySet<string>,
): Refused | undefined {
  const dated = DATED.exec(path)
  if (dated === null && !V1.test(path))
    return error(404, { code: '404', message: 'Resource not found' })
  const token = headers.authorization?.replace(/^Bearer /, '')
  if (headers['api-key'] !== KEY && !tokens.has(token ?? '')) {
    return error(401, { code: '401', message: 'Access denied due to invalid subscription key.' })
  }
  const deployment = dated === null ? body.model : decodeURIComponent(dated[1] ?? '')
  if (deployment !== DEPLOYED) {
    const message = 'The API deployment for this resource does not exist.'
    return error(404, { code: 'DeploymentNotFound', message })
  }
  return unknownIn(dated?.[3], body) ?? promptRefusal(body)
}

/** Members that early dated versions did not have. */
function unknownIn(version: string | undefined, body: Json): Refused | undefined {
  const isEarly = version !== undefined && version < '2024-09-01'
  const name = ['stream_options', 'max_completion_tokens'].find((one) => one in body)
  if (isEarly && name !== undefined) {
    const message = `Unrecognized request argument supplied: ${name}`
    return error(400, { message, type: 'invalid_request_error', param: null, code: null })
  }
  if (body.logit_bias === undefined) return undefined
  const message = "Unsupported parameter: 'logit_bias' is not supported with this model."
  const labels = { type: 'invalid_request_error', code: 'unsupported_parameter' }
  return error(400, { message, param: 'logit_bias', ...labels })
}

function promptRefusal({ messages }: Json): Refused | undefined {
  const said = listOf(messages)
    .map((message) => textIn(recordOf(message).content))
    .join(' ')
  if (said.includes('forbidden')) {
    const message = 'The response was filtered due to the prompt triggering the content policy.'
    const innererror = { code: 'ResponsibleAIPolicyViolation', content_filter_result: BLOCKED }
    const labels = { type: null, param: 'prompt', code: 'content_filter', status: 400 }
    return error(400, { message, ...labels, innererror })
  }
  if (said.includes('too often')) {
    const message = 'Requests have exceeded call rate limit. Please retry after 6 seconds.'
    return error(429, { code: '429', message })
  }
  if (!said.includes('too long')) return undefined
  const message = "This model's maximum context length is 4097 tokens."
  const labels = { type: 'invalid_request_error', param: 'messages' }
  return error(400, { message, ...labels, code: 'context_length_exceeded' })
}

function error(status: number, body: Json): Refused {
  return { status, body: { error: body } }
}
