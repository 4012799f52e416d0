/** What the shared store costs: calls for each request. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startUpstream } from '../fake-upstream.ts'
import { keysOf, untilIdle } from '../limits/limited-gateway.ts'
import { startRedis } from './redis-server.ts'
import { pacedChats, startShared, statuses } from './shared-gateways.ts'

const REQUESTS = 300

test('an admitted request costs two calls, and one that is refused before costs none', async (context) => {
  const upstream = await startUpstream()
  context.after(() => upstream.close())
  const server = await startRedis()
  context.after(() => server.stop())
  const keys = keysOf(['acme'])
  const budgets = [{ tenant: 'acme', tokens_per_day: 1_000_000 }]
  const url = `unix://${server.socket}`
  const gateway = await startShared({ url, failOpen: false, upstream, keys, budgets })
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
  const told = await pacedChats([front], { requests: REQUESTS, everyMs: 3 })
  assert.deepEqual(statuses(told), { 200: REQUESTS })
  const refused = await Promise.all(
    Array.from({ length: 50 }, () => front.chat({ model: 'unknown' })),
  )
  assert.ok(
    refused.every(({ status, headers }) => status === 404 && headers['x-gw-ratelimit-limit']),
  )
  await untilIdle(front, 'acme')
  const used = (await calls()) - before
  const seconds = Math.ceil((performance.now() - begun) / 1000)
  context.diagnostic(`${used} calls for ${REQUESTS} requests and ${seconds} s of announcements`)
  // Announcements, renewals, and the looks of this test.
  assert.ok(used <= 2 * REQUESTS + 4 * seconds + 20, `${used} calls`)
})
