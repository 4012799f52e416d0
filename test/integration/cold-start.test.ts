/**
 * Requests for an upstream without a running server wait for one, within bounds, and are sent once.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import {
  type Asking,
  errorOf,
  failing,
  type Heard,
  startFront,
  startUpstream,
  streaming,
  whole,
  wordsOf,
} from '../helpers/fake-upstream.ts'
import { freePort } from '../helpers/free-port.ts'
import { gw } from '../helpers/gw-here.ts'
import { until } from '../helpers/until.ts'

const HOST = '127.0.0.1'
const folder = await mkdtemp(join(tmpdir(), 'gw-cold-'))
const file = join(folder, 'names.json')
const say = (addresses: readonly string[]) =>
  writeFileSync(file, JSON.stringify({ 'asleep.test': addresses }))
say([])

const NAMES = ['chat', 'brief', 'narrow', 'small', 'primary', 'preferred', 'probed'] as const
type Name = (typeof NAMES)[number]
const ports = new Map<string, number>()
for (const name of [...NAMES, 'asleep']) ports.set(name, await freePort())
const upstream = (name: Name, cold_start: object, more = {}) => ({
  ...{ name, endpoint: `http://${HOST}:${ports.get(name)}`, cold_start },
  ...more,
})
const spare = await startUpstream(whole('from the spare'))
const probes = { path: '/health', interval_seconds: 2, timeout_seconds: 1, unhealthy_threshold: 1 }

const front = await startFront(
  {
    gateway: { sse: { heartbeat_seconds: 1 } },
    upstreams: [
      upstream('chat', {}),
      upstream('brief', { max_wait_seconds: 1 }),
      upstream('narrow', { max_waiting: 2 }),
      upstream('small', {}, { max_queue_depth: 2 }),
      upstream('primary', {}),
      upstream('preferred', { prefer_wait: true }),
      upstream('probed', {}, { health_check: probes }),
      {
        ...{ name: 'asleep', endpoint: `http://asleep.test:${ports.get('asleep')}` },
        ...{ endpoints: 'dns', cold_start: {} },
      },
      { name: 'spare', endpoint: spare.url },
    ],
    routes: [
      ...['chat', 'brief', 'narrow', 'small', 'probed', 'asleep'].map((name) => ({
        ...{ name, strategy: 'single', primary: name },
      })),
      { name: 'hasty', strategy: 'single', primary: 'chat', timeout_seconds: 1 },
      ...['primary', 'preferred'].map((name) => ({
        ...{ name, strategy: 'primary_with_fallback', primary: name, fallback: ['spare'] },
      })),
    ],
  },
  {
    env: {
      TEST_NAMES: file,
      NODE_OPTIONS: `--import=${join(import.meta.dirname, '../helpers/names/preload.ts')}`,
    },
  },
)
after(async () => {
  await front.process.stop()
  await spare.close()
  await rm(folder, { recursive: true })
})

const waiting = (name: string) => front.value(`gw_upstream_waiting{upstream="${name}"}`)
const untilWaiting = (name: string, count: number) =>
  until(`${count} wait for ${name}`, async () => (await waiting(name)) === count)
const wake = (name: string, reply = whole()) =>
  startUpstream(reply, { host: HOST, port: ports.get(name) ?? 0 })

test('the gauge of waiting requests exists before any request waits', async () => {
  const series = await front.series()
  assert.equal(series.get('gw_upstream_waiting{upstream="chat"}'), 0)
  assert.equal(series.has('gw_upstream_waiting{upstream="spare"}'), false)
})

test('a hundred waiting streams get heartbeats, the next one is refused, and all are served once a server listens', async () => {
  const asked: Asking[] = []
  for (let count = 0; count < 100; count++) asked.push(front.ask({ stream: true }))
  await untilWaiting('chat', 100)
  const refused = await front.stream()
  assert.equal(refused.status, 503)
  assert.equal(errorOf(refused).code, 'ERR_GW_NO_HEALTHY_UPSTREAM')
  assert.match(errorOf(refused).message, /100 requests wait/)
  assert.equal(refused.headers['retry-after'], '10')
  for (const one of asked) assert.equal((await one.head).statusCode, 200)
  await until('all streams get a heartbeat', () =>
    asked.every((one) => one.text().includes(': keepalive')),
  )
  const server = await wake('chat', streaming())
  const heard = await Promise.all(asked.map(({ over }) => over))
  assert.deepEqual(new Set(heard.map(wordsOf)), new Set(['hello']))
  assert.equal(server.asked.length, 100)
  assert.equal(await waiting('chat'), 0)
  const trace = await front.trace(heard[0] as Heard)
  assert.deepEqual(
    trace.waits.map(({ upstream: name, outcome }: Wait) => [name, outcome]),
    [['chat', 'reached']],
  )
  assert.ok(trace.waits[0].ended_ms - trace.waits[0].started_ms >= 900)
  await server.close()
})

interface Wait {
  readonly upstream: string
  readonly outcome: string
}

test('a client that disconnects frees its place at once', async () => {
  const asked = [front.ask({ model: 'narrow', stream: true }), front.ask({ model: 'narrow' })]
  await untilWaiting('narrow', 2)
  assert.equal((await front.chat({ model: 'narrow' })).status, 503)
  for (const one of asked) one.head.catch(() => {})
  const inFlight = () => front.value('gw_requests_in_flight{route="narrow"}')
  assert.equal(await inFlight(), 2)
  asked[0]?.leave()
  await until('its place is free', async () => (await waiting('narrow')) === 1, 1)
  assert.equal(await inFlight(), 1)
  const later = front.ask({ model: 'narrow' })
  await untilWaiting('narrow', 2)
  asked[1]?.leave()
  const server = await wake('narrow')
  assert.equal((await later.over).status, 200)
  assert.equal(server.asked.length, 1)
  await server.close()
})

test('a whole answer comes late, or an error comes after the wait', async () => {
  const late = front.ask({ model: 'brief' })
  const heard = await late.over
  assert.equal(heard.status, 503)
  assert.match(errorOf(heard).message, /"brief" has no endpoint; the request has waited 1 s/)
  assert.equal(heard.headers['retry-after'], '10')
  const { waits, attempts } = await front.trace(heard)
  assert.equal(waits[0].outcome, 'gave_up')
  // The failed connection was the only attempt.
  assert.ok(attempts.length <= 1)
})

test('the timeout of the request limits the wait', async () => {
  const heard = await front.chat({ model: 'hasty' })
  assert.equal(heard.status, 503, heard.text)
  assert.equal(await waiting('chat'), 0)
})

test('an upstream with two places gets all waiting requests, two at a time', async () => {
  const asked = [front.ask({ model: 'small' })]
  await untilWaiting('small', 1)
  for (let count = 1; count < 6; count++) asked.push(front.ask({ model: 'small' }))
  await untilWaiting('small', 6)
  let most = 0
  let running = 0
  const server = await wake('small', async (...given) => {
    most = Math.max(most, ++running)
    await new Promise(setImmediate)
    running--
    await whole()(...given)
  })
  const heard = await Promise.all(asked.map(({ over }) => over))
  assert.deepEqual(new Set(heard.map(({ status }) => status)), new Set([200]))
  assert.deepEqual([server.asked.length, most <= 2], [6, true])
  await server.close()
})

test('a fallback that is up answers, unless the route prefers to wait for the primary', async () => {
  for (let count = 0; count < 2; count++) {
    const heard = await front.chat({ model: 'primary' })
    assert.match(heard.text, /from the spare/)
  }
  assert.equal(await waiting('primary'), 0)
  const asked = front.ask({ model: 'preferred' })
  await untilWaiting('preferred', 1)
  const server = await wake('preferred', whole('from the primary'))
  assert.match((await asked.over).text, /from the primary/)
  await server.close()
})

test('the primary is used again once it is up, even if no request waited for it', async () => {
  const server = await wake('primary', whole('from the primary'))
  await until(
    'the primary answers',
    async () => (await front.chat({ model: 'primary' })).text.includes('from the primary'),
    30,
  )
  await server.close()
})

test('a request waits for a name without addresses until it resolves', async () => {
  const asked = front.ask({ model: 'asleep', stream: true })
  await untilWaiting('asleep', 1)
  const server = await startUpstream(streaming(), {
    host: '127.0.0.2',
    port: ports.get('asleep') ?? 0,
  })
  say(['127.0.0.2'])
  assert.equal(wordsOf(await asked.over), 'hello')
  assert.equal(server.asked.length, 1)
  await server.close()
})

test('requests still wait if probes find no server', async () => {
  const shown = async () => {
    const { upstreams } = await front.admin('/status')
    return upstreams.find(({ name }: { readonly name: string }) => name === 'probed')
  }
  await until('a probe has failed', async () => (await shown()).health === 'unhealthy')
  const asked = front.ask({ model: 'probed' })
  await untilWaiting('probed', 1)
  assert.deepEqual((await shown()).cold_start, { has_endpoint: false, waiting: 1 })
  const server = await wake('probed')
  assert.equal((await asked.over).status, 200)
  await server.close()
})

test('gw explain and gw status show what a request waits for', async () => {
  const asked = front.ask({ model: 'narrow' })
  await untilWaiting('narrow', 1)
  const where = ['--admin', front.process.adminUrl]
  const explained = await gw('explain', '--route', 'narrow', ...where)
  assert.match(explained.stdout, /now: 200, by upstream narrow, once it has an endpoint/)
  assert.match(explained.stdout, /endpoints of narrow: none; waiting requests: 1/)
  assert.match(
    (await gw('status', ...where)).stdout,
    /endpoints of narrow: none; waiting requests: 1/,
  )
  const server = await wake('narrow')
  const heard = await asked.over
  const id = String(heard.headers['x-request-id'])
  assert.match((await gw('trace', 'get', id, ...where)).stdout, /waited for narrow: reached/)
  await server.close()
})

test('requests do not wait for an upstream that returns errors', async () => {
  const server = await wake('brief', failing(500))
  await until('it is asked', async () => {
    await front.chat({ model: 'brief' })
    return server.asked.length > 0
  })
  const heard = await front.chat({ model: 'brief' })
  assert.equal(heard.status, 502)
  assert.equal((await front.trace(heard)).waits, undefined)
  await server.close()
})
