/** Conversations that OpenAI stores, available only to the tenant that created them. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, beforeEach, test } from 'node:test'
import OpenAI, { APIError } from 'openai'
import { aKey } from '../helpers/a-key.ts'
import { startFront } from '../helpers/fake-upstream.ts'

interface Seen {
  readonly asked: string
  // biome-ignore lint/suspicious/noExplicitAny: read like a server without types reads.
  readonly body: any
}

const seen: Seen[] = []
const RAW = 'conv_upstream'
const item = { id: 'msg_1', type: 'message', role: 'user', status: 'completed', content: [] }
const list = { object: 'list', data: [item], first_id: 'msg_1', last_id: 'msg_1', has_more: false }
const conversation = { id: RAW, object: 'conversation', created_at: 1, metadata: { topic: 'x' } }
const USAGE = { input_tokens: 7, output_tokens: 3, total_tokens: 10 }
const answered = {
  id: 'resp_upstream',
  object: 'response',
  created_at: 1,
  model: 'served',
  status: 'completed',
  error: null,
  output: [],
  usage: USAGE,
  conversation: { id: RAW },
}

function answerTo({ asked }: Seen): readonly [number, object] {
  if (asked.includes('gone')) return [404, { error: { message: 'Not found.' } }]
  if (asked.startsWith('DELETE') && !asked.includes('/items'))
    return [200, { id: RAW, object: 'conversation.deleted', deleted: true }]
  if (asked.includes('/responses')) return [200, answered]
  if (asked.startsWith('GET') && asked.includes('/items/')) return [200, item]
  if (asked.includes('/items') && !asked.startsWith('DELETE')) return [200, list]
  return [200, conversation]
}

let lacks = false
const server = createServer(async (incoming, outgoing) => {
  const text = Buffer.concat(await Array.fromAsync<Buffer>(incoming)).toString()
  const { method = '', url = '' } = incoming
  // Probes and requests about the model.
  if (!/conversations|responses/.test(url)) return void outgoing.end('{}')
  const one = { asked: `${method} ${url}`, body: text === '' ? undefined : JSON.parse(text) }
  seen.push(one)
  const [status, answer] = lacks ? [404, { error: { message: 'No path.' } }] : answerTo(one)
  outgoing.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const mine = aKey({ id: 'mine', tenant: 'a', routes: ['home', 'runtime'] })
const wide = aKey({ id: 'wide', tenant: 'a' })
const second = aKey({ id: 'second', tenant: 'a', routes: ['second'] })
const theirs = aKey({ id: 'theirs', tenant: 'c', routes: ['home'] })
const limited = aKey({ id: 'limited', tenant: 'b', routes: ['home'] })
const none = aKey({ id: 'none', tenant: 'a', routes: ['runtime'] })
const listing = aKey({ id: 'listing', tenant: 'a', scopes: ['models:list'] })
const native = ['responses']
const front = await startFront({
  upstreams: [
    { name: 'home', endpoint, native },
    { name: 'other', endpoint, native },
    { name: 'runtime', provider: 'vllm', endpoint, native },
  ],
  routes: [
    { name: 'home', strategy: 'single', primary: 'home' },
    { name: 'second', strategy: 'single', primary: 'other' },
    { name: 'both', strategy: 'primary_with_fallback', primary: 'other', fallback: ['home'] },
    { name: 'runtime', strategy: 'single', primary: 'runtime' },
  ],
  rate_limits: {
    tenants: [
      { tenant: 'a', requests_per_minute: 6000 },
      { tenant: 'b', requests_per_minute: 60, burst: 3 },
    ],
  },
  gateway: { max_request_bytes: 100_000 },
  api_keys: [mine, wide, second, theirs, limited, none, listing].map(({ record }) => record),
})
after(async () => {
  await front.process.stop()
  server.closeAllConnections()
  server.close()
})

const baseURL = `${front.process.url}/v1`
const clientOf = (apiKey: string) => new OpenAI({ apiKey, baseURL, maxRetries: 0 })
const client = clientOf(mine.key)
const said = { type: 'message' as const, role: 'user' as const, content: 'hi' }

beforeEach(() => {
  seen.length = 0
  lacks = false
})

async function refusal(asked: PromiseLike<unknown>): Promise<APIError> {
  const error = await Promise.resolve(asked).then(
    () => assert.fail('It was not refused.'),
    (reason) => reason,
  )
  assert.ok(error instanceof APIError, String(error))
  return error
}

test('a conversation is created, read, changed, extended, listed and deleted by its id', async () => {
  const made = await client.conversations.create({ items: [said], metadata: { topic: 'x' } })
  assert.match(made.id, /^conv_gw/)
  assert.deepEqual(made.metadata, { topic: 'x' })
  const { id } = made
  assert.equal((await client.conversations.retrieve(id)).id, id)
  assert.equal((await client.conversations.update(id, { metadata: { topic: 'y' } })).id, id)
  const added = await client.conversations.items.create(id, { items: [said] })
  assert.equal(added.data.length, 1)
  const listed = await client.conversations.items.list(id, { limit: 2, order: 'asc' })
  assert.equal(listed.data.length, 1)
  const one = await client.conversations.items.retrieve('msg_1', { conversation_id: id })
  assert.equal(one.id, 'msg_1')
  const left = await client.conversations.items.delete('msg_1', { conversation_id: id })
  assert.equal(left.id, id)
  const gone = await client.conversations.delete(id)
  assert.deepEqual([gone.id, gone.deleted], [id, true])
  assert.deepEqual(
    seen.map(({ asked }) => asked),
    [
      'POST /v1/conversations',
      `GET /v1/conversations/${RAW}`,
      `POST /v1/conversations/${RAW}`,
      `POST /v1/conversations/${RAW}/items`,
      `GET /v1/conversations/${RAW}/items?limit=2&order=asc`,
      `GET /v1/conversations/${RAW}/items/msg_1`,
      `DELETE /v1/conversations/${RAW}/items/msg_1`,
      `DELETE /v1/conversations/${RAW}`,
    ],
  )
  assert.deepEqual(
    [0, 2, 3].map((at) => seen[at]?.body),
    [{ items: [said], metadata: { topic: 'x' } }, { metadata: { topic: 'y' } }, { items: [said] }],
  )
})

test('a response continues a conversation at the upstream that stores it', async () => {
  const { id } = await client.conversations.create()
  for (const asked of [id, { id }]) {
    const { data, response } = await clientOf(wide.key)
      .responses.create({ model: 'both', input: 'hi', conversation: asked })
      .withResponse()
    assert.deepEqual(data.conversation, { id })
    assert.match(data.id, /^resp_gw/)
    assert.equal(response.headers.get('x-gw-upstream'), 'home')
    assert.equal(seen.at(-1)?.body.conversation, RAW)
    const ways = clientOf(wide.key)
    const read = await ways.responses.retrieve(data.id)
    // Each route has a separate id for it.
    const again = await ways.conversations.retrieve(read.conversation?.id ?? '')
    assert.deepEqual(again.metadata, { topic: 'x' })
  }
  const output = { type: 'function_call_output', call_id: 'before', output: '1' } as const
  await client.responses.create({ model: 'home', input: [output], conversation: id })
  const two = { model: 'home', input: 'hi', conversation: id, previous_response_id: 'resp_1' }
  assert.equal((await refusal(client.responses.create(two))).param, 'conversation')
  const elsewhere = { model: 'second', input: 'hi', conversation: id }
  assert.equal(
    (await refusal(clientOf(wide.key).responses.create(elsewhere))).param,
    'conversation',
  )
})

test('a key with several routes that store conversations must name one', async () => {
  const { conversations } = clientOf(wide.key)
  const unnamed = await refusal(conversations.create())
  assert.deepEqual([unnamed.status, unnamed.param], [400, 'model'])
  assert.match(unnamed.message, /home, second, both/)
  const { id } = await conversations.create({ model: 'second' } as object)
  assert.deepEqual(seen.at(-1)?.body, {})
  const elsewhere = clientOf(second.key).conversations
  assert.equal((await elsewhere.retrieve(id)).id, id)
  const keepsNone = await refusal(conversations.create({ model: 'runtime' } as object))
  assert.deepEqual([keepsNone.status, keepsNone.param], [400, 'model'])
  const unknown = await refusal(client.conversations.create({ model: 'second' } as object))
  assert.equal(unknown.status, 403)
})

test('without a route that stores conversations there are no conversations', async () => {
  const error = await refusal(clientOf(none.key).conversations.create())
  assert.deepEqual([error.status, error.code], [404, 'ERR_GW_ROUTE_NOT_FOUND'])
  assert.match(error.message, /is not offered/)
  lacks = true
  const lacking = await refusal(client.conversations.create())
  assert.deepEqual([lacking.status, lacking.param], [400, 'model'])
})

test('a conversation of another tenant or route and an invented id get the same 404', async () => {
  const { id } = await client.conversations.create()
  const { id: kept } = await client.responses.create({ model: 'home', input: 'hi', store: true })
  const changed = `${id.slice(0, -1)}${id.endsWith('A') ? 'B' : 'A'}`
  const disguised = `conv${kept.slice(4)}`
  const count = seen.length
  const words = new Set<string>()
  for (const [key, asked] of [
    [theirs.key, id],
    [second.key, id],
    ['unknown', id],
    [mine.key, changed],
    [mine.key, disguised],
    [mine.key, RAW],
  ] as const) {
    const ways = clientOf(key).conversations
    const errors = [
      await refusal(ways.retrieve(asked)),
      await refusal(ways.delete(asked)),
      await refusal(ways.update(asked, { metadata: {} })),
      await refusal(ways.items.list(asked)),
      await refusal(ways.items.create(asked, { items: [said] })),
      await refusal(ways.items.delete('msg_1', { conversation_id: asked })),
    ]
    for (const error of errors) {
      assert.equal(error.status, 404)
      words.add(error.message.replace(/^.* is not there/, ''))
    }
    if (key === 'unknown') continue
    const model = key === second.key ? 'second' : 'home'
    const next = { model, input: 'hi', conversation: asked }
    const refused = await refusal(clientOf(key).responses.create(next))
    assert.deepEqual([refused.status, refused.param], [400, 'conversation'])
  }
  assert.deepEqual([...words], [': this gateway keeps no such conversation.'])
  assert.equal(seen.length, count)
})

test("items that name an account's objects, and bodies that are too large, reach no upstream", async () => {
  const { id } = await client.conversations.create()
  const count = seen.length
  const file = { type: 'input_image', file_id: 'file-1', detail: 'auto' }
  for (const [wrong, param] of [
    [{ type: 'item_reference', id: 'msg_1' }, 'items[0].type'],
    [{ ...said, content: [file] }, 'items[0].content[0].file_id'],
    [{ type: 'computer_call_output', call_id: 'c', output: file }, 'items[0]'],
  ] as const) {
    const items = [wrong] as never
    assert.equal((await refusal(client.conversations.create({ items }))).param, param)
    assert.equal((await refusal(client.conversations.items.create(id, { items }))).param, param)
  }
  const many = { items: 'x' } as never
  assert.equal((await refusal(client.conversations.items.create(id, many))).param, 'items')
  const long = { items: [{ ...said, content: 'x'.repeat(100_000) }] }
  assert.equal((await refusal(client.conversations.items.create(id, long))).status, 413)
  assert.equal((await refusal(clientOf(listing.key).conversations.create())).status, 403)
  assert.equal(seen.length, count)
})

test('each call about a conversation counts towards the request rate', async () => {
  const { conversations } = clientOf(limited.key)
  const { id } = await conversations.create()
  await conversations.retrieve(id)
  await conversations.items.create(id, { items: [said] })
  const error = await refusal(conversations.items.list(id))
  assert.deepEqual([error.status, error.code], [429, 'ERR_GW_RATE_LIMIT_LOCAL'])
})
