/** A store that does not answer, and processes that pause meanwhile: slices and shares admit what they would without a pause. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { type Front, startUpstream } from '../../helpers/fake-upstream.ts'
import { startRedis } from '../../helpers/redis-server.ts'
import { until } from '../../helpers/until.ts'
import { untilCovered } from '../limits/idle-slices.ts'
import { ANSWER_TOKENS, keysOf, standing } from '../limits/limited-gateway.ts'
import {
  PLENTY,
  pacedChats,
  type SharedOptions,
  startShared,
  statuses,
  untilStore,
} from './shared-gateways.ts'
import { startFaultProxy } from './tcp-fault.ts'

const REQUESTS = 300
const EVERY_MS = 10
const PAUSE_MS = 400
/** Faster than in the outage. */
const BEFORE = { requests: 100, everyMs: 1 }

/** Also a share of a thousandth has slots for all that run at once. */
const LIMITS = { ...PLENTY, concurrent_requests: 1_000_000 }

const upstream = await startUpstream()
const server = await startRedis()
const proxy = await startFaultProxy(server.socket)
const keys = keysOf(['asked', 'sliced', 'closed'])
after(async () => {
  await proxy.close()
  await Promise.all([server.stop(), upstream.close()])
})

/** A counter without a slice for each request, because each is of another user. */
const EACH_USER = {
  ...{ name: 'user', for: { each: 'user' } },
  ...{ requests_per_minute: 10_000_000, burst: 1_000_000 },
}

function start(tenant: string, given: Pick<SharedOptions, 'failOpen' | 'hasSlices' | 'timeoutMs'>) {
  const url = `redis://127.0.0.1:${proxy.port}`
  const budgets = [{ tenant, tokens_per_day: 1_000_000_000 }]
  const further = given.hasSlices ? [] : [EACH_USER]
  return startShared({ url, upstream, keys, budgets, limits: LIMITS, further, ...given })
}

/** A process that the machine does not run for a while: its clocks go on, and all that came is in one turn. */
async function pause({ process }: Front, times: number): Promise<void> {
  for (let paused = 0; paused < times; paused++) {
    process.signal('SIGSTOP')
    await delay(PAUSE_MS)
    process.signal('SIGCONT')
    await delay(PAUSE_MS / 2)
  }
}

/** Asks while the store swallows all and the process pauses; returns how many were answered with each status. */
async function suffer(front: Front, tenant: string) {
  const used = async () => (await standing(front, tenant)).tokens_per_day.used
  const before = await used()
  proxy.fault = 'swallow'
  const load = pacedChats([front], { requests: REQUESTS, everyMs: EVERY_MS })
  await pause(front, 3)
  const answers = await load
  proxy.fault = 'none'
  await untilStore(front, 'up', 30)
  const counts = statuses(answers)
  const all = before + (counts[200] ?? 0) * ANSWER_TOKENS
  await until(`${all} tokens are settled`, async () => (await used()) === all)
  return counts
}

for (const [tenant, hasSlices] of [
  ['asked', false],
  ['sliced', true],
] as const) {
  test(`fail_open: true, ${tenant}: a black-holed store and late turns refuse nothing beside a replica that was killed`, async (context) => {
    const first = await start(tenant, { failOpen: true, hasSlices })
    await untilStore(first.as(tenant), 'up', 30)
    await pacedChats([first.as(tenant)], BEFORE)
    const gateway = await start(tenant, { failOpen: true, hasSlices })
    context.after(() => gateway.stop())
    const front = gateway.as(tenant)
    await untilStore(front, 'up', 30)
    first.as(tenant).process.signal('SIGKILL')
    await first.stop()
    await pacedChats([front], { requests: 20, everyMs: EVERY_MS })
    const [local, slices] = await decided(front)
    assert.deepEqual(await suffer(front, tenant), { 200: REQUESTS })
    const [localAfter, slicesAfter] = await decided(front)
    context.diagnostic(`${localAfter - local} by the share, ${slicesAfter - slices} by slices`)
    assert.equal(slicesAfter > slices, hasSlices)
  })
}

async function decided(front: Front): Promise<readonly [number, number]> {
  const series = await front.series()
  return [
    series.get('gw_store_local_admissions_total') ?? 0,
    series.get('gw_store_decisions_total{by="slice"}') ?? 0,
  ]
}

test('fail_open: false: a process that pauses in an outage refuses none that slices cover', async (context) => {
  const gateway = await start('closed', { failOpen: false, hasSlices: true, timeoutMs: 1000 })
  context.after(() => gateway.stop())
  const front = gateway.as('closed')
  await untilStore(front, 'up', 30)
  const room = { requests: 1.5 * REQUESTS, slots: 1000 / EVERY_MS }
  await untilCovered([front], room, () => pacedChats([front], BEFORE))
  assert.deepEqual(await suffer(front, 'closed'), { 200: REQUESTS })
})
