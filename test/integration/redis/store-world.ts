/** Shared stores on a real server, for tests: a link that sends in batches and takes its time from the test. */
import { hash } from 'node:crypto'
import { Redis } from 'ioredis'
import type { Clock } from '../../../dataplane/base/clock.ts'
import type { Link, Script } from '../../../dataplane/store/redis/link.ts'
import { RedisStore } from '../../../dataplane/store/redis/store.ts'
import type { RedisServer } from '../../helpers/redis-server.ts'

export interface TestLink extends Link {
  readonly client: Redis
  /** The number of executed scripts. */
  calls: number
  close(): void
}

/** Without deadline and breaker: a test that waits for an answer gets it. */
export function openLink({ socket }: Pick<RedisServer, 'socket'>): TestLink {
  const client = new Redis({
    path: socket,
    enableOfflineQueue: true,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    retryStrategy: () => null,
    enableAutoPipelining: true,
  })
  client.on('error', () => undefined)
  const shas = new Map<Script, string>()
  return {
    client,
    calls: 0,
    close: () => client.disconnect(),
    async run(script, keys, args) {
      this.calls++
      const sha = shas.get(script) ?? hash('sha1', script.lua)
      shas.set(script, sha)
      const values = [...keys, ...args]
      try {
        return await client.evalsha(sha, keys.length, ...values)
      } catch (error) {
        if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
        return await client.eval(script.lua, keys.length, ...values)
      }
    },
  }
}

/** A clock that does not advance, so that only the store's time counts. */
export const STILL: Clock = { now: () => 0, wall: () => 0 }

export function aStore(
  link: Link,
  given: Partial<ConstructorParameters<typeof RedisStore>[1]> = {},
): RedisStore {
  return new RedisStore(link, { keyPrefix: 'gw', replica: 'one', clock: STILL, ...given })
}
