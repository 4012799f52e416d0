/**
 * If a vendor's refusal names its cause, the gateway adapts the request and sends it again; later
 * requests are adapted at once.
 */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { failing, startFront, startUpstream, streaming, whole } from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'

const upstream = await startUpstream(whole('hello'))
const MODELS = ['one', 'two', 'three', 'four'] as const
const front = await startFront({
  upstreams: MODELS.map((model) => ({
    name: model,
    provider: 'openai',
    endpoint: upstream.url,
    model,
    circuit_breaker: { failure_threshold: 1 },
  })),
  routes: MODELS.map((name) => ({
    name,
    strategy: 'single',
    primary: name,
    retry: { max_attempts: 1 },
  })),
})
after(() => Promise.all([front.process.stop(), upstream.close()]))
beforeEach(() => {
  upstream.asked.splice(0)
  upstream.script.splice(0)
})

const refusal = (message: string, param: string) =>
  failing(400, { message, type: 'invalid_request_error', param, code: 'unsupported_value' })
const TEMPERATURE = refusal(
  "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
  'temperature',
)

async function upstreamOf(name: string) {
  const { upstreams } = await front.admin('/status')
  return upstreams.find((one: { name: string }) => one.name === name)
}

test('the first request takes two attempts and the second takes one, without the refused member', async () => {
  upstream.script.push(TEMPERATURE)
  const asked = { model: 'one', temperature: 0.2, seed: 7 }
  const first = await front.chat(asked)
  assert.equal(first.status, 200)
  assert.equal(first.headers['x-gw-dropped-parameters'], 'temperature')
  const second = await front.chat(asked)
  assert.equal(second.headers['x-gw-dropped-parameters'], 'temperature')
  assert.deepEqual(
    upstream.asked.map(({ body }) => [body.temperature, body.seed]),
    [
      [0.2, 7],
      [undefined, 7],
      [undefined, 7],
    ],
  )
  const { attempts } = await front.trace(first)
  assert.deepEqual(
    attempts.map(({ outcome }: { outcome: string }) => outcome),
    ['client', 'ok'],
  )
})

test('the repeat does not count as an upstream failure, its status shows the lesson, and the log contains it once', async () => {
  const { breaker, eligible, learnt } = await upstreamOf('one')
  assert.deepEqual([breaker, eligible, learnt], ['closed', true, ['refused: temperature']])
  assert.equal((await upstreamOf('two')).learnt, undefined)
  await until('the lesson is in the log', () => front.logged('lesson').length > 0)
  const lessons = front.logged('lesson').map(({ upstream: name, learnt: facts }) => [name, facts])
  assert.deepEqual(lessons, [['one', ['refused: temperature']]])
  const { upstreams } = await front.admin('/explain?model=one')
  assert.deepEqual(upstreams[0].learnt, ['refused: temperature'])
})

test('several refusals of one request each add a lesson', async () => {
  upstream.script.push(
    TEMPERATURE,
    refusal(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      'max_tokens',
    ),
  )
  const heard = await front.chat({ model: 'two', temperature: 0.2, max_tokens: 9 })
  assert.equal(heard.status, 200)
  const { body } = upstream.asked.at(-1) as (typeof upstream.asked)[number]
  assert.deepEqual(
    [upstream.asked.length, body.temperature, body.max_tokens, body.max_completion_tokens],
    [3, undefined, undefined, 9],
  )
})

test('a meaningful member is not left out: the client reads the refusal', async () => {
  upstream.script.push(
    refusal("Unsupported parameter: 'stop' is not supported with this model.", 'stop'),
  )
  const heard = await front.chat({ model: 'three', stop: ['x'] })
  assert.deepEqual([heard.status, upstream.asked.length], [400, 1])
  assert.match(heard.text, /'stop' is not supported/)
})

test('the gateway learns nothing if the adapted form is refused too', async () => {
  upstream.script.push(TEMPERATURE, refusal('The messages must alternate', 'messages'))
  const heard = await front.chat({ model: 'four', temperature: 0.2 })
  assert.deepEqual([heard.status, upstream.asked.length], [400, 2])
  assert.equal((await upstreamOf('four')).learnt, undefined)
})

test('a refusal of an absent member is not retried', async () => {
  upstream.script.push(TEMPERATURE)
  const heard = await front.chat({ model: 'four' })
  assert.deepEqual([heard.status, upstream.asked.length], [400, 1])
})

test('a stream is sent again before its first byte', async () => {
  upstream.script.push(TEMPERATURE, streaming())
  const heard = await front.stream({ model: 'three', temperature: 0.2 })
  assert.equal(heard.status, 200)
  assert.deepEqual(
    upstream.asked.map(({ body }) => [body.stream, body.temperature]),
    [
      [true, 0.2],
      [true, undefined],
    ],
  )
})
