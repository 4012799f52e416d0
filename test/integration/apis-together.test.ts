/**
 * All APIs of one gateway share one key, rate, budget and list of models, and refuse requests in
 * the same way.
 */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { aKey } from '../helpers/a-key.ts'
import {
  event,
  type Reply,
  startFront,
  startUpstream,
  streaming,
  whole,
} from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'

type Fields = Readonly<Record<string, unknown>>

const shared = aKey({ id: 'shared', tenant: 'shared' })
const three = aKey({ id: 'three', tenant: 'three' })
const five = aKey({ id: 'five', tenant: 'five' })
const narrow = aKey({ id: 'narrow', tenant: 'narrow', routes: ['chat'] })
const upstream = await startUpstream()
const front = await startFront({
  upstreams: [
    { name: 'model', endpoint: upstream.url },
    { name: 'talker', provider: 'anthropic', endpoint: upstream.url, model: 'claude-m' },
    { name: 'vectors', endpoint: upstream.url, model: 'text-embedding-3-small' },
  ],
  routes: [
    { name: 'chat', strategy: 'single', primary: 'model' },
    { name: 'talk', strategy: 'single', primary: 'talker' },
    { name: 'vectors', strategy: 'single', primary: 'vectors' },
  ],
  rate_limits: {
    tenants: [
      { tenant: 'three', concurrent_requests: 3 },
      { tenant: 'five', requests_per_minute: 5, burst: 5 },
    ],
  },
  budgets: [{ tenant: 'shared', tokens_per_day: 1_000_000 }],
  api_keys: [shared, three, five, narrow].map(({ record }) => record),
})
after(() => Promise.all([front.process.stop(), upstream.close()]))

/** A minimal valid request of each API. */
const APIS: Readonly<Record<string, Fields>> = {
  '/v1/chat/completions': { messages: [{ role: 'user', content: 'hi' }], max_tokens: 9 },
  '/v1/responses': { input: 'hi', max_output_tokens: 16 },
  '/v1/messages': { messages: [{ role: 'user', content: 'hi' }], max_tokens: 9 },
  '/v1/embeddings': { input: 'hi' },
  '/v1/completions': { prompt: 'hi', max_tokens: 9 },
}
const PATHS = Object.keys(APIS)
const STREAMED = PATHS.filter((path) => path !== '/v1/embeddings')

const USAGE = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }

const reply: Reply = (outgoing, asked) => {
  const { path, body } = asked
  if (path.endsWith('/embeddings')) {
    const usage = { prompt_tokens: 10, total_tokens: 10 }
    const data = [{ object: 'embedding', index: 0, embedding: [0.5] }]
    outgoing.writeHead(200, { 'content-type': 'application/json' })
    outgoing.end(JSON.stringify({ object: 'list', model: 'm', data, usage }))
    return
  }
  if (path.endsWith('/v1/completions')) {
    const choices = [{ index: 0, text: 'hello', logprobs: null, finish_reason: 'stop' }]
    const answer = { id: 'c', object: 'text_completion', created: 1, model: 'm' }
    outgoing.writeHead(200, {
      'content-type': body.stream ? 'text/event-stream' : 'application/json',
    })
    if (!body.stream) return void outgoing.end(JSON.stringify({ ...answer, choices, usage: USAGE }))
    outgoing.write(event({ ...answer, choices }))
    outgoing.end(`${event({ ...answer, choices: [], usage: USAGE })}data: [DONE]\n\n`)
    return
  }
  return (body.stream ? streaming() : whole())(outgoing, asked)
}

beforeEach(() => {
  upstream.asked.length = 0
  upstream.reply = reply
})

async function post(
  path: string,
  key: string,
  body: Fields | string | Buffer,
  headers: Fields = {},
) {
  const answer = await fetch(front.process.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body:
      typeof body === 'string' || Buffer.isBuffer(body)
        ? new Uint8Array(Buffer.from(body))
        : JSON.stringify({ model: 'chat', ...APIS[path], ...body }),
  })
  const text = await answer.text()
  return { status: answer.status, headers: answer.headers, text }
}

const standing = async (tenant: string) => await front.admin(`/limits/${tenant}`)

async function untilIdle(tenant: string) {
  await until('nothing is held', async () => {
    const { concurrent_requests, tokens_per_day } = await standing(tenant)
    return concurrent_requests.used === 0 && (tokens_per_day?.reserved ?? 0) === 0
  })
}

test('all APIs spend one budget, and each answer and stream is charged once', async () => {
  const asked = [
    ...PATHS.map((path) => post(path, shared.key, {})),
    ...STREAMED.map((path) => post(path, shared.key, { stream: true })),
  ]
  for (const { status, text } of await Promise.all(asked)) assert.equal(status, 200, text)
  await untilIdle('shared')
  assert.equal((await standing('shared')).tokens_per_day.used, asked.length * 10)
})

test('all APIs share the slots of their tenant', async () => {
  const hold = Promise.withResolvers<void>()
  upstream.reply = async (outgoing, asked) => {
    await hold.promise
    await reply(outgoing, asked)
  }
  const running = PATHS.slice(0, 3).map((path) => post(path, three.key, {}))
  await until('three are running', () => upstream.asked.length === 3)
  for (const path of PATHS) assert.equal((await post(path, three.key, {})).status, 429, path)
  hold.resolve()
  for (const { status } of await Promise.all(running)) assert.equal(status, 200)
})

test('all APIs share the rate of their tenant', async () => {
  for (const path of PATHS) assert.equal((await post(path, five.key, {})).status, 200, path)
  for (const path of PATHS) assert.equal((await post(path, five.key, {})).status, 429, path)
})

const DECIDED: Readonly<Record<string, readonly string[]>> = {
  '/v1/responses': [
    'model',
    'stream',
    'max_output_tokens',
    'store',
    'previous_response_id',
    'conversation',
    'background',
  ],
  '/v1/messages': ['model', 'stream', 'max_tokens'],
  '/v1/embeddings': ['model', 'input'],
  '/v1/completions': ['model', 'prompt', 'stream', 'max_tokens', 'n', 'best_of', 'echo'],
  '/v1/chat/completions': ['model', 'messages', 'stream', 'max_tokens', 'n'],
}

test('a member that decides how a request is served may appear only once, in its exact spelling', async () => {
  for (const [path, names] of Object.entries(DECIDED)) {
    for (const name of names) {
      const rest = Object.entries({ model: 'chat', ...APIS[path] }).filter(([one]) => one !== name)
      const written = rest.map((pair) => pair.map((one) => JSON.stringify(one)).join(':'))
      const value = JSON.stringify({ model: 'chat', ...APIS[path] }[name] ?? null)
      for (const members of [
        [`"${name}":${value}`, `"${name}":${value}`],
        [`"${name}":${value}`, `"${name.toUpperCase()}":${value}`],
        [`"${name.replace(/^./, (first) => first.toUpperCase())}":${value}`],
      ]) {
        const { status, text } = await post(
          path,
          shared.key,
          `{${[...written, ...members].join()}}`,
        )
        assert.equal(status, 400, `${path} ${members.join()}`)
        assert.match(text, /ERR_GW_INVALID_REQUEST/)
      }
    }
  }
  assert.equal(upstream.asked.length, 0)
})

test('a compressed request is refused without unpacking it', async () => {
  const bomb = Buffer.alloc(64 * 1024 * 1024, 'a')
  for (const path of PATHS) {
    for (const [encoding, body] of [
      ['zstd', zstdCompressSync(bomb)],
      ['gzip', gzipSync(bomb, { level: 1 })],
    ] as const) {
      const { status } = await post(path, shared.key, body, { 'content-encoding': encoding })
      assert.equal(status, 415, `${path} ${encoding}`)
    }
  }
})

test('if a route lacks a model for an API, the refusal names both, in the dialect of the client', async () => {
  const vectors = await post('/v1/embeddings', shared.key, { model: 'talk' })
  assert.equal(vectors.status, 400)
  assert.match(JSON.parse(vectors.text).error.message, /talk.*embeddings|embeddings.*talk/)
  const texts = await post('/v1/completions', shared.key, { model: 'talk' })
  assert.equal(texts.status, 400)
  assert.match(JSON.parse(texts.text).error.message, /talk.*completions|completions.*talk/)
  for (const path of STREAMED) {
    const { status, text } = await post(path, shared.key, { model: 'vectors' })
    assert.equal(status, 400, path)
    const { type, error } = JSON.parse(text)
    assert.match(error.message, /"vectors" has no upstream for .*text-embedding-3-small/)
    assert.equal(type, path === '/v1/messages' ? 'error' : undefined)
  }
})

test('the list of models is the same for every client, and contains what the key may use', async () => {
  const list = async (key: string, query = '', headers: Fields = {}) => {
    const answer = await fetch(`${front.process.url}/v1/models${query}`, {
      headers: { authorization: `Bearer ${key}`, ...headers },
    })
    const { object, has_more, data } = JSON.parse(await answer.text())
    assert.deepEqual([answer.status, object, has_more], [200, 'list', false])
    return data.map(({ id }: Fields) => id)
  }
  for (const [query, headers] of [
    ['', {}],
    ['?client_version=0.169.0', {}],
    ['?limit=1000', { 'anthropic-version': '2023-06-01' }],
    ['?after_id=chat&limit=1', { 'anthropic-version': '2023-06-01' }],
  ] as const) {
    assert.deepEqual(await list(narrow.key, query, headers), ['chat'])
    assert.deepEqual(await list(shared.key, query, headers), ['chat', 'talk', 'vectors'])
  }
})
