/** Requests wait for places of a full upstream in fair shares, within bounds. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  after as afterwards,
  errorOf,
  type Reply,
  startUpstream,
  streaming,
  whole,
  wordsOf,
} from '../helpers/fake-upstream.ts'
import { PLENTY } from '../helpers/gateway-process.ts'
import { gw } from '../helpers/gw-here.ts'
import { until } from '../helpers/until.ts'
import { keysOf, startLimited } from './limits/limited-gateway.ts'

const TENANTS = ['gold', 'silver', 'batch', 'spent']
const [busy, spare, narrow, east, west] = await Promise.all([
  startUpstream(),
  startUpstream(),
  startUpstream(),
  startUpstream(),
  startUpstream(),
])
const fairness = { weights: { gold: 4, silver: 1 }, max_wait_seconds: 30 }
const gateway = await startLimited(
  {
    gateway: { sse: { heartbeat_seconds: 1 } },
    upstreams: [
      { name: 'busy', endpoint: busy.url, max_queue_depth: 2, fairness },
      { name: 'spare', endpoint: spare.url, max_queue_depth: 100 },
      {
        ...{ name: 'narrow', endpoint: narrow.url, max_queue_depth: 1 },
        fairness: { max_wait_seconds: 1, max_waiting: 2 },
      },
      { name: 'east', endpoint: east.url, max_queue_depth: 1 },
      { name: 'west', endpoint: west.url, max_connections: 1 },
    ],
    routes: [
      { name: 'chat', strategy: 'single', primary: 'busy', retry: { max_attempts: 2 } },
      { name: 'hasty', strategy: 'single', primary: 'busy', timeout_seconds: 1 },
      { name: 'both', strategy: 'round_robin', upstreams: ['east', 'west'], fairness },
      { name: 'brief', strategy: 'single', primary: 'narrow' },
      { name: 'spilling', strategy: 'primary_with_fallback', primary: 'busy', fallback: ['spare'] },
      {
        ...{ name: 'staying', strategy: 'primary_with_fallback', primary: 'busy' },
        ...{ fallback: ['spare'], overflow: { on_upstream_error: 'fallback' } },
      },
    ],
    budgets: [
      {
        ...{ tenant: 'spent', tokens_per_day: 5, on_exceeded: 'downgrade' },
        downgrade_route: 'chat',
      },
    ],
    rate_limits: {
      default: { ...PLENTY, concurrent_requests: 200 },
      tenants: [{ tenant: 'batch', priority: 'low' }],
    },
  },
  keysOf(TENANTS),
)
after(async () => {
  await gateway.stop()
  await Promise.all([busy, spare, narrow, east, west].map((one) => one.close()))
})

const gold = gateway.as('gold')
const silver = gateway.as('silver')
const waiting = (name = 'busy') => gold.value(`gw_fairness_waiting{upstream="${name}"}`)
const untilWaiting = (count: number, name = 'busy') =>
  until(`${count} wait for ${name}`, async () => (await waiting(name)) === count)

/** Takes all places of an upstream; `end` completes the answers. */
async function occupy(model = 'chat', upstream = busy, count = 2) {
  const { promise, resolve: release } = Promise.withResolvers<void>()
  const asked = upstream.asked.length
  upstream.reply = afterwards(promise, whole())
  const running = Array.from({ length: count }, () => silver.chat({ model }))
  await until('the upstream has the requests', () => upstream.asked.length === asked + count)
  return {
    async end(reply: Reply = whole()) {
      upstream.reply = reply
      release()
      for (const { status } of await Promise.all(running)) assert.equal(status, 200)
    },
  }
}

test('a request to a full upstream waits and is served, and its trace names the wait', async () => {
  assert.equal(await waiting(), 0)
  const full = await occupy()
  const asked = gold.ask()
  await untilWaiting(1)
  await full.end()
  const heard = await asked.over
  assert.equal(heard.status, 200)
  assert.equal(await waiting(), 0)
  const { waits, attempts, passed_over } = await gold.trace(heard)
  assert.equal(waits.length, 1)
  assert.deepEqual(
    [waits[0].upstream, waits[0].for, waits[0].outcome],
    ['busy', 'place', 'granted'],
  )
  assert.ok(attempts[0].started_ms >= waits[0].ended_ms)
  assert.deepEqual(passed_over, [{ upstream: 'busy', why: 'full: 2 in flight, 0 wait' }])
  const count = 'gw_fairness_wait_seconds_count{upstream="busy",outcome="granted"}'
  assert.equal(await gold.value(count), 1)
})

test('a stream gets heartbeats while it waits, and then its words', async () => {
  const full = await occupy()
  const asked = gold.ask({ stream: true })
  await until('it gets a heartbeat', () => asked.text().includes(': keepalive'))
  assert.equal((await asked.head).statusCode, 200)
  await full.end(streaming())
  assert.equal(wordsOf(await asked.over), 'hello')
})

test('an upstream never runs more requests than its places, and serves them in order of weight', async () => {
  const full = await occupy()
  const order: string[] = []
  const asked = ['silver', 'gold'].flatMap((tenant) =>
    Array.from({ length: 10 }, () => gateway.as(tenant).chat({ user: tenant })),
  )
  await untilWaiting(20)
  let [running, most] = [0, 0]
  await full.end(async (outgoing, request) => {
    order.push(String(request.body.user))
    most = Math.max(most, ++running)
    await new Promise(setImmediate)
    running--
    await whole()(outgoing, request)
  })
  for (const { status } of await Promise.all(asked)) assert.equal(status, 200)
  assert.ok(most <= 2, `${most} at a time`)
  const firsts = order.slice(0, 10).filter((tenant) => tenant === 'gold').length
  assert.ok(firsts >= 7 && firsts <= 9, order.join(' '))
})

test('a client that disconnects frees its place in the queue at once', async () => {
  const full = await occupy()
  const asked = gold.ask()
  asked.head.catch(() => {})
  await untilWaiting(1)
  const before = busy.asked.length
  asked.leave()
  await until('its place is free', async () => (await waiting()) === 0, 1)
  await full.end()
  assert.equal(busy.asked.length, before)
})

test('a request that has waited too long gets 503 with the seconds until its turn', async () => {
  const full = await occupy('brief', narrow, 1)
  const heard = await gold.chat({ model: 'brief' })
  assert.equal(heard.status, 503)
  assert.equal(errorOf(heard).code, 'ERR_GW_QUEUE_SATURATED')
  assert.match(errorOf(heard).message, /"narrow" is full; the request has waited 1 s for a place/)
  assert.match(String(heard.headers['retry-after']), /^[1-9]\d*$/)
  assert.equal((await gold.trace(heard)).waits[0].outcome, 'gave_up')
  await full.end()
})

test('if too many requests wait, the tenant with the most loses its newest one', async () => {
  const full = await occupy('brief', narrow, 1)
  const [first, second] = [silver.ask({ model: 'brief' }), silver.ask({ model: 'brief' })]
  await untilWaiting(2, 'narrow')
  const other = gold.ask({ model: 'brief' })
  const refused = await Promise.race([first.over, second.over])
  assert.equal(refused.status, 503)
  assert.match(errorOf(refused).message, /2 requests wait for a place already/)
  await full.end()
  const heard = await Promise.all([first.over, second.over, other.over])
  assert.deepEqual(heard.map(({ status }) => status).toSorted(), [200, 200, 503])
  assert.equal((await other.over).status, 200)
})

test('on a route that spills, a fallback comes before a wait', async () => {
  const full = await occupy()
  const spilled = await gold.chat({ model: 'spilling' })
  assert.equal(spilled.headers['x-gw-upstream'], 'spare')
  const stays = gold.ask({ model: 'staying' })
  await untilWaiting(1)
  await full.end()
  assert.equal((await stays.over).headers['x-gw-upstream'], 'busy')
})

test('a fallback still answers after the awaited upstream fails', async () => {
  const full = await occupy()
  const asked = gold.ask({ model: 'staying', stream: true })
  await untilWaiting(1)
  spare.script.push(streaming())
  await full.end((outgoing) => {
    outgoing.writeHead(500)
    outgoing.end()
  })
  assert.equal(wordsOf(await asked.over), 'hello')
  assert.equal(spare.asked.at(-1)?.path, '/v1/chat/completions')
})

test('the timeout of the request limits the wait', async () => {
  const full = await occupy()
  const heard = await gold.chat({ model: 'hasty' })
  assert.equal(heard.status, 503, heard.text)
  assert.equal(await waiting(), 0)
  await full.end()
})

test('a retry waits for its place like other requests', async () => {
  const { promise, resolve: release } = Promise.withResolvers<void>()
  const fails: Reply = (outgoing) => {
    outgoing.writeHead(500)
    outgoing.end()
  }
  const before = busy.asked.length
  busy.script.push(afterwards(promise, fails), afterwards(promise, whole()))
  const failing = gold.ask()
  await until('it runs', () => busy.asked.length === before + 1)
  const other = silver.ask()
  await until('both run', () => busy.asked.length === before + 2)
  const later = [silver.ask(), silver.ask()]
  await untilWaiting(2)
  release()
  for (const one of [failing, other, ...later]) assert.equal((await one.over).status, 200)
  assert.equal(busy.asked.length, before + 5)
})

test('fairness of a route applies to each of its upstreams, and a request takes the first free place', async () => {
  const [one, other] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  east.reply = afterwards(one.promise, whole('from the east'))
  west.reply = afterwards(other.promise, whole('from the west'))
  const running = [silver.ask({ model: 'both' }), silver.ask({ model: 'both' })]
  await until('both run', () => east.asked.length + west.asked.length === 2)
  const asked = gold.ask({ model: 'both' })
  await untilWaiting(1, 'east')
  await untilWaiting(1, 'west')
  west.reply = whole('from the west')
  other.resolve()
  assert.match((await asked.over).text, /from the west/)
  assert.equal(await waiting('east'), 0)
  one.resolve()
  for (const each of running) assert.equal((await each.over).status, 200)
})

test('a waiting request holds its slot', async () => {
  const full = await occupy()
  const asked = gold.ask()
  await untilWaiting(1)
  const { concurrent_requests } = await gold.admin('/limits/gold')
  assert.equal(concurrent_requests.used, 1)
  await full.end()
  assert.equal((await asked.over).status, 200)
})

test('a request whose budget is spent waits on the downgrade route', async () => {
  const spent = gateway.as('spent')
  east.reply = whole()
  west.reply = whole()
  assert.equal((await spent.chat({ model: 'both', max_tokens: 3 })).status, 200)
  const full = await occupy()
  const asked = spent.ask({ model: 'both', max_tokens: 3 })
  await untilWaiting(1)
  await full.end()
  const heard = await asked.over
  assert.deepEqual([heard.status, heard.headers['x-gw-upstream']], [200, 'busy'])
})

test('low priority waits after other requests and is served', async () => {
  const full = await occupy()
  const order: string[] = []
  // Its first request starts at the same point as the others; after that it gets a fiftieth.
  const batch = Array.from({ length: 4 }, () => gateway.as('batch').chat({ user: 'batch' }))
  await untilWaiting(4)
  const human = Array.from({ length: 8 }, () => gold.chat({ user: 'gold' }))
  await untilWaiting(12)
  await full.end(async (outgoing, request) => {
    order.push(String(request.body.user))
    await whole()(outgoing, request)
  })
  for (const { status } of await Promise.all([...batch, ...human])) assert.equal(status, 200)
  assert.equal(order.slice(0, 8).filter((tenant) => tenant === 'batch').length, 1)
})

test('status, top and the trace show waiting requests, and shares compared with entitlements', async () => {
  const full = await occupy()
  const asked = gold.ask()
  await untilWaiting(1)
  const where = ['--admin', gold.process.adminUrl]
  const { upstreams } = await gold.admin('/status')
  const [first] = upstreams.find(({ name }: { name: string }) => name === 'busy').fairness.tenants
  assert.deepEqual(
    [first.tenant, first.waiting, first.running, first.entitled],
    ['gold', 1, 0, 0.8],
  )
  const status = await gw('status', ...where)
  assert.match(
    status.stdout,
    /shares of busy \(1 wait\): gold has \d+ % of 80 %, 1 wait; silver has/,
  )
  const top = await gw('top', '--once', ...where)
  assert.match(top.stdout, /UPSTREAM +TENANT +WAITING +RUNNING +SHARE +ENTITLED\nbusy +gold +1 +0 /)
  await full.end()
  const heard = await asked.over
  const { stdout } = await gw('trace', 'get', String(heard.headers['x-request-id']), ...where)
  assert.match(stdout, /waited for a place at busy: granted after/)
})

test('gw explain predicts a wait, and its length', async () => {
  const full = await occupy()
  const asked = gold.ask()
  await untilWaiting(1)
  const where = ['--admin', gold.process.adminUrl]
  const { stdout } = await gw('explain', '--route', 'chat', ...where)
  assert.match(
    stdout,
    /now: 200, by upstream busy, once it has a place: requests wait 30 s at most \(1 do\)/,
  )
  await full.end()
  assert.equal((await asked.over).status, 200)
})

test('a drain completes waiting requests', async () => {
  const full = await occupy()
  const asked = gold.ask()
  await untilWaiting(1)
  gold.process.signal('SIGTERM')
  await until('it drains', () => gold.logged('drain').length > 0 || gold.logged('stop').length > 0)
  await full.end()
  assert.equal((await asked.over).status, 200)
  assert.deepEqual(await gold.process.exited, { code: 0, signal: null })
})
