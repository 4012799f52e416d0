/** Counting tokens needs the rate and no slot: of a gateway alone, and of two that share a Redis. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  type Front,
  type Heard,
  type Reply,
  startUpstream,
  streaming,
} from '../helpers/fake-upstream.ts'
import { startRedis } from '../helpers/redis-server.ts'
import {
  assertLimited,
  keysOf,
  standing,
  startLimited,
  untilIdle,
  untilStoreAnswers,
} from './limits/limited-gateway.ts'

const FEW = 4
/** Enough that slices decide. */
const MANY = 40

const upstream = await startUpstream()
const redis = await startRedis()
const stops: (() => Promise<unknown>)[] = []
after(async () => {
  await Promise.all(stops.map((stop) => stop()))
  await Promise.all([upstream.close(), redis.stop()])
})

const TENANTS = ['acme', 'rated']

/** The upstream counts tokens itself, and has as many places as the tenant has slots. */
async function start(slots: number, store: Readonly<Record<string, unknown>>) {
  const gateway = await startLimited(
    {
      gateway: { drain_timeout_seconds: 1 },
      upstreams: [
        {
          ...{ name: 'up', provider: 'vllm', endpoint: upstream.url, native: ['messages'] },
          ...{ max_queue_depth: slots, max_connections: slots, fairness: { max_wait_seconds: 1 } },
        },
        { name: 'plain', endpoint: upstream.url },
      ],
      routes: [
        { name: 'chat', strategy: 'single', primary: 'up' },
        { name: 'plain', strategy: 'single', primary: 'plain' },
      ],
      rate_limits: {
        default: { requests_per_minute: 1_000_000, burst: 100_000, concurrent_requests: slots },
        tenants: [{ tenant: 'rated', requests_per_minute: 1, burst: 3 }],
        ...store,
      },
      // Neither counts requests of the rates alone.
      limits: [{ name: 'one', for: { tenant: 'rated' }, concurrent_requests: 1 }],
      budgets: [{ tenant: 'acme', tokens_per_day: 1_000_000_000 }],
    },
    keysOf(TENANTS),
  )
  stops.push(() => gateway.stop())
  await untilStoreAnswers(gateway.as('acme'))
  return gateway
}

const inRedis = (key_prefix: string) => ({
  backend: 'redis',
  redis: { url: `unix://${redis.socket}`, key_prefix, timeout_ms: 2_000, fail_open: false },
})

async function post(front: Front, path: string, body: unknown): Promise<Heard> {
  const answer = await fetch(front.process.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const headers = Object.fromEntries(answer.headers)
  return { status: answer.status, headers, text: await answer.text(), cut: false }
}

const question = (content: string, model = 'chat') => ({
  model,
  messages: [{ role: 'user', content }],
})

/** A long one arrives after its head. */
const LONG = 'word '.repeat(40_000)

/** Each of them while no slot is free. */
const FREE: Readonly<Record<string, (front: Front) => Promise<Heard>>> = {
  'the count of its upstream': (front) => post(front, '/v1/messages/count_tokens', question('hi')),
  'the count of the gateway': (front) =>
    post(front, '/v1/messages/count_tokens', question('hi', 'plain')),
  'the count of a long prompt': (front) => post(front, '/v1/messages/count_tokens', question(LONG)),
  'the count of a response': (front) =>
    post(front, '/v1/responses/input_tokens', { model: 'plain', input: 'hi' }),
}

/** Streams that run until they are released, once each has its first word. */
async function hold(fronts: readonly Front[], slots: number) {
  const { promise, resolve } = Promise.withResolvers<void>()
  upstream.reply = replying(promise)
  const asked = Array.from({ length: slots }, (_, at) => {
    return (fronts[at % fronts.length] as Front).ask({ stream: true })
  })
  for (const { head } of asked) assert.equal((await head).statusCode, 200)
  return async () => {
    resolve()
    for (const { over } of asked) assert.equal((await over).cut, false)
  }
}

function replying(held: Promise<void>): Reply {
  const answer = streaming({ hold: held })
  return async (outgoing, asked) => {
    if (!asked.path.endsWith('/count_tokens')) return await answer(outgoing, asked)
    outgoing.writeHead(200, { 'content-type': 'application/json' }).end('{"input_tokens":4321}')
  }
}

const used = async (front: Front) => (await standing(front, 'acme')).concurrent_requests.used

for (const [name, slots, store, count] of [
  ['a gateway alone', FEW, {}, 1],
  ['gateways that share a Redis', FEW, inRedis('few'), 2],
  ['gateways with slices of a Redis', MANY, inRedis('many'), 2],
] as const) {
  test(`${name}: tokens are counted while no slot is free, and then as many slots are free as before`, async () => {
    const gateways = await Promise.all(Array.from({ length: count }, () => start(slots, store)))
    const fronts = gateways.map((one) => one.as('acme'))
    const [first] = fronts as [Front]
    for (const round of [1, 2]) {
      const release = await hold(fronts, slots)
      for (const front of fronts) {
        for (const [what, ask] of Object.entries(FREE)) {
          const heard = await ask(front)
          assert.equal(heard.status, 200, `${what}, round ${round}: ${heard.text}`)
          assertLimited(await front.chat(), 'concurrency')
        }
        assert.equal(await used(front), slots)
      }
      await release()
      await untilIdle(first, 'acme')
    }
  })

  test(`${name}: counts of tokens are refused by the rate alone`, async () => {
    const front = (await start(slots, store)).as('rated')
    const statuses: number[] = []
    for (let at = 0; at < 3; at++)
      statuses.push((await post(front, '/v1/messages/count_tokens', question('hi'))).status)
    assert.deepEqual(statuses, [200, 200, 200])
    assertLimited(await front.chat(), 'rpm')
    assert.equal((await post(front, '/v1/messages/count_tokens', question('hi'))).status, 429)
  })
}
