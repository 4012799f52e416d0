/** priority: low leaves the last quarter of a busy upstream to interactive traffic. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import {
  after as afterwards,
  errorOf,
  type Reply,
  startUpstream,
  whole,
} from '../helpers/fake-upstream.ts'
import { PLENTY } from '../helpers/gateway-process.ts'
import { recordResult } from '../helpers/results.ts'
import { until } from '../helpers/until.ts'
import { keysOf, startLimited } from './limits/limited-gateway.ts'

const PLACES = 8
const LOW_PLACES = 6
const FLOOD = 32
const INTERACTIVE = 200

const slow: Reply = async (outgoing, asked) => {
  await delay(5)
  await whole()(outgoing, asked)
}

const [busy, spare] = await Promise.all([startUpstream(), startUpstream()])
const gateway = await startLimited(
  {
    upstreams: [
      { name: 'busy', endpoint: busy.url, max_queue_depth: PLACES },
      { name: 'spare', endpoint: spare.url, max_queue_depth: 100 },
    ],
    routes: [
      { name: 'chat', strategy: 'single', primary: 'busy' },
      {
        name: 'spilling',
        strategy: 'primary_with_fallback',
        primary: 'busy',
        fallback: ['spare'],
      },
    ],
    rate_limits: {
      default: PLENTY,
      tenants: [{ tenant: 'batch', priority: 'low' }],
    },
  },
  keysOf(['batch', 'greedy', 'human']),
)
after(() => Promise.all([gateway.stop(), busy.close(), spare.close()]))

async function occupy(tenant: string, count: number) {
  const { promise, resolve: release } = Promise.withResolvers<void>()
  const asked = busy.asked.length
  busy.reply = afterwards(promise, whole())
  const running = Array.from({ length: count }, () => gateway.as(tenant).chat())
  await until('the upstream has the requests', () => busy.asked.length === asked + count)
  return {
    async end() {
      release()
      busy.reply = whole()
      for (const { status } of await Promise.all(running)) assert.equal(status, 200)
    },
  }
}

test('low priority is shed at three quarters, and the last quarter remains for the others', async () => {
  const batch = await occupy('batch', LOW_PLACES)
  const refused = await gateway.as('batch').chat()
  assert.equal(refused.status, 503)
  assert.equal(errorOf(refused).code, 'ERR_GW_QUEUE_SATURATED')
  assert.match(errorOf(refused).message, /full for requests of low priority/)
  assert.equal(refused.headers['retry-after'], '1')
  const { passed_over } = await gateway.as('batch').trace(refused)
  assert.deepEqual(passed_over, [{ upstream: 'busy', why: 'full for low priority: 6 in flight' }])
  const human = await occupy('human', PLACES - LOW_PLACES)
  const full = await gateway.as('human').chat()
  assert.equal(errorOf(full).code, 'ERR_GW_QUEUE_SATURATED')
  assert.doesNotMatch(errorOf(full).message, /priority/)
  await Promise.all([batch.end(), human.end()])
})

test('places taken by other requests count as well', async () => {
  const human = await occupy('human', LOW_PLACES)
  assert.equal((await gateway.as('batch').chat()).status, 503)
  await human.end()
  assert.equal((await gateway.as('batch').chat()).status, 200)
})

test('low priority spills to the fallback while other requests still reach the primary', async () => {
  const batch = await occupy('batch', LOW_PLACES)
  const spilled = await gateway.as('batch').chat({ model: 'spilling' })
  assert.equal(spilled.headers['x-gw-upstream'], 'spare')
  busy.script.push(whole())
  const stays = await gateway.as('human').chat({ model: 'spilling' })
  assert.equal(stays.headers['x-gw-upstream'], 'busy')
  await batch.end()
})

/**
 * How many interactive requests, one or two at a time, are shed while other requests flood the
 * upstream.
 */
async function shedUnder(tenant: string): Promise<{ shed: number; flooded: number }> {
  let flooding = true
  let flooded = 0
  const flood = Array.from({ length: FLOOD }, async () => {
    while (flooding) if ((await gateway.as(tenant).chat()).status === 200) flooded++
  })
  let shed = 0
  const human = async () => {
    for (let asked = 0; asked < INTERACTIVE / 2; asked++) {
      if ((await gateway.as('human').chat()).status === 503) shed++
    }
  }
  busy.reply = slow
  await until('the flood has arrived', () => flooded > FLOOD)
  await Promise.all([human(), human()])
  flooding = false
  await Promise.all(flood)
  return { shed, flooded }
}

test('a flood of low priority sheds no interactive request, a flood of normal priority does', async () => {
  const low = await shedUnder('batch')
  const normal = await shedUnder('greedy')
  const rate = ({ shed }: { shed: number }) => `${shed} of ${INTERACTIVE}`
  recordResult('priority', rate(low), `a flood of normal priority sheds ${rate(normal)}`)
  assert.equal(low.shed, 0)
  assert.ok(normal.shed > 0)
  assert.ok(low.flooded > 0, 'low priority is still served')
})
