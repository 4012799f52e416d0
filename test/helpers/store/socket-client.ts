/** The gateway's own client of Redis, on the unix socket of a server. */
import { parseRedisUrl } from '../../../dataplane/config/redis-url.ts'
import { openClient, type RedisClient } from '../../../dataplane/store/redis/redis-client.ts'

export async function openOnSocket(socket: string): Promise<RedisClient> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const client = openClient({
    place: parseRedisUrl(`unix://${socket}`),
    secureContext: () => {
      throw new Error('A socket has no TLS.')
    },
    connectMs: 10_000,
    onReady: resolve,
    onEnd: (error) => reject(error ?? new Error('The connection to Redis ended.')),
  })
  await promise
  return client
}
