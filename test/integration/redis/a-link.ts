/** A link to a real server, created as the gateway creates one, with its reports. */
import { systemClock } from '../../../dataplane/base/clock.ts'
import { parseRedisUrl } from '../../../dataplane/config/redis-url.ts'
import type { Tls } from '../../../dataplane/config/tls-files.ts'
import { secureContextOf } from '../../../dataplane/connection/secure-context.ts'
import { type Script, StoreAway } from '../../../dataplane/store/redis/link.ts'
import { openClient } from '../../../dataplane/store/redis/redis-client.ts'
import { RedisLink } from '../../../dataplane/store/redis/redis-link.ts'
import { Replicas } from '../../../dataplane/store/shared/replicas.ts'

export interface ALink {
  readonly link: RedisLink
  /** `up` and `away`, in the order of the reports. */
  readonly changes: string[]
  readonly failures: StoreAway[]
  /** The number of consecutive good probes before each `up`. */
  readonly probes: number[]
  close(): void
}

export interface ALinkOptions {
  readonly timeoutMs?: number
  /** Files, as in the section of that name. */
  readonly tls?: Tls
  /** The longest duration of the start. */
  readonly startMs?: number
}

let links = 0

export async function aLink(url: string, options: ALinkOptions = {}): Promise<ALink> {
  const { timeoutMs = 2_000, tls = {}, startMs = 30_000 } = options
  const clock = systemClock
  const replica = `r${++links}`
  const replicas = new Replicas({ keyPrefix: 'gw', replica, expected: 1, clock })
  const changes: string[] = []
  const failures: StoreAway[] = []
  const probes: number[] = []
  let good = 0
  const link = new RedisLink({
    open: (connectMs, on) =>
      openClient({
        place: parseRedisUrl(url),
        secureContext: () => secureContextOf(tls),
        connectMs,
        ...on,
      }),
    clock,
    random: Math.random,
    timeoutMs,
    async probe(send) {
      try {
        await replicas.announce(send)
        good++
      } catch (error) {
        good = 0
        throw error
      }
    },
    onChange(isUp) {
      changes.push(isUp ? 'up' : 'away')
      if (isUp) {
        replicas.returned()
        probes.push(good)
      }
      good = 0
    },
    onFailure: (away) => void failures.push(away),
  })
  await link.start(startMs)
  return { link, changes, failures, probes, close: () => link.close() }
}

/** Counts calls in a key that expires. */
export const COUNT: Script = {
  name: 'count',
  lua: "local n = redis.call('INCR', KEYS[1]) redis.call('PEXPIRE', KEYS[1], 60000) return n + ARGV[1]",
}

export async function count({ link }: Pick<ALink, 'link'>, key = 'gw:v1:{t}:n'): Promise<number> {
  return Number(await link.run(COUNT, [key], [0]))
}

/** The reason of the refusal, and the milliseconds until it. */
export async function refusal(asked: Promise<unknown>): Promise<{ reason: string; ms: number }> {
  const begun = performance.now()
  const error = await asked.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  const ms = performance.now() - begun
  if (error === undefined) return { reason: 'none', ms }
  if (!(error instanceof StoreAway)) throw error
  return { reason: error.reason, ms }
}
