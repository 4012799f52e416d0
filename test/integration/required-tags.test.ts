/**
 * Tags that a gateway requires: a request without one is refused in every API, in that API's shape, and costs nothing;
 * endpoints without a cost need none.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI, { BadRequestError } from 'openai'
import { aKey } from '../helpers/a-key.ts'
import { startFront, startUpstream, streaming } from '../helpers/fake-upstream.ts'
import { gw } from '../helpers/gw-here.ts'
import { sdkError } from '../helpers/sdk-error.ts'
import { open } from './websocket/raw-client.ts'

type Fields = Readonly<Record<string, unknown>>
interface Refusal {
  readonly request_id: string
  readonly error: {
    readonly message: string
    readonly code: string
    readonly request_id: string
    readonly missing_tags: readonly string[]
  }
}

const CODE = 'ERR_GW_TAG_REQUIRED'
const upstream = await startUpstream()
const plain = aKey({ id: 'plain' })
const blue = aKey({ id: 'blue', tags: { team: 'blue' } })
const both = aKey({ id: 'both', tags: { team: 'blue', feature: 'search' } })
/** Three requests, and no more for an hour. */
const few = aKey({ id: 'few', tenant: 'few' })
const front = await startFront({
  upstreams: [{ name: 'one', endpoint: upstream.url }],
  routes: [{ name: 'chat', strategy: 'single', primary: 'one' }],
  pricing: [{ model: 'served', input: 10, output: 20 }],
  rate_limits: {
    default: { requests_per_minute: 100_000, burst: 1000, concurrent_requests: 100 },
    tenants: [{ tenant: 'few', requests_per_minute: 1, burst: 3, concurrent_requests: 1 }],
  },
  budgets: [{ tenant: 'few', tokens_per_day: 1000, spend_per_month_usd: 1 }],
  api_keys: [plain, blue, both, few].map(({ record }) => record),
  usage: { tags: ['team', 'feature', 'free'], required_tags: ['team', 'feature'] },
})
after(() => Promise.all([front.process.stop(), upstream.close()]))

const { url } = front.process
const TAGGED = { 'x-gw-tags': 'team=red,feature=chat' }
const CHAT = { model: 'chat', messages: [{ role: 'user' as const, content: 'hi' }] }

async function post(path: string, body: Fields | FormData, headers: object = {}, { key } = plain) {
  const isForm = body instanceof FormData
  const answer = await fetch(url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      ...(!isForm && { 'content-type': 'application/json' }),
      ...headers,
    },
    body: isForm ? body : JSON.stringify(body),
  })
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Refusal }
}

function aRecording(): FormData {
  const form = new FormData()
  form.set('model', 'chat')
  form.set('file', new Blob(['RIFF']), 'speech.wav')
  return form
}

const OPENAI_PATHS: Readonly<Record<string, Fields | FormData>> = {
  '/v1/chat/completions': CHAT,
  '/v1/completions': { model: 'chat', prompt: 'hi' },
  '/v1/embeddings': { model: 'chat', input: 'hi' },
  '/v1/rerank': { model: 'chat', query: 'hi', documents: ['a'] },
  '/v1/responses': { model: 'chat', input: 'hi' },
  '/v1/responses/compact': { model: 'chat', input: 'hi' },
  '/v1/audio/transcriptions': aRecording(),
}
const SAYS =
  'This gateway requires the tag "team", and the request has none. Send the header "X-Gw-Tags: team=VALUE,feature=VALUE"; ' +
  'VALUE has up to 64 letters, digits and . _ : / @ -.'

for (const [path, body] of Object.entries(OPENAI_PATHS)) {
  test(`${path} without the tags is a 400 that names them and the header`, async () => {
    const before = upstream.asked.length
    const answer = await post(path, body)
    const { request_id, ...error } = answer.body.error
    assert.equal(answer.status, 400)
    assert.equal(answer.headers.get('x-should-retry'), 'false')
    assert.ok(request_id)
    assert.deepEqual(error, {
      ...{ message: SAYS, type: 'invalid_request_error', param: null, code: CODE },
      missing_tags: ['team', 'feature'],
    })
    assert.equal(upstream.asked.length, before)
  })
}

test('messages has the shape of its API, also for a stream', async () => {
  for (const stream of [false, true]) {
    const answer = await post('/v1/messages', { ...CHAT, max_tokens: 5, stream })
    assert.equal(answer.status, 400)
    const { request_id, ...rest } = answer.body
    assert.ok(request_id)
    assert.deepEqual(rest, {
      type: 'error',
      error: {
        ...{ type: 'invalid_request_error', message: SAYS },
        details: { error_code: CODE, missing_tags: ['team', 'feature'] },
      },
    })
  }
})

test("OpenAI's and Anthropic's SDKs see a bad request, and with the header an answer", async () => {
  const openai = new OpenAI({ apiKey: plain.key, baseURL: `${url}/v1` })
  for (const stream of [false, true]) {
    const error = await sdkError(
      openai.chat.completions.create({ ...CHAT, stream } as typeof CHAT),
      BadRequestError,
    )
    assert.deepEqual([error.status, error.code], [400, CODE])
  }
  const anthropic = new Anthropic({ apiKey: plain.key, baseURL: url })
  const message = { ...CHAT, max_tokens: 5 }
  const error = await sdkError(anthropic.messages.create(message), Anthropic.BadRequestError)
  assert.match(error.message, /requires the tag \\"team\\"/)
  const headers = TAGGED
  assert.ok(await openai.chat.completions.create(CHAT, { headers }))
  assert.ok(await anthropic.messages.create(message, { headers }))
})

test('key, header and body may each give a part of the tags', async () => {
  const metadata = { team: 'red', feature: 'chat' }
  const answers = [
    await post('/v1/chat/completions', CHAT, TAGGED),
    await post('/v1/chat/completions', { ...CHAT, metadata }),
    await post('/v1/chat/completions', { ...CHAT, metadata }, { 'x-gw-tags': 'team=blue' }),
    await post('/v1/chat/completions', CHAT, { 'x-gw-tags': 'feature=chat' }, blue),
    await post('/v1/chat/completions', CHAT, {}, both),
  ]
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 200, 200],
  )
  const { body } = await post('/v1/chat/completions', CHAT, {}, blue)
  assert.match(body.error.message, /requires the tag "feature", .* "X-Gw-Tags: feature=VALUE"/)
  assert.deepEqual(body.error.missing_tags, ['feature'])
})

test('a value that counts as invalid is no tag, and is named as such', async () => {
  for (const team of ['', 'a b', 'invalid', 'x'.repeat(65)]) {
    const answer = await post('/v1/chat/completions', CHAT, {
      'x-gw-tags': `team=${team},feature=chat`,
    })
    assert.equal(answer.status, 400)
    assert.match(answer.body.error.message, /"team", and its value in the request is not valid/)
    assert.deepEqual(answer.body.error.missing_tags, ['team'])
  }
})

test('a refusal takes no request, token, slot or money of the tenant, even of a large body', async () => {
  const large = { ...CHAT, user: 'x'.repeat(200_000) }
  for (let request = 0; request < 10; request++)
    assert.equal((await post('/v1/chat/completions', CHAT, {}, few)).body.error.code, CODE)
  for (let request = 0; request < 10; request++)
    assert.equal((await post('/v1/chat/completions', large, {}, few)).body.error.code, CODE)
  const usage = await fetch(`${url}/v1/usage`, { headers: { authorization: `Bearer ${few.key}` } })
  const { rows, limits } = (await usage.json()) as {
    rows: Fields[]
    limits: { budgets: { tokens_per_day: Fields; spend_per_month_usd: Fields }[] }
  }
  assert.deepEqual(rows, [])
  const [budget] = limits.budgets
  assert.deepEqual([budget?.tokens_per_day.used, budget?.spend_per_month_usd.used], [0, '0'])
  assert.equal(await front.value('gw_requests_in_flight{route="chat"}'), 0)
  // The question for the usage was the first of three requests.
  for (const status of [200, 200, 429])
    assert.equal((await post('/v1/chat/completions', CHAT, TAGGED, few)).status, status)
})

test('endpoints without a cost need no tags', async () => {
  const headers = { authorization: `Bearer ${plain.key}` }
  for (const path of ['/v1/models', '/v1/models/chat', '/v1/usage', '/v1/debug/echo-headers'])
    assert.equal((await fetch(url + path, { headers })).status, 200, path)
  assert.equal((await post('/v1/messages/count_tokens', CHAT)).status, 200)
  const input = { model: 'chat', input: 'hi' }
  assert.equal((await post('/v1/responses/input_tokens', input)).status, 200)
})

test('on a WebSocket a message is refused, one with metadata is answered, and a warm-up needs none', async () => {
  const client = await open({ url, headers: { authorization: `Bearer ${plain.key}` } })
  const [event] = await client.turn({ model: 'chat', input: 'hi' })
  assert.deepEqual([event?.type, event?.status, event?.error.code], ['error', 400, CODE])
  const warm = await client.turn({ model: 'chat', input: 'hi', generate: false })
  assert.equal(warm.at(-1)?.type, 'response.completed')
  const metadata = { team: 'red', feature: 'chat' }
  upstream.script.push(streaming())
  const last = (await client.turn({ model: 'chat', input: 'hi', metadata })).at(-1)
  assert.equal(last?.type, 'response.completed', client.shown())
  client.socket.destroy()
})

test('gw explain names the tags that the request has to bring', async () => {
  const explain = async ({ key }: { readonly key: string }) => {
    const where = ['--admin', front.process.adminUrl, '--route', 'chat', '--key', key]
    const { stdout } = await gw('explain', ...where)
    return stdout.split('\n').find((line) => line.startsWith('now: '))
  }
  const served = 'now: 200, by upstream one'
  assert.equal(await explain(plain), `${served}, if the request has the tags: team, feature`)
  assert.equal(await explain(blue), `${served}, if the request has the tags: feature`)
  assert.equal(await explain(both), served)
})

test('the log and the trace of a refusal have its code, and the tags that it had', async () => {
  const { headers } = await post('/v1/chat/completions', CHAT, { 'x-gw-tags': 'free=x' })
  const trace = await front.admin(`/traces/${headers.get('x-request-id')}`)
  assert.deepEqual(
    [trace.code, trace.status, trace.route, trace.tags, trace.attempts],
    [CODE, 400, 'chat', 'free=x', []],
  )
})
