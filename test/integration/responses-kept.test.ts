/** Responses that OpenAI stores, available only to the tenant that requested them. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, beforeEach, test } from 'node:test'
import OpenAI, { APIError } from 'openai'
import { aKey } from '../helpers/a-key.ts'
import { startFront } from '../helpers/fake-upstream.ts'

interface Seen {
  readonly method: string
  readonly path: string
  // biome-ignore lint/suspicious/noExplicitAny: read like a server without types reads.
  readonly body: any
}

const seen: Seen[] = []
const USAGE = {
  input_tokens: 7,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 3,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 10,
}
const text = { type: 'output_text', text: 'hello', annotations: [], logprobs: [] }
const message = {
  id: 'msg_1',
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [text],
}

function aResponse(members: object = {}): object {
  const given = {
    id: 'resp_upstream',
    object: 'response',
    created_at: 1,
    model: 'served',
    error: null,
  }
  return { ...given, status: 'completed', store: true, output: [message], usage: USAGE, ...members }
}

function answerTo({ method, path, body }: Seen): readonly [number, object] {
  if (path.endsWith('/compact'))
    return [
      200,
      {
        id: 'cmp_1',
        object: 'response.compaction',
        created_at: 1,
        output: [message],
        usage: USAGE,
      },
    ]
  if (path.includes('resp_gone')) return [404, { error: { message: 'Not found.' } }]
  if (path.includes('/input_items')) return [200, { object: 'list', data: [{ id: 'in_1' }] }]
  if (method === 'DELETE') return [200, { id: 'resp_upstream', object: 'response', deleted: true }]
  const previous_response_id =
    body?.previous_response_id ?? (method === 'GET' ? 'resp_before' : null)
  const isQueued = body?.background === true
  return [
    200,
    aResponse({
      previous_response_id,
      ...(isQueued && { status: 'queued', output: [], usage: null }),
      ...(path.endsWith('/cancel') && { status: 'cancelled' }),
    }),
  ]
}

/** Slow to begin if the prompt asks for it. */
function framesOf(members: object): string[] {
  const started = aResponse({ ...members, status: 'in_progress', output: [], usage: null })
  const place = { item_id: 'msg_1', output_index: 0, content_index: 0 }
  const item = { ...message, status: 'in_progress', content: [] }
  const events = [
    ['response.created', { response: started }],
    ['response.in_progress', { response: started }],
    ['response.output_item.added', { output_index: 0, item }],
    ['response.content_part.added', { ...place, part: { ...text, text: '' } }],
    ['response.output_text.delta', { ...place, delta: 'hello', logprobs: [] }],
    ['response.output_text.done', { ...place, text: 'hello', logprobs: [] }],
    ['response.content_part.done', { ...place, part: text }],
    ['response.output_item.done', { output_index: 0, item: message }],
    ['response.completed', { response: aResponse(members) }],
  ] as const
  return events.map(([type, rest], sequence_number) => {
    const data = JSON.stringify({ type, sequence_number, ...rest })
    return `event: ${type}\ndata: ${data}\n\n`
  })
}

let slow: Promise<void> | undefined
const server = createServer(async (incoming, outgoing) => {
  const body = Buffer.concat(await Array.fromAsync<Buffer>(incoming)).toString()
  const { method = '', url: path = '' } = incoming
  // Probes and requests about the model.
  if (!path.includes('/responses')) return void outgoing.end('{}')
  const asked = { method, path, body: body === '' ? undefined : JSON.parse(body) }
  seen.push(asked)
  if (asked.body?.stream === true) {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    outgoing.flushHeaders()
    await slow
    outgoing.end(framesOf({}).join(''))
    return
  }
  const [status, answer] = answerTo(asked)
  outgoing.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const mine = aKey({ id: 'mine', tenant: 'a' })
const narrow = aKey({ id: 'narrow', tenant: 'a', routes: ['second'] })
const theirs = aKey({ id: 'theirs', tenant: 'b' })
const poor = aKey({ id: 'poor', tenant: 'poor' })
const native = ['responses']
const front = await startFront({
  upstreams: [
    { name: 'home', endpoint, native },
    { name: 'other', endpoint, native },
    {
      name: 'azure',
      provider: 'azure_openai',
      endpoint,
      native,
      deployment: 'd',
      api_version: '2025-03-01-preview',
    },
    { name: 'runtime', provider: 'vllm', endpoint, native },
    { name: 'chat', endpoint },
  ],
  routes: [
    { name: 'home', strategy: 'single', primary: 'home' },
    { name: 'second', strategy: 'single', primary: 'other' },
    { name: 'both', strategy: 'primary_with_fallback', primary: 'other', fallback: ['home'] },
    { name: 'azure', strategy: 'single', primary: 'azure' },
    { name: 'runtime', strategy: 'single', primary: 'runtime' },
    { name: 'mixed', strategy: 'primary_with_fallback', primary: 'home', fallback: ['chat'] },
  ],
  gateway: { sse: { heartbeat_seconds: 1 } },
  budgets: [{ tenant: 'poor', tokens_per_day: 50 }],
  api_keys: [mine.record, narrow.record, theirs.record, poor.record],
})
after(async () => {
  await front.process.stop()
  server.closeAllConnections()
  server.close()
})

const baseURL = `${front.process.url}/v1`
const clientOf = (apiKey: string) => new OpenAI({ apiKey, baseURL, maxRetries: 0 })
const client = clientOf(mine.key)

beforeEach(() => {
  seen.length = 0
  slow = undefined
})

async function refusal(asked: PromiseLike<unknown>): Promise<APIError> {
  const error = await Promise.resolve(asked).then(
    () => assert.fail('It was not refused.'),
    (reason) => reason,
  )
  assert.ok(error instanceof APIError, String(error))
  return error
}

const stored = async (model = 'home') =>
  (await client.responses.create({ model, input: 'hi', store: true })).id

test('a response is stored if the client asks for it, and can be read, listed and deleted by its id', async () => {
  const id = await stored()
  assert.notEqual(id, 'resp_upstream')
  assert.equal(seen[0]?.body.store, true)
  const read = await client.responses.retrieve(id)
  assert.deepEqual([read.id, read.output_text], [id, 'hello'])
  assert.match(read.previous_response_id ?? '', /^resp_gw/)
  const items = await client.responses.inputItems.list(id, { limit: 5 })
  assert.equal(items.data.length, 1)
  await client.responses.delete(id)
  assert.deepEqual(
    seen.slice(1).map(({ method, path }) => `${method} ${path}`),
    [
      'GET /v1/responses/resp_upstream',
      'GET /v1/responses/resp_upstream/input_items?limit=5',
      'DELETE /v1/responses/resp_upstream',
    ],
  )
})

test('by default a response is not stored', async () => {
  await client.responses.create({ model: 'home', input: 'hi' })
  assert.equal(seen[0]?.body.store, false)
})

test('a response continues an earlier one, at the upstream that stores it', async () => {
  const id = await stored()
  const output = { type: 'function_call_output', call_id: 'call_before', output: '1' } as const
  const next = await client.responses.create({
    model: 'both',
    input: [output],
    previous_response_id: id,
  })
  assert.equal(next.previous_response_id, id)
  assert.deepEqual(seen[1]?.body.previous_response_id, 'resp_upstream')
  assert.equal('store' in (seen[1]?.body ?? {}), false)
  const { response } = await client.responses
    .create({ model: 'both', input: 'hi', previous_response_id: id })
    .withResponse()
  assert.equal(response.headers.get('x-gw-upstream'), 'home')
  const elsewhere = client.responses.create({
    model: 'second',
    input: 'hi',
    previous_response_id: id,
  })
  assert.equal((await refusal(elsewhere)).param, 'previous_response_id')
})

test('a stored stream has one id, even if it begins slowly', async () => {
  const moment = Promise.withResolvers<void>()
  slow = moment.promise
  const asked = { model: 'home', input: 'hi', store: true, stream: true }
  const answer = await fetch(`${baseURL}/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${mine.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(asked),
  })
  moment.resolve()
  const events = (await answer.text()).matchAll(/^data: (.+)$/gm)
  const ids = [...events].flatMap(([, data = '']) => JSON.parse(data).response?.id ?? [])
  assert.equal(new Set(ids).size, 1)
  assert.equal((await client.responses.retrieve(ids[0])).id, ids[0])
  slow = undefined
  const stream = client.responses.stream({ model: 'home', input: 'hi', store: true })
  assert.equal((await stream.finalResponse()).output_text, 'hello')
})

test('a background response is charged for its maximum, and cancelled by its id', async () => {
  const labels = 'route="home",upstream="home",kind="completion"'
  const before = await front.value(`gw_tokens_total{${labels}}`)
  const asked = { model: 'home', input: 'hi', background: true }
  const { id, status } = await client.responses.create({ ...asked, max_output_tokens: 100 })
  assert.equal(status, 'queued')
  assert.equal(await front.value(`gw_tokens_total{${labels}}`), before + 100)
  assert.equal((await client.responses.cancel(id)).status, 'cancelled')
  await client.responses.create(asked)
  assert.equal(seen.at(-1)?.body.max_output_tokens, 4096)
  const streamed = client.responses.create({ ...asked, stream: true })
  assert.equal((await refusal(streamed)).param, 'stream')
})

test('a response that has spent the budget can still be read', async () => {
  const { responses } = clientOf(poor.key)
  const asked = { model: 'home', input: 'hi', background: true, max_output_tokens: 100 }
  const { id } = await responses.create(asked)
  assert.equal((await refusal(responses.create(asked))).status, 402)
  assert.equal((await responses.retrieve(id)).id, id)
})

test('a response of another tenant or route and an invented id get the same 404', async () => {
  const id = await stored()
  const changed = `${id.slice(0, -1)}${id.endsWith('A') ? 'B' : 'A'}`
  const words = new Set<string>()
  const count = seen.length
  for (const [key, asked] of [
    [theirs.key, id],
    [narrow.key, id],
    ['unknown', id],
    [mine.key, changed],
    [mine.key, 'resp_upstream'],
    [mine.key, 'resp_gw'],
  ] as const) {
    const ways = clientOf(key).responses
    for (const way of ['retrieve', 'delete', 'cancel'] as const) {
      const error = await refusal(ways[way](asked))
      assert.equal(error.status, 404)
      words.add(error.message.replace(/^.* is not there/, ''))
    }
    const listed = await refusal(ways.inputItems.list(asked))
    words.add(listed.message.replace(/^.* is not there/, ''))
    if (key === 'unknown') continue
    const model = key === narrow.key ? 'second' : 'home'
    const next = await refusal(ways.create({ model, input: 'hi', previous_response_id: asked }))
    assert.deepEqual([next.status, next.param], [400, 'previous_response_id'])
  }
  assert.deepEqual([...words], [': this gateway does not store responses.'])
  assert.equal(seen.length, count)
})

test('azure keeps responses under its own paths', async () => {
  const id = await stored('azure')
  await client.responses.retrieve(id, { include: ['message.output_text.logprobs'] })
  const version = 'api-version=2025-03-01-preview'
  assert.deepEqual(
    seen.map(({ path }) => path),
    [
      `/openai/responses?${version}`,
      `/openai/responses/resp_upstream?${version}&include%5B%5D=message.output_text.logprobs`,
    ],
  )
})

test('a route with one upstream that stores nothing refuses by name', async () => {
  for (const model of ['mixed', 'runtime']) {
    for (const [param, value] of Object.entries({
      store: true,
      background: true,
      previous_response_id: 'resp_1',
      conversation: 'conv_1',
    })) {
      const asked = { model, input: 'hi', [param]: value } as never
      assert.equal((await refusal(client.responses.create(asked))).param, param)
    }
  }
  assert.equal(seen.length, 0)
})

test('every route refuses objects that belong to an account rather than to a tenant', async () => {
  for (const [param, value] of Object.entries({ prompt: { id: 'p' }, context_management: [] })) {
    const asked = { model: 'home', input: 'hi', [param]: value } as never
    assert.equal((await refusal(client.responses.create(asked))).param, param)
  }
  assert.equal(seen.length, 0)
})

test('streaming an existing response is refused by name', async () => {
  const id = await stored()
  const error = await refusal(client.responses.retrieve(id, { stream: true }))
  assert.deepEqual([error.status, error.param], [400, 'stream'])
})

test('a conversation is compacted if the upstream can, and otherwise refused', async () => {
  const input = [{ role: 'user' as const, content: 'hi' }]
  const made = await client.responses.compact({ model: 'home' as never, input })
  assert.deepEqual([made.id, made.object], ['cmp_1', 'response.compaction'])
  assert.deepEqual(
    [seen[0]?.path, seen[0]?.body],
    ['/v1/responses/compact', { model: 'served', input }],
  )
  const error = await refusal(client.responses.compact({ model: 'runtime' as never, input }))
  assert.deepEqual([error.status, error.param], [400, 'model'])
  assert.equal(seen.length, 1)
})
