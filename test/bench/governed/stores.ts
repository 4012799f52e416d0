/** The stores that systems share: a Redis, and a Postgres. */
import { startRedis } from '../../helpers/redis-server.ts'
import { startPostgres } from '../../helpers/vector-stores/postgres-server.ts'
import type { Store } from './system.ts'

export async function aRedis(): Promise<Store> {
  const redis = await startRedis({ port: 'free' })
  return {
    url: `redis://127.0.0.1:${redis.port}`,
    async end() {
      redis.signal('SIGKILL')
      await redis.exited
    },
    stop: () => redis.stop(),
  }
}

export async function aPostgres(): Promise<Store> {
  const postgres = await startPostgres()
  const { protocol, host, pathname, username } = new URL(postgres.url)
  let ended: Promise<void> | undefined
  const stop = () => {
    ended ??= postgres.stop()
    return ended
  }
  const url = `${protocol}//${username}:${postgres.password}@${host}${pathname}`
  return { url, end: stop, stop }
}
