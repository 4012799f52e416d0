/**
 * POST /v1/embeddings through a gateway process, between the official SDK and scripted upstreams.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import OpenAI from 'openai'
import { fromBase64, toBase64 } from '../../dataplane/json/vectors.ts'
import { failing, type Reply, startFront, startUpstream } from '../helpers/fake-upstream.ts'

type Fields = Readonly<Record<string, unknown>>

const VECTOR = [0.5, -0.25, 1, 0]
const TOKENS = 7

/** Answers as OpenAI does, in the requested encoding or always in one. */
function embedding(form?: 'float' | 'base64', usage: Fields | null = {}): Reply {
  return (outgoing, { body }) => {
    const vector = body.dimensions === 2 ? VECTOR.slice(0, 2) : VECTOR
    const written = (form ?? body.encoding_format) === 'base64' ? toBase64(vector) : vector
    const counts = { prompt_tokens: TOKENS, total_tokens: TOKENS, ...usage }
    const data = [body.input]
      .flat()
      .map((_, index) => ({ object: 'embedding', index, embedding: written }))
    outgoing.writeHead(200, { 'content-type': 'application/json' })
    outgoing.end(
      JSON.stringify({ object: 'list', data, model: 'served', ...(usage && { usage: counts }) }),
    )
  }
}

const upstream = await startUpstream(embedding())
const spare = await startUpstream(embedding())
const front = await startFront({
  upstreams: [
    { name: 'hosted', endpoint: upstream.url },
    { name: 'spare', endpoint: spare.url },
    {
      name: 'small',
      provider: 'vllm',
      endpoint: upstream.url,
      context_window: 100,
      health_check: { path: '/ok' },
    },
    { name: 'talker', provider: 'anthropic', endpoint: upstream.url },
  ],
  routes: [
    { name: 'vectors', strategy: 'single', primary: 'hosted' },
    {
      name: 'safe',
      strategy: 'primary_with_fallback',
      primary: 'hosted',
      fallback: ['spare'],
    },
    { name: 'short', strategy: 'single', primary: 'small' },
    { name: 'mixed', strategy: 'round_robin', upstreams: ['talker', 'spare'] },
    { name: 'words', strategy: 'single', primary: 'talker' },
  ],
  pricing: [{ model: 'served', input: 10, output: 1000 }],
  budgets: [{ tenant: 'acme', tokens_per_day: 1_000_000 }],
})
after(() => Promise.all([front.process.stop(), upstream.close(), spare.close()]))

const client = new OpenAI({
  apiKey: front.key,
  baseURL: `${front.process.url}/v1`,
  maxRetries: 0,
})

async function post(body: unknown) {
  const answer = await fetch(`${front.process.url}/v1/embeddings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' },
    body:
      typeof body === 'string' ? body : JSON.stringify({ model: 'vectors', ...(body as Fields) }),
  })
  const json = JSON.parse(await answer.text())
  return { status: answer.status, headers: answer.headers, json, error: json.error }
}

for (const form of ['float', 'base64'] as const) {
  test(`the SDK reads the exact vectors of an upstream that answers in ${form}`, async () => {
    upstream.script.push(embedding(form), embedding(form))
    const asked = await client.embeddings.create({ model: 'vectors', input: ['one', 'two'] })
    assert.deepEqual(
      asked.data.map((one) => one.embedding),
      [VECTOR, VECTOR],
    )
    assert.deepEqual(asked.usage, { prompt_tokens: TOKENS, total_tokens: TOKENS })
    const floats = { model: 'vectors', input: 'one', encoding_format: 'float' } as const
    assert.deepEqual((await client.embeddings.create(floats)).data[0]?.embedding, VECTOR)
  })
}

test('a client that asks for base64 or floats gets that encoding', async () => {
  for (const form of ['float', 'base64'] as const) {
    for (const asked of ['float', 'base64', undefined]) {
      upstream.script.push(embedding(form))
      const { json } = await post({ input: 'one', encoding_format: asked })
      const { embedding: read } = json.data[0]
      if (asked === 'base64') assert.deepEqual(Array.from(fromBase64(read)!), VECTOR)
      else assert.deepEqual(read, VECTOR)
    }
  }
})

test('only the model of a request changes, and the bytes of an answer pass unchanged', async () => {
  const sent = '{ "input" : ["ä", "b"],\n"model": "vectors", "dimensions":2, "user":"u" }'
  const { json } = await post(sent)
  assert.deepEqual(json.data[0].embedding, [0.5, -0.25])
  const { path, body, headers } = upstream.asked.at(-1)!
  assert.equal(path, '/v1/embeddings')
  assert.deepEqual(body, { input: ['ä', 'b'], model: 'served', dimensions: 2, user: 'u' })
  assert.equal(headers.authorization, 'Bearer upstream-credential')
})

test('token numbers reach only an API with the same tokens', async () => {
  assert.equal((await post({ input: [[1, 2], [3]] })).status, 200)
  assert.deepEqual(upstream.asked.at(-1)?.body.input, [[1, 2], [3]])
  const before = upstream.asked.length
  const { status, error } = await post({ model: 'short', input: [1, 2] })
  assert.deepEqual([status, error.code, error.param], [400, 'ERR_GW_INVALID_REQUEST', 'input'])
  assert.match(error.message, /vllm/)
  assert.equal(upstream.asked.length, before)
})

test('an invalid request is refused by name and reaches no upstream', async () => {
  const before = upstream.asked.length
  const wrong: readonly (readonly [Fields, string])[] = [
    [{}, 'input'],
    [{ input: '' }, 'input'],
    [{ input: [] }, 'input'],
    [{ input: 7 }, 'input'],
    [{ input: ['a', ''] }, 'input[1]'],
    [{ input: ['a', 7] }, 'input[1]'],
    [{ input: [1, 'a'] }, 'input'],
    [{ input: [[1], []] }, 'input[1]'],
    [{ input: [[-1]] }, 'input[0]'],
    [{ input: Array(2049).fill('a') }, 'input'],
    [{ input: 'a', dimensions: 0 }, 'dimensions'],
    [{ input: 'a', encoding_format: 'int8' }, 'encoding_format'],
  ]
  for (const [body, param] of wrong) {
    const { status, error } = await post(body)
    assert.deepEqual([status, error.code, error.param], [400, 'ERR_GW_INVALID_REQUEST', param])
  }
  for (const body of [
    '{"model":"vectors","input":"a","input":"b"}',
    '{"model":"vectors","Input":"a"}',
  ])
    assert.equal((await post(body)).status, 400)
  assert.equal(upstream.asked.length, before)
})

test('each input must fit the context window, not their sum', async () => {
  const many = await post({ model: 'short', input: Array(20).fill('x'.repeat(100)) })
  assert.equal(many.status, 200)
  const before = upstream.asked.length
  const { status, error } = await post({ model: 'short', input: ['a', 'x'.repeat(500), 'b'] })
  assert.deepEqual([status, error.code, error.param], [400, 'ERR_GW_CONTEXT_OVERFLOW', 'input[1]'])
  assert.equal(upstream.asked.length, before)
})

test('an input that only the upstream finds too long is refused by name', async () => {
  upstream.script.push(failing(400, { code: 'context_length_exceeded' }))
  const { status, error } = await post({ input: 'a' })
  assert.deepEqual([status, error.code, error.param], [400, 'ERR_GW_CONTEXT_OVERFLOW', 'input'])
})

test('vectors with other dimensions than requested are refused', async () => {
  const { status, error } = await post({ input: 'a', dimensions: 3 })
  assert.deepEqual([status, error.code], [502, 'ERR_GW_UPSTREAM_ERROR'])
})

test('the largest allowed number of vectors arrives as numbers, and a larger one is refused', async () => {
  const digits = (numbers: number) => `[${Array(numbers).fill('0.0123').join()}]`
  const answering = (vectors: number, numbers: number): Reply => {
    const data = Array.from(
      { length: vectors },
      (_, index) => `{"object":"embedding","index":${index},"embedding":${digits(numbers)}}`,
    )
    return (outgoing) => {
      outgoing.writeHead(200, { 'content-type': 'application/json' })
      outgoing.end(
        `{"object":"list","model":"m","data":[${data.join()}],"usage":{"prompt_tokens":1,"total_tokens":1}}`,
      )
    }
  }
  upstream.script.push(answering(2_048, 1_536))
  const { status, json } = await post({ input: Array(2_048).fill('a') })
  assert.deepEqual(
    [status, json.data.length, json.data[2_047].embedding.length],
    [200, 2_048, 1_536],
  )
  upstream.script.push(answering(1, 1_100_000))
  assert.equal((await post({ input: 'a' })).status, 502)
})

test('the next upstream answers for a failed one, and its answer is complete', async () => {
  upstream.script.push(failing(500))
  const { status, headers, json } = await post({ model: 'safe', input: ['a', 'b'] })
  assert.deepEqual([status, headers.get('x-gw-upstream'), json.data.length], [200, 'spare', 2])
})

test('an upstream without embeddings is skipped, and a route with only such upstreams refuses', async () => {
  for (let turn = 0; turn < 2; turn++) {
    const { headers } = await post({ model: 'mixed', input: 'a' })
    assert.equal(headers.get('x-gw-upstream'), 'spare')
  }
  const { status, error } = await post({ model: 'words', input: 'a' })
  assert.equal(status, 400)
  assert.match(error.message, /anthropic/)
})

/** Twelve digits in two texts, as the gateway estimates them. */
const WEIGHT = 6

test('the tokens of the inputs are charged and traced, and estimated if the upstream reports none', async () => {
  const series = 'gw_tokens_total{route="vectors",upstream="hosted",kind="prompt"}'
  const completion = 'gw_tokens_total{route="vectors",upstream="hosted",kind="completion"}'
  const spent = 'gw_budget_tokens_used{tenant="acme",window="day"}'
  const [tokens, budget] = [await front.value(series), await front.value(spent)]
  upstream.script.push(embedding('float', null))
  const counted = await post({ input: ['12345678', '1234'] })
  assert.deepEqual(counted.json.usage, { prompt_tokens: 3, total_tokens: 3 })
  const trace = await front.admin(`/traces/${counted.headers.get('x-request-id')}`)
  assert.deepEqual(
    [trace.path, trace.prompt_tokens, trace.completion_tokens, trace.usage_estimated],
    ['/v1/embeddings', WEIGHT, 0, true],
  )
  await post({ input: 'a' })
  assert.equal(trace.operation, 'embeddings')
  const timed =
    'gw_request_duration_seconds_count{route="vectors",upstream="hosted",operation="embeddings"}'
  assert.ok((await front.value(timed)) > 0)
  assert.equal(await front.value(series), tokens + WEIGHT + TOKENS)
  assert.equal(await front.value(completion), 0)
  assert.equal(await front.value(spent), budget + WEIGHT + TOKENS)
})
