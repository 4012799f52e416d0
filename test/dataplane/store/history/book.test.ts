/** The history of a process: what it counts, by whose fault requests failed, its bounds, and the form of its answer. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { historyOf } from '../../../../dataplane/store/history/answer.ts'
import { aHistory } from './a-history.ts'

const MIB = 1_048_576
const HOUR_MS = 3_600_000

test('requests, tokens, cost and times are there by minute, for route, tenant and upstream', async () => {
  const { add, pass, ask } = aHistory()
  add()
  add({ tenant: 'beta' })
  pass(60_000)
  add()
  const { of, step_ms, times } = await ask({ since: '2026-11-21T11:59:00Z', step: '1m' })
  assert.equal(step_ms, 60_000)
  assert.equal(times.length, 3)
  assert.deepEqual(of('route', 'chat')?.requests, [0, 2, 1])
  assert.deepEqual(of('tenant', 'beta')?.requests, [0, 1, 0])
  assert.deepEqual(of('upstream', 'up')?.input_tokens, [0, 200, 100])
  assert.deepEqual(of('tenant', 'acme')?.cost_nano_usd, [0, 1e6, 1e6])
  const buckets = of('route', 'chat')?.first_token as unknown as (number[] | 0)[]
  assert.equal(buckets[0], 0)
  // 300 ms are above 0.25 and not above 0.5 seconds.
  assert.equal(buckets[1] === 0 ? 0 : buckets[1]?.[8], 2)
})

test('requests of the last seconds of a minute count in it, though the next look is after its end', async () => {
  const { add, book, clock, ask } = aHistory()
  clock.pass(55_000)
  book.expire(clock.now())
  clock.pass(4_000)
  add()
  // The timer of deadlines is at most this late.
  clock.pass(1_090)
  book.expire(clock.now())
  const query = { since: '2026-11-21T12:00:00Z', step: '1m' }
  assert.deepEqual((await ask(query)).of('route', 'chat')?.requests, [1, 0])
  add()
  assert.deepEqual((await ask(query)).of('route', 'chat')?.requests, [1, 1])
  // A process that was suspended has counted before that.
  add()
  clock.pass(10 * 60_000)
  const requests = (await ask(query)).of('route', 'chat')?.requests
  assert.deepEqual(requests, [1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
})

test('a failed request counts by whose fault it was', async () => {
  const { add, ask } = aHistory()
  add({ status: 400, code: 'ERR_GW_INVALID_REQUEST', tried: {} })
  add({ status: 429, code: 'ERR_GW_RATE_LIMIT_LOCAL', tried: {} })
  add({ status: 402, code: 'ERR_GW_BUDGET_EXCEEDED', tried: {} })
  add({ status: 429, code: 'ERR_GW_UPSTREAM_RATE_LIMIT', tried: { up: 'rate_limited' } })
  add({ status: 502, code: 'ERR_GW_UPSTREAM_ERROR', tried: { up: 'connect' } })
  add({ status: 503, code: 'ERR_GW_LIMITER_UNAVAILABLE', tried: {} })
  add({ status: 422, tried: { up: 'client' } })
  add({ status: 499, left: true })
  add({ status: 0, left: true, tried: {} })
  add({ status: 499, code: 'ERR_GW_STREAM_ABORTED' })
  const { sum } = await ask()
  const counted = ['client', 'limit', 'upstream', 'gateway', 'left'].map((fault) =>
    sum('tenant', 'acme', fault),
  )
  assert.deepEqual(counted, [2, 2, 3, 1, 2])
  assert.equal(sum('route', 'chat', 'requests'), 10)
  // Its attempts: an upstream does not fail because a limit or a client does.
  assert.deepEqual(
    ['requests', 'upstream', 'limit'].map((one) => sum('upstream', 'up', one)),
    [5, 3, 0],
  )
})

test('an upstream that another one replaced has failed, and the request has not', async () => {
  const { add, ask } = aHistory()
  add({ tried: { first: 'timeout', second: 'ok' } })
  const { sum } = await ask()
  assert.equal(sum('upstream', 'first', 'upstream'), 1)
  assert.equal(sum('upstream', 'second', 'upstream'), 0)
  assert.equal(sum('route', 'chat', 'upstream'), 0)
})

test('minutes stay for 48 hours, hours for 31 days', async () => {
  const { add, book, clock, ask } = aHistory()
  add()
  book.turn()
  clock.pass(48 * HOUR_MS)
  const since = String(clock.wall() - 48 * HOUR_MS)
  assert.equal((await ask({ since, step: '30m' })).sum('tenant', 'acme', 'requests'), 1)
  clock.pass(5 * 60_000)
  book.turn()
  // Beside those of these five minutes, in which the gateway ran without requests.
  const minutes = [...book.places()].filter((place) => place.startsWith('minute:'))
  assert.deepEqual(minutes, ['minute:2026-11-23T12:00', 'minute:2026-11-23T12:05'])
  clock.pass(28 * 24 * HOUR_MS)
  const days = await ask({ since: String(clock.wall() - 31 * 24 * HOUR_MS), step: '1d' })
  assert.equal(days.sum('tenant', 'acme', 'requests'), 1)
  clock.pass(2 * 24 * HOUR_MS)
  book.turn()
  const first = [...book.places()].filter((place) => place.includes(':2026-11-21T'))
  assert.deepEqual(first, [])
})

test('names beyond the bounds count as other, and no request is lost', async () => {
  const { add, ask, book } = aHistory()
  for (let tenant = 0; tenant < 1_000; tenant++) add({ tenant: `tenant-${tenant}` })
  for (let times = 0; times < 50; times++) add({ tenant: 'tenant-7' })
  book.turn()
  const { series, sum } = await ask({ by: 'tenant' })
  assert.ok(series.length <= 41 && series.some(({ name }) => name === 'other'))
  assert.equal(sum('tenant', 'tenant-7', 'requests'), 51)
  const all = series.map(({ name }) => sum('tenant', name, 'requests'))
  assert.equal(
    all.reduce((total, one) => total + one, 0),
    1_050,
  )
})

test('48 hours of the most names that a page may have stay within 8 MiB', (t) => {
  const { add, book, clock } = aHistory()
  for (let minute = 0; minute < 48 * 60; minute++) {
    for (let name = 0; name < 45; name++) {
      const requests = 1 + ((minute * 7 + name * 13) % 3)
      for (let one = 0; one < requests; one++)
        add({
          tenant: `department-${name}`,
          route: `route-${name % 20}`,
          tried: { [`upstream-${name % 20}`]: 'ok' },
          duration_ms: 50 * ((minute * 31 + name * one) % 400),
          ttft_ms: (minute * 17 + name * one) % 900,
          usd: 0.001_003 * (minute % 977),
        })
    }
    book.turn()
    clock.pass(60_000)
  }
  const minutes = [...book.places()].filter((place) => place.startsWith('minute:')).length
  assert.ok(book.bytes < 7 * MIB, `${(book.bytes / MIB).toFixed(1)} MiB in pages`)
  assert.equal(minutes, 48 * 60)
  t.diagnostic(`${(book.bytes / MIB).toFixed(2)} MiB in pages`)
})

test('what cannot take effect is refused, with how to ask for it', async () => {
  const { book } = aHistory()
  const refused = async (query: Readonly<Record<string, string>>) => {
    const { status, body } = await historyOf(query, {
      history: book,
      historyKept: { in: 'memory' },
    })
    return status === 400 && 'error' in body ? body.error.message : status
  }
  assert.match(String(await refused({ since: 'yesterday' })), /^since is no time; give one such as/)
  assert.match(
    String(await refused({ until: '2026-11-21T10:00:00Z', since: '2026-11-21T11:00:00Z' })),
    /not before until/,
  )
  assert.match(String(await refused({ step: '90s' })), /^step is no length of whole minutes/)
  assert.match(String(await refused({ since: '2026-11-18T00:00:00Z', step: '5m' })), /give step=1h/)
  assert.match(String(await refused({ since: '2026-10-01T00:00:00Z' })), /older hours are not kept/)
  assert.match(String(await refused({ by: 'model' })), /it may have route, tenant, upstream/)
  assert.equal(await refused({ since: '2026-11-15T00:00:00Z' }), 200)
  assert.equal(await refused({ since: '-24h', until: '-12h' }), 200)
})

test('events are kept with their subject, and a spent budget is one in an hour', async () => {
  const { add, pass, ask, book } = aHistory()
  const spent: string[] = []
  book.onSpent = (tenant) => spent.push(tenant)
  const event = (time: string, message: string) =>
    book.note({
      time,
      level: 'warn',
      event: 'breaker',
      message,
      fields: { upstream: 'up', to: 'open' },
    })
  event('2026-11-21T12:00:00.000Z', 'The breaker is open.')
  for (let minute = 0; minute < 90; minute++) {
    add({ status: 402, code: 'ERR_GW_BUDGET_EXCEEDED', tried: {} })
    pass(60_000)
  }
  assert.deepEqual(spent, ['acme', 'acme'])
  const { events } = await ask({ since: '2026-11-21T11:00:00Z' })
  assert.deepEqual(
    events.map(({ message, fields }) => [message, fields?.to]),
    [['The breaker is open.', 'open']],
  )
})
