/**
 * The rate of a tenant: a bucket that admits a burst, refuses correctly, and charges nothing for a
 * refusal.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import {
  after as afterwards,
  type Heard,
  startUpstream,
  streaming,
  whole,
} from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'
import {
  ANSWER_TOKENS,
  assertLimited,
  keysOf,
  limitHeaders,
  standing,
  startLimited,
} from './limits/limited-gateway.ts'

const SLOW = { requests_per_minute: 1, concurrent_requests: 4 }

const upstream = await startUpstream()
const gateway = await startLimited(
  {
    upstreams: [{ name: 'up', endpoint: upstream.url }],
    routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
    rate_limits: {
      default: { requests_per_minute: 60, burst: 7, concurrent_requests: 5 },
      tenants: [
        { tenant: 'burst', ...SLOW, burst: 3 },
        { tenant: 'quiet', ...SLOW, burst: 3 },
        // One request every four seconds.
        { tenant: 'honest', requests_per_minute: 15, burst: 1 },
        { tenant: 'streams', ...SLOW, burst: 10 },
        { tenant: 'quarter', requests_per_minute: 41 },
        { tenant: 'words', ...SLOW, burst: 100, tokens_per_minute: 300 },
        { tenant: 'essay', ...SLOW, burst: 100, tokens_per_minute: 50 },
        { tenant: 'counted', ...SLOW, burst: 2 },
        { tenant: 'busy', requests_per_minute: 1, burst: 2, concurrent_requests: 1 },
      ],
    },
  },
  keysOf([
    'burst',
    'quiet',
    'honest',
    'streams',
    'quarter',
    'words',
    'essay',
    'counted',
    'busy',
    'other',
  ]),
)
after(() => Promise.all([gateway.stop(), upstream.close()]))

test('a burst is admitted, the next request names the reached limit, and a refusal charges nothing', async () => {
  const front = gateway.as('burst')
  for (const remaining of [2, 1, 0]) {
    const answer = await front.chat()
    assert.equal(answer.status, 200)
    assert.equal(limitHeaders(answer)['ratelimit-remaining'], String(remaining))
  }
  let before = Number.POSITIVE_INFINITY
  for (let refusals = 0; refusals < 20; refusals++) {
    const asked = upstream.asked.length
    const answer = await front.chat()
    const error = assertLimited(answer, 'rpm')
    assert.deepEqual(
      [error.limited_by, error.limit, error.burst, error.used],
      ['requests_per_minute', 1, 3, 3],
    )
    const reset = Number(limitHeaders(answer)['ratelimit-reset'])
    // The bucket is full two requests after it has room for one.
    assert.equal(reset - Number(answer.headers['retry-after']), 120)
    assert.ok(Math.abs((Date.parse(error.resets_at) - Date.now()) / 1000 - reset) < 30)
    assert.ok(reset <= before && reset > 120)
    before = reset
    assert.equal(upstream.asked.length, asked, 'no request reached the upstream')
  }
})

test('tenants do not share a bucket', async () => {
  assert.equal(limitHeaders(await gateway.as('quiet').chat())['ratelimit-remaining'], '2')
})

test('a client that waits for Retry-After is admitted, and one that waits a second less is not', async () => {
  const front = gateway.as('honest')
  const retryAfter = ({ headers }: Heard) => Number(headers['retry-after'])
  let isTold = false
  // Each admitted request starts a turn; a machine that was too slow for a turn takes another.
  for (let turns = 0; !isTold; turns++) {
    assert.ok(turns < 20, 'this machine is too slow for a second')
    const began = performance.now()
    const isIn = (seconds: number) => performance.now() - began < seconds * 1000
    assert.equal((await front.chat()).status, 200)
    const refused = await front.chat()
    const wasAtOnce = isIn(1)
    await delay(3000)
    const early = await front.chat()
    if (wasAtOnce && isIn(4)) {
      assertLimited(refused, 'rpm')
      assert.equal(retryAfter(refused), 4)
      assertLimited(early, 'rpm')
      assert.equal(retryAfter(early), 1)
      isTold = true
    }
    // Timers may be a moment early.
    await delay(1010)
    if (!isTold) await delay(4000)
  }
  assert.equal((await front.chat()).status, 200)
})

test('a rule takes omitted values from the default, and a tenant without a rule takes all of them', async () => {
  const own = await standing(gateway.as('quarter'), 'quarter')
  assert.equal(own.requests_per_minute.limit, 41)
  assert.equal(own.requests_per_minute.remaining, 7)
  assert.equal(own.concurrent_requests.limit, 5)
  const other = await standing(gateway.as('other'), 'other')
  assert.equal(other.requests_per_minute.limit, 60)
})

test('a stream counts once, regardless of its length', async () => {
  const front = gateway.as('streams')
  upstream.script.push(streaming({ words: Array.from({ length: 500 }, () => 'word ') }))
  const answer = await front.stream()
  assert.equal(answer.status, 200)
  assert.equal((await standing(front, 'streams')).requests_per_minute.remaining, 9)
})

test('tokens a minute: the estimate is held while a request runs, then its usage is charged', async () => {
  const front = gateway.as('words')
  const { promise: release, resolve } = Promise.withResolvers<void>()
  upstream.script.push(afterwards(release, whole()))
  const running = await askedOf(() => front.chat({ max_tokens: 200 }))
  assert.equal((await front.chat({ max_tokens: 1 })).status, 200)
  const refused = await front.chat({ max_tokens: 200 })
  const error = assertLimited(refused, 'tpm')
  assert.deepEqual([error.limited_by, error.limit], ['tokens_per_minute', 300])
  assert.ok(error.used > 200)
  resolve()
  assert.equal((await running.answer).status, 200)
  const { tokens_per_minute: rate } = await standing(front, 'words')
  assert.equal(rate.limit, 300)
  // Two answers, minus leakage of five tokens a second.
  assert.ok(rate.remaining >= 300 - 2 * ANSWER_TOKENS && rate.remaining <= 300)
  assert.equal((await front.chat({ max_tokens: 200 })).status, 200)
})

test('a request larger than a minute of tokens is admitted only by an empty bucket', async () => {
  const front = gateway.as('essay')
  upstream.script.push(whole('long', { prompt_tokens: 40, completion_tokens: 400 }))
  assert.equal((await front.chat({ max_tokens: 400 })).status, 200)
  const refused = await front.chat({ max_tokens: 400 })
  assertLimited(refused, 'tpm')
  // 440 tokens leak at 50 a minute.
  const seconds = Number(refused.headers['retry-after'])
  assert.ok(seconds > 500 && seconds <= 528, `${seconds} s`)
})

test('a request that one limit refuses changes no other limit', async () => {
  const front = gateway.as('busy')
  const { promise: release, resolve } = Promise.withResolvers<void>()
  upstream.script.push(afterwards(release, whole()))
  const running = await askedOf(() => front.chat())
  const refused = await front.chat()
  assertLimited(refused, 'concurrency')
  assert.equal(limitHeaders(refused)['ratelimit-remaining'], '1')
  resolve()
  await running.answer
  assert.equal(limitHeaders(await front.chat())['ratelimit-remaining'], '0')
})

/** Resolves with a running request, once the upstream has it. */
async function askedOf(ask: () => Promise<Heard>): Promise<{ readonly answer: Promise<Heard> }> {
  const asked = upstream.asked.length
  const answer = ask()
  await until('the upstream has the request', () => upstream.asked.length > asked)
  return { answer }
}

test('admitted and rejected requests are counted by tenant and reason', async () => {
  const front = gateway.as('counted')
  const statuses = []
  for (let asked = 0; asked < 5; asked++) statuses.push((await front.chat()).status)
  assert.deepEqual(statuses, [200, 200, 429, 429, 429])
  const series = await front.series()
  assert.equal(series.get('gw_ratelimit_admitted_total{tenant="counted"}'), 2)
  assert.equal(series.get('gw_ratelimit_rejected_total{tenant="counted",reason="rpm"}'), 3)
  assert.equal(series.get('gw_ratelimit_rejected_total{tenant="words",reason="tpm"}'), 1)
  assert.equal(series.get('gw_ratelimit_rejected_total{tenant="busy",reason="concurrency"}'), 1)
})
