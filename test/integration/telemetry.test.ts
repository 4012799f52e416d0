/** The log and the metrics after a scripted mix of requests. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  after as afterwards,
  failing,
  type Heard,
  startFront,
  startUpstream,
  streaming,
  whole,
} from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'

const [one, two] = await Promise.all([startUpstream(), startUpstream()])
const front = await startFront({
  upstreams: [
    {
      name: 'one',
      endpoint: one.url,
      max_queue_depth: 2,
      circuit_breaker: { failure_threshold: 3 },
    },
    { name: 'two', endpoint: two.url },
  ],
  routes: [
    { name: 'chat', strategy: 'single', primary: 'one' },
    {
      name: 'pair',
      strategy: 'primary_with_fallback',
      primary: 'one',
      fallback: ['two'],
      retry: { max_attempts: 3, initial_delay_ms: 1 },
    },
  ],
  aliases: { 'gpt-4o': 'chat' },
})
after(() => Promise.all([front.process.stop(), one.close(), two.close()]))

const lines = () => front.logged('request')
const heard: Record<string, Heard> = {}

/** One request after another, so that every number is known. */
async function mix(): Promise<void> {
  heard.whole = await front.chat()
  heard.alias = await front.chat({ model: 'gpt-4o' })
  one.script.push(streaming())
  heard.stream = await front.stream()
  one.script.push(failing(400))
  heard.refused = await front.chat()
  one.script.push(failing(500), failing(500))
  heard.spilled = await front.chat({ model: 'pair' })
  // A success, so that the breaker counts from zero.
  heard.calm = await front.chat()
  heard.stranger = await front.ask({}, { authorization: 'Bearer wrong' }).over
  heard.nowhere = await front.chat({ model: 'client-chosen-name' })
  const moment = Promise.withResolvers<void>()
  one.script.push(streaming({ hold: moment.promise, end: 'cut' }))
  const cut = front.ask({ stream: true })
  await until('the first word arrives', () => cut.text().includes('hel'))
  assert.equal(await front.value('gw_streams_open'), 1)
  assert.equal(await front.value('gw_requests_in_flight{route="chat"}'), 1)
  moment.resolve()
  heard.cut = await cut.over
  one.script.push(streaming({ hold: new Promise(() => {}) }))
  const leaving = front.ask({ stream: true })
  await until('the first word arrives', () => leaving.text().includes('hel'))
  leaving.leave()
  await until(
    'the client has disconnected',
    async () => (await front.value('gw_stream_aborted_total{by="client"}')) === 1,
  )
  await saturate()
  for (const _ of [1, 2, 3]) {
    one.script.push(failing(500))
    heard.failed = await front.chat()
  }
  heard.open = await front.chat()
}

/** Two requests fill the first upstream; the third goes to the second. */
async function saturate(): Promise<void> {
  const moment = Promise.withResolvers<void>()
  one.script.push(afterwards(moment.promise, whole()), afterwards(moment.promise, whole()))
  const before = one.asked.length
  const held = [front.ask(), front.ask()]
  await until('it is full', () => one.asked.length === before + 2)
  heard.shed = await front.chat()
  heard.overflown = await front.chat({ model: 'pair' })
  moment.resolve()
  await Promise.all(held.map(({ over }) => over))
}

await mix()
const REQUESTS = 18

test('every request is one line of JSON with its known facts', async () => {
  await until('all are logged', () => lines().length === REQUESTS)
  const lineOf = (name: string) =>
    lines().find((line) => line.request_id === heard[name]?.headers['x-request-id'])
  const caller = { tenant: 'acme', key: 'client', method: 'POST', path: '/v1/chat/completions' }
  const tokens = { prompt_tokens: 7, completion_tokens: 3 }
  const chat = { ...caller, model: 'chat', route: 'chat', upstream: 'one', attempts: 1 }
  assert.partialDeepStrictEqual(lineOf('whole'), {
    ...chat,
    ...tokens,
    status: 200,
    stream: false,
    level: 'info',
  })
  assert.partialDeepStrictEqual(lineOf('alias'), { ...chat, model: 'gpt-4o' })
  assert.partialDeepStrictEqual(lineOf('stream'), { ...chat, ...tokens, status: 200, stream: true })
  assert.partialDeepStrictEqual(lineOf('refused'), {
    ...chat,
    status: 400,
    code: 'ERR_GW_UPSTREAM_ERROR',
  })
  assert.partialDeepStrictEqual(lineOf('spilled'), {
    ...chat,
    model: 'pair',
    route: 'pair',
    upstream: 'two',
    attempts: 3,
    status: 200,
  })
  assert.partialDeepStrictEqual(lineOf('cut'), {
    ...chat,
    status: 499,
    code: 'ERR_GW_STREAM_ABORTED',
    usage_estimated: true,
  })
  assert.partialDeepStrictEqual(lineOf('nowhere'), {
    ...caller,
    model: 'client-chosen-name',
    route: 'none',
    upstream: 'none',
    status: 404,
    attempts: 0,
  })
  assert.partialDeepStrictEqual(lineOf('open'), {
    status: 503,
    code: 'ERR_GW_NO_HEALTHY_UPSTREAM',
    level: 'error',
    upstream: 'none',
  })
  assert.ok(!('tenant' in (lineOf('stranger') ?? {})))
  const left = lines().filter(
    ({ status, code }) => status === 499 && code === 'ERR_GW_STREAM_ABORTED',
  )
  assert.equal(left.length, 2)
  for (const line of lines()) {
    assert.ok(Number(line.duration_ms) > 0)
    assert.ok(Math.abs(Date.parse(String(line.time)) - Date.now()) < 600_000)
    assert.equal('ttft_ms' in line, line.stream === true)
    if ('ttft_ms' in line) assert.ok(Number(line.ttft_ms) <= Number(line.duration_ms))
  }
})

test('every written line is JSON', () => {
  for (const line of front.process.output().split('\n').filter(Boolean)) {
    if (line.includes('warning')) continue
    assert.equal(
      typeof JSON.parse(line.startsWith('{') ? line : '{"event":"text"}').event,
      'string',
    )
  }
})

test('the metrics agree', async () => {
  const values = await front.series()
  const expected = {
    'gw_requests_total{route="chat",upstream="one",status="200"}': 6,
    'gw_requests_total{route="chat",upstream="one",status="400"}': 1,
    'gw_requests_total{route="chat",upstream="one",status="499"}': 2,
    'gw_requests_total{route="chat",upstream="one",status="502"}': 3,
    'gw_requests_total{route="chat",upstream="none",status="503"}': 2,
    'gw_requests_total{route="pair",upstream="two",status="200"}': 2,
    'gw_requests_total{route="none",upstream="none",status="401"}': 1,
    'gw_requests_total{route="none",upstream="none",status="404"}': 1,
    'gw_request_duration_seconds_count{route="chat",upstream="one",operation="chat"}': 12,
    'gw_time_to_first_token_seconds_count{route="chat",upstream="one"}': 3,
    gw_overhead_seconds_count: 14,
    'gw_requests_in_flight{route="chat"}': 0,
    'gw_requests_in_flight{route="pair"}': 0,
    gw_streams_open: 0,
    'gw_stream_aborted_total{by="client"}': 1,
    'gw_stream_aborted_total{by="upstream"}': 1,
    'gw_upstream_attempts_total{upstream="one",outcome="ok"}': 8,
    'gw_upstream_attempts_total{upstream="one",outcome="client"}': 1,
    'gw_upstream_attempts_total{upstream="one",outcome="server"}': 5,
    'gw_upstream_attempts_total{upstream="two",outcome="ok"}': 2,
    'gw_upstream_retries_total{upstream="one"}': 1,
    'gw_overflow_total{route="pair",reason="upstream_error"}': 1,
    'gw_overflow_total{route="pair",reason="queue_saturated"}': 1,
    'gw_breaker_state{upstream="one",state="open"}': 1,
    'gw_breaker_state{upstream="one",state="closed"}': 0,
    'gw_breaker_state{upstream="one",state="half_open"}': 0,
    'gw_breaker_state{upstream="two",state="closed"}': 1,
    // It is not probed, so its health is unknown.
    'gw_upstream_healthy{upstream="one"}': undefined,
    'gw_upstream_in_flight{upstream="one"}': 0,
    'gw_refused_total{code="ERR_GW_AUTH_INVALID_KEY"}': 1,
    'gw_refused_total{code="ERR_GW_ROUTE_NOT_FOUND"}': 1,
    'gw_refused_total{code="ERR_GW_QUEUE_SATURATED"}': 1,
    'gw_refused_total{code="ERR_GW_NO_HEALTHY_UPSTREAM"}': 1,
    'gw_refused_total{code="ERR_GW_UPSTREAM_ERROR"}': 4,
    'gw_refused_total{code="ERR_GW_STREAM_ABORTED"}': 1,
    'gw_tokens_total{route="pair",upstream="two",kind="prompt"}': 14,
    'gw_tokens_total{route="pair",upstream="two",kind="completion"}': 6,
  }
  const found = Object.fromEntries(Object.keys(expected).map((name) => [name, values.get(name)]))
  assert.deepEqual(found, expected)
  // Two streams reported no usage; their events are counted.
  assert.ok(
    values.get('gw_tokens_total{route="chat",upstream="one",kind="completion"}')! >= 6 * 3 + 2,
  )
})
