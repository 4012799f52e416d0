/** The official SDKs request vectors and legacy completions from a real model server. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import OpenAI from 'openai'
import { aKey } from '../helpers/a-key.ts'
import { startGateway } from '../helpers/gateway-process.ts'
import { PYTHON, startModelServer } from '../helpers/model/model-server.ts'

const { key, record } = aKey()
const server = await startModelServer({ pooling: 'mean' })
const gateway = await startGateway({
  config: {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayConfig',
    gw: {
      upstreams: [{ name: 'real', provider: 'llamacpp', endpoint: server.url, model: 'tiny' }],
      routes: [{ name: 'vectors', strategy: 'single', primary: 'real' }],
      api_keys: [record],
    },
  },
})
after(() => Promise.all([gateway.stop(), server.stop()]))

const client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
const TEXTS = ['hello', 'w001 w002']
const asked = { model: 'vectors', input: TEXTS }
/** The model server's own answer. */
const { data, usage } = await new OpenAI({
  apiKey: 'none',
  baseURL: `${server.url}/v1`,
}).embeddings.create({ ...asked, encoding_format: 'float' })
const own = data.map(({ embedding }) => embedding)

async function vectorsOf(answer: PromiseLike<OpenAI.CreateEmbeddingResponse>): Promise<number[][]> {
  return (await answer).data.map(({ embedding }) => embedding)
}

/** The server writes fewer digits than a float has. */
function assertSame(vectors: readonly (readonly number[])[]): void {
  assert.deepEqual(
    vectors.map(({ length }) => length),
    own.map(({ length }) => length),
  )
  for (const [text, vector] of vectors.entries()) {
    for (const [place, number] of vector.entries())
      assert.ok(Math.abs(number - own[text]![place]!) < 1e-6, `${text}: ${place}`)
  }
}

test("Node gets the model's vectors in both forms, with the tokens of all texts", async () => {
  assertSame(await vectorsOf(client.embeddings.create(asked)))
  for (const encoding_format of ['float', 'base64'] as const) {
    const answer = await client.embeddings.create({ ...asked, encoding_format })
    assert.deepEqual(answer.usage, usage)
    if (encoding_format === 'float') assertSame(answer.data.map(({ embedding }) => embedding))
  }
})

test('dimensions that the model server ignores are refused', async () => {
  const shorter = client.embeddings.create({ ...asked, dimensions: own[0]!.length - 1 })
  await assert.rejects(shorter, (error) => error instanceof OpenAI.InternalServerError)
  const same = { ...asked, dimensions: own[0]!.length }
  assertSame(await vectorsOf(client.embeddings.create(same)))
})

test('several prompts with several choices are streamed to their ends', async () => {
  const stream = await client.completions.create({
    model: 'vectors',
    prompt: TEXTS,
    n: 2,
    max_tokens: 2,
    stream: true,
    stream_options: { include_usage: true },
  })
  const chunks = await Array.fromAsync(stream)
  const ends = chunks.flatMap(({ choices }) => choices).filter((one) => one.finish_reason)
  assert.deepEqual(ends.map(({ index }) => index).toSorted(), [0, 1, 2, 3])
  assert.deepEqual(
    chunks.flatMap(({ usage }) => usage?.completion_tokens ?? []),
    [8],
  )
})

test('log probabilities have the form of legacy completions, in whole answers and in streams', async () => {
  const asked = { model: 'vectors', prompt: 'hello', max_tokens: 3, logprobs: 2 }
  const whole = (await client.completions.create(asked)).choices[0]?.logprobs
  const tokens = ['w001 ', 'w002 ', 'w003 ']
  assert.deepEqual([whole?.tokens, whole?.text_offset], [tokens, [0, 5, 10]])
  assert.deepEqual(whole?.token_logprobs, [0, 0, 0])
  for (const [at, top] of (whole?.top_logprobs ?? []).entries())
    assert.deepEqual([Object.keys(top).length, top[tokens[at]!]], [2, 0])
  const streamed = { ...asked, stream: true, n: 2 } as const
  const chunks = await Array.fromAsync(await client.completions.create(streamed))
  const pieces = chunks.flatMap(({ choices }) => choices)
  for (const index of [0, 1]) {
    const own = pieces.filter((one) => one.index === index).map(({ logprobs }) => logprobs)
    assert.deepEqual(
      own.flatMap((one) => one?.tokens ?? []),
      tokens,
    )
    assert.deepEqual(
      own.flatMap((one) => one?.text_offset ?? []),
      [0, 5, 10],
    )
  }
  const none = (await client.completions.create({ ...asked, logprobs: 0 })).choices[0]?.logprobs
  assert.deepEqual(none?.top_logprobs, [{ 'w001 ': 0 }, { 'w002 ': 0 }, { 'w003 ': 0 }])
})

test('Python gets the same', async () => {
  const script = join(import.meta.dirname, 'python/vectors.py')
  const { stdout } = await promisify(execFile)(PYTHON, [script, `${gateway.url}/v1`, key])
  const seen = JSON.parse(stdout)
  for (const { vectors, tokens } of [seen.by_default, seen.as_floats]) {
    assertSame(vectors)
    assert.equal(tokens, usage.prompt_tokens)
  }
  assert.deepEqual(seen.streamed, { text: 'w001 w002 w003 ', usages: [] })
  assert.deepEqual(seen.streamed_with_usage, { text: 'w001 w002 w003 ', usages: [3] })
})
