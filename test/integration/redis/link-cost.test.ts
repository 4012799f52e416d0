/** The cost of the shared store: calls for each request. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startUpstream } from '../../helpers/fake-upstream.ts'
import { startRedis } from '../../helpers/redis-server.ts'
import { until } from '../../helpers/until.ts'
import { keysOf } from '../limits/limited-gateway.ts'
import { PLENTY, pacedChats, startShared, statuses } from './shared-gateways.ts'
import { bestTry } from './tries.ts'

const REQUESTS = 300
const REFUSED = 50

test('an admitted request costs at most two calls, and one refused before admission costs none', async (context) => {
  const upstream = await startUpstream()
  context.after(() => upstream.close())
  const server = await startRedis()
  context.after(() => server.stop())
  const keys = keysOf(['acme'])
  const budgets = [{ tenant: 'acme', tokens_per_day: 1_000_000 }]
  const url = `unix://${server.socket}`
  // Too small a bucket for slices: each request asks the store.
  const limits = { ...PLENTY, burst: 199 }
  const options = { url, failOpen: false, upstream, keys, budgets, limits, hasSlices: true }
  const gateway = await startShared(options)
  context.after(() => gateway.stop())
  const front = gateway.as('acme')
  assert.equal((await front.chat()).status, 200)
  const calls = async () => {
    const stats = await server.ask('INFO', 'commandstats')
    const counts = [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)]
    return counts.reduce((sum, [, count]) => sum + Number(count), 0)
  }
  const begun = performance.now()
  const before = await calls()
  const answers = await pacedChats([front], { requests: REQUESTS, everyMs: 3 })
  assert.deepEqual(statuses(answers), { 200: REQUESTS })
  const made = async () => (await calls()) - before
  const running = async () => (await server.ask('HLEN', 'gw:v1:{acme}:leases')).trim()
  await until('each is settled', async () => (await running()) === ':0', 30)
  const used = await made()
  // Announcements and renewals.
  const others = 5 * Math.ceil((performance.now() - begun) / 1000) + 20
  context.diagnostic(`${used} calls for ${REQUESTS} requests, ${others} for the time`)
  assert.ok(used <= 2 * REQUESTS + others, `${used} calls`)
  const cost = await bestTry(
    async () => {
      // A refused client gets figures that are at most a second old.
      assert.equal((await front.chat()).status, 200)
      const callsBefore = await calls()
      const refused = await Promise.all(
        Array.from({ length: REFUSED }, () => front.chat({ model: 'unknown' })),
      )
      for (const { status, headers } of refused) {
        assert.ok(status === 404 && headers['x-gw-ratelimit-limit'])
      }
      return (await calls()) - callsBefore
    },
    (few) => few <= 10,
  )
  assert.ok(cost <= REFUSED / 2, `${cost} calls for ${REFUSED} that were refused`)
})
