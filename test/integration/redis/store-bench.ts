/**
 * The base of tests of a store on a real Redis: a server that is empty before each test, and a
 * clock that the test sets.
 */
import { after, before, beforeEach } from 'node:test'
import type { RedisStore } from '../../../dataplane/store/redis/store.ts'
import { aClock, type TurnedClock } from '../../helpers/clock.ts'
import { type RedisServer, startRedis } from '../../helpers/redis-server.ts'
import { atTime } from '../../helpers/store/script-time.ts'
import { aStore, openLink, type TestLink } from './store-world.ts'

export class StoreBench {
  server!: RedisServer
  link!: TestLink
  clock!: TurnedClock

  /** A gateway's store whose server has the same time. */
  replica(name: string): RedisStore {
    const { clock } = this
    return aStore(atTime(this.link, clock.wall), { replica: name, clock })
  }
}

/** Shared by all tests of the calling file. */
export function aStoreBench(): StoreBench {
  const bench = new StoreBench()
  before(async () => {
    bench.server = await startRedis()
    bench.link = openLink(bench.server)
  })
  beforeEach(async () => {
    await bench.link.client.flushall()
    bench.clock = aClock()
  })
  after(async () => {
    bench.link.close()
    await bench.server.stop()
  })
  return bench
}
