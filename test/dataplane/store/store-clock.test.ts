/** The store's time as a replica knows it, from replies that it reads sooner or later. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Link } from '../../../dataplane/store/redis/link.ts'
import { RedisStore } from '../../../dataplane/store/redis/store.ts'
import { aClock } from '../../helpers/clock.ts'
import { aRule } from '../../helpers/store/world.ts'

const AHEAD_MS = 7_000

/** A store whose clock is ahead, and a replica that reads a reply some milliseconds after its call. */
function aPausingStore() {
  const clock = aClock()
  const world = { aheadMs: AHEAD_MS, pauseMs: 0 }
  const link: Link = {
    async run() {
      const time = clock.wall() + world.aheadMs
      clock.pass(world.pauseMs)
      return [1, time, 0, 1000, 0, -1, -1, 1, 0, 0]
    },
  }
  const store = new RedisStore(link, { keyPrefix: 'gw', replica: 'one', clock })
  const read = async (pauseMs: number) => {
    world.pauseMs = pauseMs
    await store.read('acme', aRule())
    return store.wall - clock.wall()
  }
  return { world, read }
}

test('a replica that reads a reply late does not put the clock of the store back', async () => {
  const { read } = aPausingStore()
  assert.equal(await read(0), AHEAD_MS)
  assert.equal(await read(900), AHEAD_MS)
})

test('after a reply that was late, an earlier one puts the clock right', async () => {
  const { read } = aPausingStore()
  assert.equal(await read(900), AHEAD_MS - 900)
  assert.equal(await read(2), AHEAD_MS - 2)
  assert.equal(await read(1), AHEAD_MS - 1)
})

test('a clock of the store that goes back or forth is followed at once', async () => {
  const { world, read } = aPausingStore()
  await read(0)
  for (const aheadMs of [-3_600_000, 60_000]) {
    world.aheadMs = aheadMs
    assert.equal(await read(0), aheadMs)
  }
})
