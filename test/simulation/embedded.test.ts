/**
 * The histories of the simulation in the store for the processes of one machine, and the same calls in Redis: every
 * reply is equal. `GW_SEEDS=1-1000` runs those seeds.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { startRedis } from '../helpers/redis-server.ts'
import { startEmbedded } from '../helpers/store/embedded-server.ts'
import { busyPlanOf } from './busy-plan.ts'
import { type Copy, openRedis, type Scripts, Server } from './redis-backend.ts'
import { assertKept, runSeeds, seedsOf } from './seeds.ts'

const FILE = 'test/simulation/embedded.test.ts'

const store = await startEmbedded()
const embedded = await Server.connect(store.socket)
const redis = await startRedis()
const real = await Server.connect(redis.socket)
after(async () => {
  embedded.close()
  real.close()
  await store.stop()
  await redis.stop()
})

/** Calls both. Births of windows have the chosen time too, so that replies do not depend on the clocks of the servers. */
class Both implements Scripts {
  compared = 0
  readonly differences: unknown[] = []

  async run(lua: string, keys: readonly string[], args: readonly (string | number)[]) {
    const timed = lua.replaceAll("call('TIME')", 'CHOSEN_TIME')
    const [expected, reply] = await Promise.all([
      real.run(timed, keys, args),
      embedded.run(timed, keys, args),
    ])
    this.compared++
    if (!isDeepStrictEqual(reply, expected)) this.differences.push({ keys, args, reply, expected })
    return reply
  }

  async flush(keys: readonly string[]): Promise<void> {
    await Promise.all([real.flush(keys), embedded.flush(keys)])
  }

  async copy(keys: readonly string[]): Promise<Copy> {
    const [values, own] = await Promise.all([real.copy(keys), embedded.copy(keys)])
    this.#copies.set(values, own)
    return values
  }

  async restore(copy: Copy): Promise<void> {
    await Promise.all([real.restore(copy), embedded.restore(this.#copies.get(copy) ?? copy)])
  }

  /** Each server packs values in its own way. */
  readonly #copies = new WeakMap<Copy, Copy>()
}

test('histories keep every promise in the store of one machine', async (context) => {
  const sum = await runSeeds(seedsOf(process.env.GW_LONG ? 5_000 : 100), openRedis(embedded))
  context.diagnostic(`${sum.histories} histories, ${sum.requests} requests`)
  assertKept(sum, FILE)
})

for (const [name, toPlan] of [
  ['of all faults', undefined],
  ['of a busy tenant', busyPlanOf],
] as const) {
  test(`every reply in histories ${name} is that of Redis`, async (context) => {
    const both = new Both()
    const seeds = seedsOf(process.env.GW_LONG ? 1_000 : toPlan === undefined ? 60 : 5)
    const sum = await runSeeds(seeds, openRedis(both), toPlan)
    context.diagnostic(`${both.compared} replies, ${sum.requests} requests`)
    assert.deepEqual(both.differences.slice(0, 3), [])
    assert.ok(both.compared > 0)
  })
}
