/** How requests are distributed over a route's upstreams, over real sockets. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  after as afterwards,
  errorOf,
  type Front,
  failing,
  type Heard,
  startFront,
  startUpstream,
  whole,
} from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'

const names = ['a', 'b', 'c', 'd'] as const
const [a, b, c, d] = await Promise.all(names.map((name) => startUpstream(whole(name))))
const upstreams = { a: a!, b: b!, c: c!, d: d! }
const health_check = {
  path: '/health',
  interval_seconds: 1,
  // A slow upstream on a busy machine is not unhealthy.
  timeout_seconds: 60,
  healthy_threshold: 1,
  unhealthy_threshold: 1,
}
const front = await startFront({
  upstreams: [
    { name: 'a', endpoint: a!.url, health_check },
    { name: 'b', endpoint: b!.url, health_check },
    { name: 'c', endpoint: c!.url, health_check },
    { name: 'd', endpoint: d!.url, max_queue_depth: 1, circuit_breaker: { failure_threshold: 1 } },
  ],
  routes: [
    { name: 'one', strategy: 'single', primary: 'b' },
    { name: 'turns', strategy: 'round_robin', upstreams: ['a', 'b', 'c'] },
    {
      name: 'shares',
      strategy: 'weighted',
      upstreams: [
        { name: 'a', weight: 70 },
        { name: 'b', weight: 30 },
        { name: 'c', weight: 0 },
      ],
    },
    { name: 'narrow', strategy: 'single', primary: 'd' },
    { name: 'last', strategy: 'single', primary: 'a' },
  ],
})
after(() =>
  Promise.all([front.process.stop(), ...Object.values(upstreams).map((one) => one.close())]),
)

/** The number of these requests that went to each upstream. */
async function spread({ model, requests }: { model: string; requests: number }, lanes = 1) {
  const counts: Partial<Record<string, number>> = {}
  const turns = Array.from({ length: lanes }, async () => {
    for (let sent = 0; sent < requests / lanes; sent++) {
      const { status, headers } = await front.chat({ model })
      assert.equal(status, 200)
      const upstream = String(headers['x-gw-upstream'])
      counts[upstream] = (counts[upstream] ?? 0) + 1
    }
  })
  await Promise.all(turns)
  return counts
}

async function isHealthy(name: string, healthy: 0 | 1, of: Pick<Front, 'series'> = front) {
  const series = `gw_upstream_healthy{upstream="${name}"}`
  await until(`${name} is ${healthy}`, async () => (await of.series()).get(series) === healthy)
}

test('single uses only one upstream', async () => {
  assert.deepEqual(await spread({ model: 'one', requests: 10 }), { b: 10 })
})

test('round_robin distributes evenly, also under concurrency', async () => {
  assert.deepEqual(await spread({ model: 'turns', requests: 30 }), { a: 10, b: 10, c: 10 })
  assert.deepEqual(await spread({ model: 'turns', requests: 60 }, 6), { a: 20, b: 20, c: 20 })
})

test('round_robin distributes evenly over the others while one is unhealthy', async () => {
  upstreams.b.healthy = false
  await isHealthy('b', 0)
  assert.deepEqual(await spread({ model: 'turns', requests: 20 }), { a: 10, c: 10 })
  const heard = await front.chat({ model: 'turns' })
  assert.deepEqual((await front.trace(heard)).passed_over, [{ upstream: 'b', why: 'unhealthy' }])
  const { upstreams: shown } = await front.admin('/status')
  assert.partialDeepStrictEqual(
    shown.find((one: { name: string }) => one.name === 'b'),
    { health: 'unhealthy', eligible: false },
  )
  await until('it is logged', () => front.logged('health').length === 1)
  assert.partialDeepStrictEqual(front.logged('health'), [
    { upstream: 'b', from: 'healthy', to: 'unhealthy' },
  ])
  upstreams.b.healthy = true
  await isHealthy('b', 1)
  assert.deepEqual(await spread({ model: 'turns', requests: 30 }), { a: 10, b: 10, c: 10 })
})

test('weighted keeps its shares within statistical bounds, and a weight of 0 gets nothing', async () => {
  const requests = 2000
  const counts = await spread({ model: 'shares', requests }, 8)
  assert.equal(counts.c, undefined)
  // Five standard deviations: one run in two million falls outside.
  const bound = 5 * Math.sqrt(requests * 0.7 * 0.3)
  assert.ok(Math.abs((counts.a ?? 0) - requests * 0.7) < bound, JSON.stringify(counts))
})

test('a weight of 0 gets nothing even while all others are unavailable', async () => {
  const others = [upstreams.a, upstreams.b]
  for (const one of others) one.healthy = false
  await Promise.all([isHealthy('a', 0), isHealthy('b', 0)])
  const before = upstreams.c.asked.length
  refusedWith(await front.chat({ model: 'shares' }), 'ERR_GW_NO_HEALTHY_UPSTREAM')
  assert.equal(upstreams.c.asked.length, before)
  for (const one of others) one.healthy = true
  await Promise.all([isHealthy('a', 1), isHealthy('b', 1)])
})

test('without an eligible upstream the answer is 503, and no upstream gets the request', async () => {
  upstreams.a.healthy = false
  await isHealthy('a', 0)
  const before = upstreams.a.asked.length
  const heard = await front.chat({ model: 'last' })
  refusedWith(heard, 'ERR_GW_NO_HEALTHY_UPSTREAM')
  assert.equal(upstreams.a.asked.length, before)
  upstreams.a.healthy = true
  await isHealthy('a', 1)
  assert.equal((await front.chat({ model: 'last' })).status, 200)
})

test('a full upstream sheds with 503, also for streams, and has room again afterwards', async () => {
  const release = Promise.withResolvers<void>()
  upstreams.d.script.push(afterwards(release.promise, whole()))
  const held = front.ask({ model: 'narrow' })
  await until('it is asked', () => upstreams.d.asked.length === 1)
  assert.equal(await front.value('gw_upstream_in_flight{upstream="d"}'), 1)
  refusedWith(await front.chat({ model: 'narrow' }), 'ERR_GW_QUEUE_SATURATED')
  refusedWith(await front.stream({ model: 'narrow' }), 'ERR_GW_QUEUE_SATURATED')
  assert.equal(upstreams.d.asked.length, 1)
  release.resolve()
  assert.equal((await held.over).status, 200)
  assert.equal((await front.chat({ model: 'narrow' })).status, 200)
  assert.equal(await front.value('gw_upstream_in_flight{upstream="d"}'), 0)
})

test('if a breaker is open, Retry-After shows when it admits a request', async () => {
  upstreams.d.script.push(failing(500))
  assert.equal((await front.chat({ model: 'narrow' })).status, 502)
  const heard = await front.chat({ model: 'narrow' })
  const seconds = Number(heard.headers['retry-after'])
  assert.ok(seconds > 1 && seconds <= 30, `${seconds} of the 30 s for which it is open`)
  refusedWith(heard, 'ERR_GW_NO_HEALTHY_UPSTREAM', String(seconds))
})

function refusedWith(heard: Heard, code: string, retryAfter = '1'): void {
  assert.equal(heard.status, 503)
  assert.equal(errorOf(heard).code, code)
  assert.equal(heard.headers['retry-after'], retryAfter)
  assert.equal(heard.headers['x-gw-upstream'], 'none')
}
