/** Streams: what may still happen before the first content, and how they end. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import {
  after as afterwards,
  errorOf,
  event,
  eventsOf,
  failing,
  type Reply,
  silent,
  startFront,
  startUpstream,
  streaming,
  USAGE,
  whole,
  wordsOf,
} from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'

const [first, second] = await Promise.all([startUpstream(), startUpstream()])
const upstreams = [
  { name: 'first', endpoint: first.url },
  { name: 'second', endpoint: second.url },
  // Enough time for several heartbeats, even if one is late.
  { name: 'hasty', endpoint: first.url, timeout_seconds: 4 },
]
const front = await startFront({
  gateway: { sse: { heartbeat_seconds: 1 } },
  upstreams,
  routes: [
    { name: 'chat', strategy: 'single', primary: 'first' },
    { name: 'pair', strategy: 'primary_with_fallback', primary: 'first', fallback: ['second'] },
    { name: 'hasty', strategy: 'single', primary: 'hasty' },
    {
      name: 'hasty-pair',
      strategy: 'primary_with_fallback',
      primary: 'hasty',
      fallback: ['second'],
    },
  ],
})
after(() => Promise.all([front.process.stop(), first.close(), second.close()]))

beforeEach(() => {
  first.reply = streaming()
  second.reply = streaming({ words: ['sec', 'ond'] })
  for (const upstream of [first, second]) upstream.asked.length = 0
})

const BEATS = /^(?:: keepalive\n)+/

test('a stream names its upstream and forbids buffering', async () => {
  const heard = await front.stream()
  assert.equal(heard.status, 200)
  assert.partialDeepStrictEqual(heard.headers, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
    'x-gw-route': 'chat',
    'x-gw-upstream': 'first',
  })
  assert.equal(wordsOf(heard), 'hello')
  assert.equal(heard.cut, false)
})

test('the gateway requests usage from the upstream, and shows it to clients that asked for it', async () => {
  const unasked = await front.stream()
  assert.doesNotMatch(unasked.text, /usage/)
  assert.deepEqual(first.asked[0]?.body.stream_options, { include_usage: true })
  const asked = eventsOf(await front.stream({ stream_options: { include_usage: true } }))
  assert.deepEqual(asked.at(-2).usage, USAGE)
  assert.deepEqual(asked.at(-2).choices, [])
  assert.equal(asked.at(-1), '[DONE]')
  const { prompt_tokens, completion_tokens } = await front.trace(unasked)
  assert.deepEqual([prompt_tokens, completion_tokens], [7, 3])
})

test('the content type of a stream is recognised in any spelling', async () => {
  for (const type of ['Text/Event-Stream', 'text/event-stream;charset=utf-8']) {
    first.reply = (outgoing, asked) => {
      const writeHead = outgoing.writeHead.bind(outgoing)
      outgoing.writeHead = (status: number) => writeHead(status, { 'content-type': type })
      return streaming()(outgoing, asked)
    }
    assert.equal(wordsOf(await front.stream()), 'hello', type)
  }
})

test('[DONE] is added if the upstream omitted it, and appears once', async () => {
  for (const done of [true, false]) {
    first.reply = streaming({ done })
    const heard = await front.stream()
    assert.equal(heard.text.split('data: [DONE]\n\n').length, 2)
    assert.ok(heard.text.endsWith('data: [DONE]\n\n'))
    assert.equal(heard.cut, false)
  }
})

for (const [what, ending] of Object.entries({
  'a connection that closes': { end: 'cut' },
  'an end without a finish reason': { finish: false, done: false },
  'an error event': { end: 'error' },
} as const)) {
  test(`${what} after content causes an error event and a cut, and no other upstream gets the request`, async () => {
    const moment = Promise.withResolvers<void>()
    first.reply = streaming({ hold: moment.promise, ...ending })
    const asking = front.ask({ model: 'pair', stream: true })
    await until('the first word arrives', () => asking.text().includes('hel'))
    moment.resolve()
    const heard = await asking.over
    assert.equal(heard.status, 200)
    assert.equal(heard.cut, true)
    assert.ok('hello'.startsWith(wordsOf(heard)))
    const { error } = eventsOf(heard).at(-1)
    assert.equal(error.code, 'ERR_GW_STREAM_ABORTED')
    assert.equal(error.request_id, heard.headers['x-request-id'])
    assert.equal(error.param, null)
    assert.doesNotMatch(heard.text, /\[DONE\]/)
    assert.equal(second.asked.length, 0)
    assert.partialDeepStrictEqual(await front.trace(heard), {
      status: 499,
      code: 'ERR_GW_STREAM_ABORTED',
    })
  })
}

const BEFORE: Readonly<Record<string, Reply>> = {
  'an error event under 200': streaming({
    words: [],
    before: `${event({ choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] })}`,
    end: 'error',
  }),
  'an error status': failing(500),
  'an answer that is not a stream': whole(),
  'an error object under 200': failing(200),
  'a stream without events': streaming({ words: [], finish: false, done: false }),
  'a connection that closes after a role': streaming({
    words: [],
    before: event({ choices: [{ index: 0, delta: { role: 'assistant' } }] }),
    end: 'cut',
  }),
}

for (const [what, reply] of Object.entries(BEFORE)) {
  test(`${what} before any content fails over, and returns a status if there is no fallback`, async () => {
    first.reply = reply
    const spilled = await front.stream({ model: 'pair' })
    assert.equal(spilled.headers['x-gw-upstream'], 'second')
    assert.equal(wordsOf(spilled), 'second')
    assert.equal(spilled.cut, false)
    const alone = await front.stream()
    assert.equal(alone.status, 502)
    assert.equal(errorOf(alone).code, 'ERR_GW_UPSTREAM_ERROR')
    assert.equal(alone.headers['content-type'], 'application/json; charset=utf-8')
  })
}

test('heartbeats come before the first token, after a head that names no upstream', async () => {
  const moment = Promise.withResolvers<void>()
  first.reply = afterwards(moment.promise, streaming())
  const asking = front.ask({ stream: true })
  await until('a heartbeat comes', () => asking.text().startsWith(': keepalive\n'))
  const head = await asking.head
  assert.equal(head.statusCode, 200)
  assert.equal(head.headers['x-gw-route'], 'chat')
  assert.ok(!('x-gw-upstream' in head.headers))
  moment.resolve()
  const heard = await asking.over
  assert.equal(wordsOf(heard), 'hello')
  assert.equal(heard.cut, false)
})

test('heartbeats also come between tokens, never within an event', async () => {
  const moment = Promise.withResolvers<void>()
  first.reply = streaming({ hold: moment.promise })
  const asking = front.ask({ stream: true })
  await until('two heartbeats come', () => asking.text().split(': keepalive\n').length >= 3)
  moment.resolve()
  const { text, headers } = await asking.over
  assert.equal(headers['x-gw-upstream'], 'first')
  const blocks = text.replaceAll(': keepalive\n', '').split('\n\n')
  for (const block of blocks.filter(Boolean)) assert.match(block, /^data: (\{.*\}|\[DONE\])$/)
})

test('failover still works after a heartbeat', async () => {
  first.reply = silent
  const heard = await front.stream({ model: 'hasty-pair' })
  assert.equal(heard.status, 200)
  assert.match(heard.text, BEATS)
  assert.equal(wordsOf(heard), 'second')
  assert.equal(heard.cut, false)
  assert.equal((await front.trace(heard)).upstream, 'second')
})

test('a final failure after a heartbeat is an error event with its own code and status', async () => {
  const series = 'gw_requests_total{route="hasty",upstream="hasty",status="504"}'
  const before = await front.value(series)
  first.reply = silent
  const heard = await front.stream({ model: 'hasty' })
  assert.equal(heard.status, 200)
  assert.equal(heard.cut, true)
  assert.match(heard.text, BEATS)
  assert.equal(eventsOf(heard).at(-1).error.code, 'ERR_GW_PROXY_TIMEOUT')
  assert.partialDeepStrictEqual(await front.trace(heard), {
    status: 504,
    code: 'ERR_GW_PROXY_TIMEOUT',
  })
  assert.equal((await front.value(series)) - before, 1)
})
