/**
 * Clients recognise a refusal by the vendors' words and codes; the test searches for them as the
 * clients' code does.
 */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { answerWhole } from './hostile/fake-upstream.ts'
import { startFront } from './hostile/front.ts'
import { sendTo } from './hostile/send.ts'

const WINDOW = 100
const front = await startFront({
  upstream: { context_window: WINDOW },
  sections: {
    rate_limits: {
      default: { requests_per_minute: 6000, burst: 1000, concurrent_requests: 16 },
    },
  },
})
after(() => front.stop())
beforeEach(() => {
  front.upstream.reply = answerWhole
})

const LONG = 'word '.repeat(400)
const messages = (content: string) => [{ role: 'user', content }]

type Look = (status: number, message: string, body: string) => boolean

/** Searches an answer as the code of each client does. */
const CHAT: Readonly<Record<string, Look>> = {
  'LangChain for Python, first releases': (_, __, body) => body.includes('context_length_exceeded'),
  'LangChain for Python': (_, message) => message.includes('prompt is too long'),
  'LangChain for Node': (_, message) => message.includes('maximum context length'),
  'LiteLLM and aider': (_, message) =>
    message.toLowerCase().includes("this model's maximum context length is"),
  'Pydantic AI': (_, message) =>
    /maximum context length|reduce the length of the messages/.test(message.toLowerCase()),
  'the page of the gateway': (_, message) =>
    message.includes(`maximum context length is ${WINDOW} tokens`) &&
    message.includes('reduce the length of the messages'),
}
const MESSAGES: Readonly<Record<string, Look>> = {
  'Claude Code': (status, message) => status === 400 && message.startsWith('prompt is too long'),
  'LangChain and LiteLLM': (_, message) => message.includes('prompt is too long'),
  'Pydantic AI': (_, message, body) =>
    message.toLowerCase().includes('prompt is too long') &&
    JSON.parse(body).error.type === 'invalid_request_error',
  'the page of the gateway': CHAT['the page of the gateway'] as Look,
}

const TOO_LONG: readonly (readonly [string, object, Readonly<Record<string, Look>>])[] = [
  ['/v1/chat/completions', { messages: messages(LONG) }, CHAT],
  ['/v1/responses', { input: LONG }, CHAT],
  ['/v1/completions', { prompt: LONG }, CHAT],
  ['/v1/embeddings', { input: LONG }, CHAT],
  ['/v1/messages', { max_tokens: 9, messages: messages(LONG) }, MESSAGES],
]

async function ask(path: string, body: object, headers = {}) {
  const sent = { path, headers, body: JSON.stringify({ model: 'chat', ...body }) }
  const { status, text } = await sendTo(front, sent)
  return { status, text, error: JSON.parse(text).error }
}

for (const [path, body, looks] of TOO_LONG) {
  test(`clients recognise a prompt that is too long for the gateway: ${path}`, async () => {
    const { status, text, error } = await ask(path, body)
    assert.equal(status, 400, text)
    for (const [who, look] of Object.entries(looks))
      assert.ok(look(status, error.message, text), `${who}: ${text}`)
    const code = path === '/v1/messages' ? error.details.error_code : error.code
    assert.equal(code, 'ERR_GW_CONTEXT_OVERFLOW')
  })
}

for (const [path, body, looks] of TOO_LONG.filter(([path]) =>
  /chat|messages|responses/.test(path),
)) {
  test(`clients recognise a prompt that the upstream refuses as too long: ${path}`, async () => {
    front.upstream.reply = (_asked, outgoing) => {
      const message = 'The context window is full.'
      const refusal = {
        error: { message, type: 'invalid_request_error', code: 'context_length_exceeded' },
      }
      outgoing.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(refusal))
    }
    const short = JSON.parse(JSON.stringify(body).replaceAll(LONG, 'hi'))
    const { status, text, error } = await ask(path, short)
    assert.equal(status, 400, text)
    assert.match(error.message, /The context window is full\./)
    for (const [who, look] of Object.entries(looks))
      assert.ok(look(status, error.message, text), `${who}: ${text}`)
  })
}

test("OpenAI's own codes appear beside those of the gateway", async () => {
  const found = await ask('/v1/chat/completions', { model: 'nowhere', messages: messages('hi') })
  assert.deepEqual(
    [found.error.code, found.error.openai_code],
    ['ERR_GW_ROUTE_NOT_FOUND', 'model_not_found'],
  )
  const authorization = 'Bearer wrong'
  const known = await ask('/v1/chat/completions', { messages: messages('hi') }, { authorization })
  assert.deepEqual(
    [known.error.code, known.error.openai_code],
    ['ERR_GW_AUTH_INVALID_KEY', 'invalid_api_key'],
  )
  const path = await ask('/v1/nowhere', {})
  assert.equal('openai_code' in path.error, false)
  for (const [code, openAi] of [
    ['rate_limit_exceeded', 'rate_limit_exceeded'],
    ['insufficient_quota', 'insufficient_quota'],
  ]) {
    front.upstream.reply = (_asked, outgoing) => {
      const refusal = { error: { message: 'no', type: code, code } }
      outgoing.writeHead(429, { 'content-type': 'application/json' }).end(JSON.stringify(refusal))
    }
    const { error } = await ask('/v1/chat/completions', { messages: messages('hi') })
    assert.deepEqual([error.code, error.openai_code], ['ERR_GW_UPSTREAM_RATE_LIMIT', openAi])
  }
})
