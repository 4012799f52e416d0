/** A runtime that counts with its tokenizer: its requests, their answers, and the estimate if it does not answer. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { openPool } from '../../../dataplane/connection/client.ts'
import { UpstreamCounter } from '../../../dataplane/tokens/exact/upstream-counter.ts'
import { RuntimeTokenizer } from '../../../dataplane/upstream/live/runtime-tokenizer.ts'
import { aRequest } from '../../helpers/providers/a-request.ts'
import { assemble } from '../assembled-gateway.ts'

type Answer = readonly [status: number, body: unknown]
let answers: Readonly<Record<string, Answer>> = {}
const asked: { path: string; method: string | undefined; headers: object; body: object }[] = []

const runtime = createServer(async (incoming: IncomingMessage, outgoing) => {
  const { url: path = '', method, headers } = incoming
  const text = Buffer.concat(await Array.fromAsync(incoming)).toString()
  const body = text === '' ? {} : JSON.parse(text)
  asked.push({ path, method, headers, body })
  const [status, answer] = answers[body.messages === undefined ? `${path} plain` : path] ?? [
    404,
    {},
  ]
  outgoing.writeHead(status).end(JSON.stringify(answer))
})
runtime.listen(0, '127.0.0.1')
await once(runtime, 'listening')
after(() => runtime.close())

function tokenizerOf(provider: string) {
  const { port } = runtime.address() as AddressInfo
  const endpoint = `http://127.0.0.1:${port}/base/v1`
  const upstream = { name: 'one', provider, endpoint, model: 'm', context_window: 1000 }
  const routes = [{ name: 'chat', strategy: 'single', primary: 'one' }]
  const { snapshot } = assemble({ upstreams: [upstream], routes }).gateway.active
  const settings = snapshot.upstreams.get('one') ?? assert.fail('There is no upstream.')
  const pool = openPool(settings, snapshot.section, 1)
  after(() => pool.destroy())
  const tokenizer = new RuntimeTokenizer(pool, 60_000)
  return (request = aRequest()) => tokenizer.count(request.body, { ...settings, credential: 's3' })
}

/** One text `Hi` and its role, with four tokens around the message and two before the answer. */
const FORMS = [
  ['vllm', 'POST', '/base/tokenize', { count: 12, tokens: [1], max_model_len: 9 }, 12],
  ['sglang', 'POST', '/base/v1/tokenize', { count: 12, tokens: [1], max_model_len: 9 }, 12],
  ['sglang', 'POST', '/base/v1/tokenize plain', { count: 2, tokens: [1, 2] }, 2 + 6],
  ['tgi', 'GET', '/base/chat_tokenize', { tokenize_response: [{}, {}, {}], templated_text: '' }, 3],
  ['tgi', 'POST', '/base/tokenize plain', [{ id: 1, text: 'a', start: 0, stop: 1 }], 1 + 6],
  ['llamacpp', 'POST', '/base/v1/chat/completions/input_tokens', { input_tokens: 12 }, 12],
  ['llamacpp', 'POST', '/base/tokenize plain', { tokens: [7, 8, 9] }, 3 + 6],
] as const

for (const [provider, method, path, answer, tokens] of FORMS) {
  test(`${provider} counts by ${method} ${path}`, async () => {
    answers = { [path]: [200, answer] }
    assert.equal(await tokenizerOf(provider)(), tokens)
    assert.partialDeepStrictEqual(asked.at(-1), { method, headers: { authorization: 'Bearer s3' } })
  })
}

test('a build that supports only plain texts gets only these from then on', async () => {
  answers = { '/base/tokenize plain': [200, { tokens: [7, 8, 9] }] }
  const count = tokenizerOf('llamacpp')
  const before = asked.length
  await count()
  await count()
  assert.deepEqual(
    asked.slice(before).map(({ path }) => path),
    ['/base/v1/chat/completions/input_tokens', '/base/tokenize', '/base/tokenize'],
  )
})

test('tools are sent with the conversation', async () => {
  answers = { '/base/tokenize': [200, { count: 5 }] }
  const tools = [{ type: 'function', function: { name: 'weather' } }]
  await tokenizerOf('vllm')(aRequest({ tools }))
  assert.partialDeepStrictEqual(asked.at(-1)?.body, { tools })
})

test('a failure has its reason, and causes no second request', async () => {
  answers = { '/base/v1/tokenize': [500, {}] }
  const before = asked.length
  assert.equal(await tokenizerOf('sglang')(), '/v1/tokenize answered with 500')
  assert.equal(asked.length, before + 1)
  answers = { '/base/tokenize': [200, { count: 'many' }] }
  assert.equal(await tokenizerOf('vllm')(), '/tokenize answered without a count')
})

test('a prompt is estimated while the runtime fails, and the runtime is not called for a while', async () => {
  let now = 0
  let questions = 0
  let answer: number | string = 'broken'
  const counter = new UpstreamCounter(
    async () => {
      questions++
      return answer
    },
    { now: () => now },
  )
  for (let times = 0; times < 8; times++)
    assert.equal((await counter.count(aRequest())).exact, false)
  assert.equal(questions, 5)
  assert.equal(counter.whyEstimated, 'broken')
  now = 5_000
  answer = 12
  assert.deepEqual(await counter.count(aRequest()), { tokens: 12, exact: true })
  assert.equal(counter.whyEstimated, undefined)
})

test('running calls are bounded: a prompt beyond them is estimated at once', async () => {
  const { promise, resolve } = Promise.withResolvers<number>()
  const counter = new UpstreamCounter(() => promise, { now: () => 0 })
  const waiting = Array.from({ length: 64 }, () => counter.count(aRequest()))
  const beyond = counter.count(aRequest())
  assert.ok(!(beyond instanceof Promise) && !beyond.exact)
  resolve(9)
  for (const one of waiting) assert.equal((await one).exact, true)
})
