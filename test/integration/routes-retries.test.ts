/**
 * When attempts start: what Retry-After requests, what the timeouts allow, and which windows are
 * large enough.
 */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import {
  errorOf,
  type FakeUpstream,
  failing,
  silent,
  startFront,
  startUpstream,
  streaming,
  whole,
} from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'

type Up = FakeUpstream
/** One for each name. */
type Eight = [Up, Up, Up, Up, Up, Up, Up, Up]

const names = ['a', 'b', 'slow', 'spare', 'small', 'large', 'mute', 'idle'] as const
const started = await Promise.all(names.map((name) => startUpstream(whole(name))))
const [a, b, slow, spare, small, large, mute, idle] = started as Eight
const twice = { max_attempts: 2, initial_delay_ms: 1 }
const front = await startFront({
  upstreams: [
    { name: 'a', endpoint: a.url },
    { name: 'b', endpoint: b.url },
    { name: 'slow', endpoint: slow.url, timeout_seconds: 1 },
    { name: 'stalls', endpoint: slow.url, idle_timeout_seconds: 1 },
    { name: 'spare', endpoint: spare.url },
    { name: 'mute', endpoint: mute.url },
    { name: 'idle', endpoint: idle.url, circuit_breaker: { failure_threshold: 1 } },
    { name: 'small', endpoint: small.url, context_window: 100 },
    { name: 'large', endpoint: large.url, context_window: 1000 },
  ],
  routes: [
    { name: 'respects', strategy: 'single', primary: 'a', retry: twice },
    {
      name: 'ignores',
      strategy: 'single',
      primary: 'a',
      retry: { ...twice, respect_retry_after: false },
    },
    {
      name: 'cools',
      strategy: 'primary_with_fallback',
      primary: 'b',
      fallback: ['spare'],
      retry: { ...twice, max_attempts: 3 },
    },
    { name: 'waits', strategy: 'single', primary: 'slow', retry: twice },
    { name: 'stalls', strategy: 'single', primary: 'stalls', retry: twice },
    {
      name: 'ceiling',
      strategy: 'primary_with_fallback',
      primary: 'mute',
      fallback: ['idle'],
      timeout_seconds: 1,
    },
    { name: 'windows', strategy: 'primary_with_fallback', primary: 'small', fallback: ['large'] },
    { name: 'turns', strategy: 'round_robin', upstreams: ['small', 'large'] },
  ],
})
after(() => Promise.all([front.process.stop(), ...started.map((one) => one.close())]))

beforeEach(() => {
  for (const [index, upstream] of started.entries()) {
    upstream.asked.length = 0
    upstream.script.length = 0
    upstream.reply = whole(names[index])
  }
})

async function timed<T>(work: () => Promise<T>): Promise<{ result: T; milliseconds: number }> {
  const began = performance.now()
  const result = await work()
  return { result, milliseconds: performance.now() - began }
}

const later = (seconds: string) => failing(503, {}, { 'retry-after': seconds })

test('the gateway waits for a short Retry-After before the retry', async () => {
  a.script.push(later('1'))
  const { result, milliseconds } = await timed(() => front.chat({ model: 'respects' }))
  assert.equal(result.status, 200)
  assert.equal(a.asked.length, 2)
  assert.ok(milliseconds >= 995, `${milliseconds} ms`)
})

test('the gateway does not wait for a Retry-After that is not respected', async () => {
  // The wait takes two seconds every time; a busy machine is slow only sometimes.
  await until('an answer comes sooner than a wait would end', async () => {
    a.script.push(later('2'))
    const { result, milliseconds } = await timed(() => front.chat({ model: 'ignores' }))
    assert.equal(result.status, 200)
    return milliseconds < 2000
  })
})

test('a long Retry-After ends the request if there is no other upstream', async () => {
  a.script.push(failing(429, {}, { 'retry-after': '30' }))
  const heard = await front.chat({ model: 'respects' })
  assert.equal(heard.status, 429)
  assert.equal(heard.headers['retry-after'], '30')
  assert.equal(a.asked.length, 1)
})

test('after a long Retry-After another upstream gets the request, and this one comes last for that time', async () => {
  b.script.push(later('30'))
  assert.equal((await front.chat({ model: 'cools' })).headers['x-gw-upstream'], 'spare')
  assert.equal(b.asked.length, 1)
  assert.equal((await front.chat({ model: 'cools' })).headers['x-gw-upstream'], 'spare')
  assert.equal(b.asked.length, 1)
  // Last, but not excluded.
  spare.script.push(failing(404))
  assert.equal((await front.chat({ model: 'cools' })).headers['x-gw-upstream'], 'b')
})

test("silence causes a 504 after the upstream's timeout, and no retry there", async () => {
  slow.reply = silent
  for (const stream of [false, true]) {
    slow.asked.length = 0
    const { result, milliseconds } = await timed(() => front.chat({ model: 'waits', stream }))
    assert.equal(result.status, 504)
    assert.equal(errorOf(result).code, 'ERR_GW_PROXY_TIMEOUT')
    assert.match(errorOf(result).message, /"slow".*within 1 s/)
    assert.equal(slow.asked.length, 1)
    assert.ok(milliseconds > 995, `${milliseconds} ms`)
    await until('the upstream sees that the gateway disconnected', () => slow.abandoned >= 1)
  }
})

test('silence in the middle of an answer that is not a stream causes a 504', async () => {
  slow.reply = (outgoing) =>
    void outgoing.writeHead(200, { 'content-type': 'application/json' }).write('{"choices"')
  const heard = await front.chat({ model: 'stalls' })
  assert.equal(heard.status, 504)
  assert.match(errorOf(heard).message, /nothing for 1 s/)
})

test('silence in the middle of a stream cuts it', async () => {
  slow.reply = streaming({ hold: new Promise(() => {}) })
  const heard = await front.stream({ model: 'stalls' })
  assert.equal(heard.cut, true)
  assert.match(heard.text, /ERR_GW_STREAM_ABORTED/)
})

test("after the route's timeout no fallback gets the request, and no upstream is blamed", async () => {
  mute.reply = silent
  const heard = await front.chat({ model: 'ceiling' })
  assert.equal(heard.status, 504)
  assert.match(errorOf(heard).message, /request timeout/)
  assert.equal(idle.asked.length, 0)
  assert.equal(await front.value('gw_breaker_state{upstream="idle",state="open"}'), 0)
})

const prompt = (characters: number) => [{ role: 'user', content: 'x'.repeat(characters) }]

test('a prompt that exceeds every window is refused with the numbers, and reaches no upstream', async () => {
  const heard = await front.chat({ model: 'windows', messages: prompt(4000), max_tokens: 5 })
  assert.equal(heard.status, 400)
  const { prompt_tokens, max_tokens, context_window, ...shown } = errorOf(heard)
  assert.partialDeepStrictEqual(shown, {
    code: 'ERR_GW_CONTEXT_OVERFLOW',
    param: 'messages',
    type: 'invalid_request_error',
  })
  assert.deepEqual([max_tokens, context_window], [5, 1000])
  assert.ok(prompt_tokens >= 1000 && prompt_tokens < 1100)
  for (const number of [prompt_tokens, max_tokens, context_window])
    assert.match(shown.message, new RegExp(`\\b${number}\\b`))
  assert.equal(small.asked.length + large.asked.length, 0)
})

test('max_tokens counts towards the window', async () => {
  assert.equal(
    (await front.chat({ model: 'windows', max_tokens: 50 })).headers['x-gw-upstream'],
    'small',
  )
  assert.equal(
    (await front.chat({ model: 'windows', max_tokens: 500 })).headers['x-gw-upstream'],
    'large',
  )
  assert.equal((await front.chat({ model: 'windows', max_completion_tokens: 5000 })).status, 400)
})

test('upstreams whose window is too small are skipped', async () => {
  for (const model of ['windows', 'turns', 'turns']) {
    const heard = await front.chat({ model, messages: prompt(2000) })
    assert.equal(heard.headers['x-gw-upstream'], 'large')
    assert.deepEqual((await front.trace(heard)).passed_over, [
      { upstream: 'small', why: 'context window too small' },
    ])
  }
})

test('a prompt that the upstream finds too long moves only to a larger window', async () => {
  const tooLong = failing(400, { code: 'context_length_exceeded', message: 'Too long.' })
  small.script.push(tooLong)
  assert.equal((await front.chat({ model: 'windows' })).headers['x-gw-upstream'], 'large')
  large.reply = tooLong
  small.reply = tooLong
  const heard = await front.chat({ model: 'windows' })
  assert.equal(errorOf(heard).code, 'ERR_GW_CONTEXT_OVERFLOW')
  small.asked.length = 0
  large.asked.length = 0
  // Two turns begin at either upstream; the large one has no larger alternative.
  for (const _ of [1, 2]) assert.equal((await front.chat({ model: 'turns' })).status, 400)
  assert.equal(small.asked.length + large.asked.length, 3 - 1)
})
