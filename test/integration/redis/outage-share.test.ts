/**
 * How much replicas admit without their store: together at most the limit, starting from the last
 * known level.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Front, startUpstream } from '../../helpers/fake-upstream.ts'
import { type RedisServer, startRedis } from '../../helpers/redis-server.ts'
import { until } from '../../helpers/until.ts'
import { ANSWER_TOKENS, keysOf, standing, untilIdle } from '../limits/limited-gateway.ts'
import {
  pacedChats,
  type SharedOptions,
  startShared,
  statuses,
  untilStore,
} from './shared-gateways.ts'
import { type FaultProxy, startFaultProxy } from './tcp-fault.ts'
import { atLength } from './tries.ts'

const upstream = await startUpstream()
const keys = keysOf(['rate', 'level', 'flap', 'budget', 'slots'])
let server: RedisServer
let proxy: FaultProxy
before(async () => {
  server = await startRedis()
  proxy = await startFaultProxy(server.socket)
})
after(async () => {
  await proxy.close()
  await server.stop()
  await upstream.close()
})

/** Gateways that know each other. */
async function several(
  count: number,
  tenant: string,
  options: Partial<SharedOptions>,
): Promise<{ fronts: Front[]; stop: () => Promise<unknown> }> {
  proxy.fault = 'none'
  // Replicas of earlier tests that ended without their store would still be counted for a while.
  await server.ask('FLUSHALL')
  const url = `redis://127.0.0.1:${proxy.port}`
  const start = () => startShared({ url, failOpen: true, upstream, keys, ...options })
  const gateways = await Promise.all(Array.from({ length: count }, start))
  const fronts = gateways.map((gateway) => gateway.as(tenant))
  await until(
    'all know all',
    async () => {
      const known = await Promise.all(fronts.map((front) => front.admin('/status')))
      const whole = known.reduce((sum, { store }) => sum + store.share, 0)
      const isSettled = Math.abs(whole - 1) < 0.02
      return (
        isSettled && known.every(({ store }) => store.state === 'up' && store.replicas === count)
      )
    },
    60,
  )
  return { fronts, stop: () => Promise.all(gateways.map((gateway) => gateway.stop())) }
}

test('three replicas without a store together admit at most the limit, and one more each', async (context) => {
  const [perMinute, burst] = [600, 30]
  const limits = { requests_per_minute: perMinute, burst, concurrent_requests: 1000 }
  const { fronts, stop } = await several(3, 'rate', { limits })
  context.after(stop)
  proxy.fault = 'reset'
  await Promise.all(fronts.map((front) => untilStore(front, 'away')))
  const begun = performance.now()
  const answers = await pacedChats(fronts, { requests: atLength(300, 600), everyMs: 10 })
  const seconds = (performance.now() - begun) / 1000
  const { 200: admitted = 0, 429: refused = 0 } = statuses(answers)
  const most = burst + (perMinute / 60) * seconds + fronts.length
  context.diagnostic(`${admitted} admitted in ${seconds.toFixed(1)} s, at most ${most.toFixed(0)}`)
  assert.equal(admitted + refused, answers.length)
  assert.ok(admitted <= most, `${admitted} of ${most}`)
  assert.ok(admitted >= burst, 'the share is used')
  const share = await Promise.all(fronts.map((front) => front.admin('/status')))
  const whole = share.reduce((sum, { store }) => sum + store.share, 0)
  assert.ok(whole > 0.5 && whole < 1.05, `${whole}`)
})

test('the local share begins at the last known level, not full', async (context) => {
  const limits = { requests_per_minute: 1, burst: 20, concurrent_requests: 1000 }
  const { fronts, stop } = await several(1, 'level', { limits })
  context.after(stop)
  const [front] = fronts
  assert.ok(front)
  const spent = await pacedChats([front], { requests: 15, everyMs: 5 })
  assert.deepEqual(statuses(spent), { 200: 15 })
  proxy.fault = 'reset'
  await untilStore(front, 'away')
  const answers = await pacedChats([front], { requests: 20, everyMs: 5 })
  assert.deepEqual(statuses(answers), { 200: 5, 429: 15 })
})

test('a store that flaps allows no extra burst', async (context) => {
  const [perMinute, burst] = [120, 20]
  const limits = { requests_per_minute: perMinute, burst, concurrent_requests: 1000 }
  const { fronts, stop } = await several(2, 'flap', { limits })
  context.after(stop)
  const begun = performance.now()
  const flapping = setInterval(() => {
    proxy.fault = proxy.fault === 'none' ? 'reset' : 'none'
  }, 500)
  const answers = await pacedChats(fronts, { requests: 500, everyMs: 20 })
  clearInterval(flapping)
  const seconds = (performance.now() - begun) / 1000
  const { 200: admitted = 0, 429: refused = 0 } = statuses(answers)
  const limit = burst + (perMinute / 60) * seconds
  context.diagnostic(
    `${admitted} admitted in ${seconds.toFixed(1)} s; the limit is ${limit.toFixed(0)}`,
  )
  assert.equal(admitted + refused, answers.length, 'no other answer')
  assert.ok(admitted <= limit * 1.1 + fronts.length, `${admitted} of ${limit}`)
})

test('each replica gets its part of the remaining budget, then 402, and the accounts are correct', async (context) => {
  const cap = 60 * ANSWER_TOKENS
  const budgets = [{ tenant: 'budget', tokens_per_day: cap }]
  const { fronts, stop } = await several(2, 'budget', { budgets })
  context.after(stop)
  const [front] = fronts
  assert.ok(front)
  for (let asked = 0; asked < 20; asked++) assert.equal((await front.chat()).status, 200)
  await Promise.all(fronts.map((one) => one.chat()))
  await untilIdle(front, 'budget')
  proxy.fault = 'reset'
  await Promise.all(fronts.map((one) => untilStore(one, 'away')))
  let admitted = 0
  for (const one of fronts) {
    for (let asked = 0; asked < 60; asked++) {
      const { status, text } = await one.chat()
      if (status === 200) admitted++
      else assert.equal(status, 402, text)
    }
  }
  context.diagnostic(`${admitted} admitted of the 38 that were left`)
  assert.ok(admitted <= 38 + fronts.length && admitted >= 10, `${admitted}`)
  proxy.fault = 'none'
  await Promise.all(fronts.map((one) => untilStore(one, 'up')))
  await until('all is told', async () => {
    return (await standing(front, 'budget')).tokens_per_day.used === (22 + admitted) * ANSWER_TOKENS
  })
})

test('each replica gets its part of the slots, including running requests', async (context) => {
  const limits = { requests_per_minute: 100_000, burst: 10_000, concurrent_requests: 10 }
  const { fronts, stop } = await several(2, 'slots', { limits })
  context.after(stop)
  const { promise: hold, resolve: release } = Promise.withResolvers<void>()
  const { reply } = upstream
  upstream.reply = async (outgoing, asked) => {
    await hold
    await reply(outgoing, asked)
  }
  const [front] = fronts
  assert.ok(front)
  const served = upstream.asked.length
  const running = pacedChats([front], { requests: 4, everyMs: 5 })
  await until('four run', () => upstream.asked.length === served + 4)
  proxy.fault = 'reset'
  await Promise.all(fronts.map((one) => untilStore(one, 'away')))
  const more = pacedChats(fronts, { requests: 40, everyMs: 5 })
  const store = await Promise.all(fronts.map((one) => one.admin('/status')))
  const most = store.reduce(
    (sum, { store: { share } }) => sum + Math.max(1, Math.floor(10 * share)),
    0,
  )
  await until('the slots are full', () => upstream.asked.length >= served + most)
  release()
  const { 200: admitted = 0 } = statuses(await more)
  upstream.reply = reply
  assert.deepEqual(statuses(await running), { 200: 4 })
  assert.ok(admitted >= most - 4, `${admitted} of ${most}`)
  proxy.fault = 'none'
  await Promise.all(fronts.map((one) => untilStore(one, 'up')))
  await untilIdle(front, 'slots')
})
