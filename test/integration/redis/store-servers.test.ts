/** The scripts on every supported server, compared with the full history. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { LEASE_MS } from '../../../dataplane/accounts/store.ts'
import { aClock } from '../../helpers/clock.ts'
import { REDIS, type RedisServer, startRedis } from '../../helpers/redis-server.ts'
import { atTime } from '../../helpers/store/script-time.ts'
import { aBudget, aRule, verdict } from '../../helpers/store/world.ts'
import { openBatchedLink } from './batched-link.ts'
import { debianCommand } from './debian-servers.ts'
import type { Order } from './model-worker.ts'
import { aStore } from './store-world.ts'

const SERVERS: readonly (readonly [name: string, command: () => Promise<readonly string[]>])[] = [
  ['Redis 7', async () => [REDIS]],
  ['Redis 8', () => debianCommand('redis-server')],
  ['Valkey 8', () => debianCommand('valkey-server')],
]

/** The most that a window counts. */
const MOST = Number.MAX_SAFE_INTEGER

for (const [name, command] of SERVERS) {
  test(`on ${name} 1,000 random histories give the answers of the full history`, async () => {
    await on(await command(), async ({ socket }) => {
      const order: Order = { socket, histories: 1_000, seed: Date.now() % 2 ** 30, name: 'h' }
      const worker = new Worker(new URL('model-worker.ts', import.meta.url), { workerData: order })
      await once(worker, 'message')
    })
  })

  test(`on ${name} no digit of the largest amounts is lost`, async () => {
    await on(await command(), async (server) => {
      // When it reads a number, ioredis adds before it subtracts, and so loses the last digit of
      // these.
      const link = await openBatchedLink(server.socket)
      const clock = aClock()
      const store = aStore(atTime(link, clock.wall), { clock })
      const budget = aBudget({ tokensPerDay: MOST, nanosPerMonth: MOST })
      const rules = aRule({ budget })
      const estimate = { tokens: MOST - 2, nanos: MOST - 4 }
      const hold = { tenant: 'acme', id: 'a' }
      assert.equal(verdict(await store.admit({ ...hold, rules, estimate })), 'admitted')
      const held = await store.read('acme', rules)
      assert.deepEqual([held.tokens?.reserved, held.spend?.reserved], [MOST - 2, MOST - 4])
      await store.renew([{ ...hold, used: { tokens: MOST - 3, nanos: MOST - 5 } }])
      clock.pass(LEASE_MS)
      const charged = await store.read('acme', rules)
      assert.deepEqual([charged.tokens?.settled, charged.spend?.settled], [MOST - 3, MOST - 5])
      await store.settle({ ...hold, used: estimate, budget })
      const settled = await store.read('acme', rules)
      assert.deepEqual([settled.tokens?.settled, settled.spend?.settled], [MOST - 2, MOST - 4])
      link.close()
    })
  })
}

async function on(
  command: readonly string[],
  use: (server: RedisServer) => Promise<void>,
): Promise<void> {
  const server = await startRedis({ command })
  try {
    await use(server)
  } finally {
    await server.stop()
  }
}
