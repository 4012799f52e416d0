/**
 * Several gateways, their shared store and random faults, in virtual time. `GW_SEEDS=1-100000` runs
 * those seeds; `GW_SEEDS=17` runs one and prints all its events.
 */
import { after, test } from 'node:test'
import { startRedis } from '../helpers/redis-server.ts'
import { recordResult } from '../helpers/results.ts'
import { busyPlanOf, calmPlanOf } from './busy-plan.ts'
import { leavingPlanOf } from './plan.ts'
import { openRedis, Server } from './redis-backend.ts'
import { assertKept, runSeeds, seedsOf } from './seeds.ts'

const FILE = 'test/simulation/histories.test.ts'

const redis = await startRedis()
const server = await Server.connect(redis.socket)
after(async () => {
  server.close()
  await redis.stop()
})

test('histories with lost replies, outages, crashes, flushes and wrong clocks', async (context) => {
  const sum = await runSeeds(seedsOf(2000), openRedis(server))
  const { histories, requests, byState } = sum
  context.diagnostic(`${requests} requests: ${JSON.stringify(Object.fromEntries(byState))}`)
  const broken = `${sum.failed.length} broken promises`
  recordResult('simulation', broken, `${histories} histories, ${requests} requests`)
  assertKept(sum, FILE)
})

test('histories of a tenant with large counters and many requests', async (context) => {
  const sum = await runSeeds(
    seedsOf(process.env.GW_LONG ? 10_000 : 60),
    openRedis(server),
    busyPlanOf,
  )
  context.diagnostic(`${sum.requests} requests: ${JSON.stringify(Object.fromEntries(sum.byState))}`)
  assertKept(sum, FILE)
})

test('without faults no request is refused with more than 2 % of its counters left', async (context) => {
  const sum = await runSeeds(seedsOf(process.env.GW_LONG ? 200 : 16), openRedis(server), calmPlanOf)
  context.diagnostic(`${sum.requests} requests: ${JSON.stringify(Object.fromEntries(sum.byState))}`)
  assertKept(sum, FILE)
})

test('clients that disconnect at random moments leave no slot and no hold', async (context) => {
  // The long run: a hundred thousand clients that disconnect.
  const seeds = seedsOf(process.env.GW_LONG ? 210 : 42)
  const sum = await runSeeds(seeds, openRedis(server), leavingPlanOf)
  context.diagnostic(`${sum.aborts} clients left`)
  recordResult(
    'simulated_aborts',
    `${sum.failed.length === 0 ? 0 : 'some'}`,
    `${sum.aborts} aborts`,
  )
  assertKept(sum, FILE)
})
