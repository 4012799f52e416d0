/** Batches of embeddings that exceed an upstream's bound: several calls, one answer, one budget. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import OpenAI, { APIError } from 'openai'
import { failing, type Reply, startFront, startUpstream } from '../helpers/fake-upstream.ts'

const TOKENS = 100

/** Each text is a number, which is its vector. */
const embedding: Reply = (outgoing, { body }) => {
  const texts = body.texts as readonly string[]
  const float = texts.map((text) => [Number(text), 1])
  const meta = { billed_units: { input_tokens: TOKENS } }
  outgoing.writeHead(200, { 'content-type': 'application/json' })
  outgoing.end(JSON.stringify({ id: 'e', embeddings: { float }, meta }))
}

const [upstream, spare] = await Promise.all([startUpstream(embedding), startUpstream(embedding)])
const front = await startFront({
  upstreams: [
    { name: 'cohere', provider: 'cohere', endpoint: upstream.url },
    { name: 'spare', provider: 'cohere', endpoint: spare.url },
    {
      name: 'titan',
      provider: 'bedrock',
      region: 'eu-central-1',
      model: 'amazon.titan-embed-text-v2:0',
      endpoint: upstream.url,
    },
  ],
  routes: [
    { name: 'vectors', strategy: 'single', primary: 'cohere' },
    { name: 'safe', strategy: 'primary_with_fallback', primary: 'cohere', fallback: ['spare'] },
    { name: 'titan', strategy: 'single', primary: 'titan' },
  ],
})
after(() => Promise.all([front.process.stop(), upstream.close(), spare.close()]))
beforeEach(() => {
  for (const one of [upstream, spare]) {
    one.asked.length = 0
    one.script.length = 0
  }
})

const client = new OpenAI({
  apiKey: front.key,
  baseURL: `${front.process.url}/v1`,
  maxRetries: 0,
})
const numbers = (count: number) => Array.from({ length: count }, (_, at) => String(at))
const spent = async (route: string, name: string) =>
  await front.value(`gw_tokens_total{route="${route}",upstream="${name}",kind="prompt"}`)

test("a batch above the upstream's bound gets one answer, in its order", async () => {
  const before = await spent('vectors', 'cohere')
  const answer = await client.embeddings.create({ model: 'vectors', input: numbers(200) })
  assert.deepEqual(
    upstream.asked.map(({ body }) => (body.texts as unknown[]).length),
    [96, 96, 8],
  )
  assert.deepEqual(
    answer.data.map(({ index, embedding: [first] }) => [index, first]),
    numbers(200).map((text) => [Number(text), Number(text)]),
  )
  assert.equal(answer.usage.prompt_tokens, 3 * TOKENS)
  assert.equal(await spent('vectors', 'cohere'), before + 3 * TOKENS)
})

test('a batch that fails half-way fails completely, and finished calls are charged', async () => {
  const before = await spent('vectors', 'cohere')
  upstream.script.push(embedding, failing(500))
  const error = await client.embeddings
    .create({ model: 'vectors', input: numbers(200) })
    .catch((reason: unknown) => reason)
  assert.ok(error instanceof APIError)
  assert.equal(error.status, 502)
  assert.equal(await spent('vectors', 'cohere'), before + TOKENS)
})

test('the next upstream gets the whole batch', async () => {
  upstream.script.push(embedding, failing(500))
  const answer = await client.embeddings.create({ model: 'safe', input: numbers(100) })
  assert.equal(answer.data.length, 100)
  assert.deepEqual(
    spare.asked.map(({ body }) => (body.texts as unknown[]).length),
    [96, 4],
  )
  assert.equal(await spent('safe', 'cohere'), TOKENS)
  assert.equal(await spent('safe', 'spare'), 2 * TOKENS)
})

test('a batch that needs too many calls is refused by name and reaches no upstream', async () => {
  const error = await client.embeddings
    .create({ model: 'titan', input: numbers(65) })
    .catch((reason: unknown) => reason)
  assert.ok(error instanceof APIError)
  assert.equal(error.status, 400)
  assert.equal(error.param, 'input')
  assert.match(error.message, /bedrock.*send at most 64 texts/)
  assert.equal(upstream.asked.length, 0)
})
