/** A link to a real server, as the gateway makes one, with what it told on the way. */
import { systemClock } from '../../../dataplane/clock.ts'
import { parseRedisUrl } from '../../../dataplane/config/redis-url.ts'
import { type Script, StoreAway } from '../../../dataplane/store/link.ts'
import { openClient } from '../../../dataplane/store/redis-client.ts'
import { RedisLink } from '../../../dataplane/store/redis-link.ts'
import { Replicas } from '../../../dataplane/store/replicas.ts'
import { secureContextOf } from '../../../dataplane/upstream/secure-context.ts'

export interface ALink {
  readonly link: RedisLink
  readonly replicas: Replicas
  /** `up`, `away`, in the order in which they were told. */
  readonly told: string[]
  readonly failures: StoreAway[]
  close(): void
}

export interface ALinkOptions {
  readonly timeoutMs?: number
  readonly ca?: string
  readonly replica?: string
  readonly keyPrefix?: string
  /** How long the start may take. */
  readonly startMs?: number
}

let links = 0

export async function aLink(url: string, options: ALinkOptions = {}): Promise<ALink> {
  const { timeoutMs = 200, ca, replica = `r${++links}`, keyPrefix = 'gw', startMs = 5000 } = options
  const clock = systemClock
  const replicas = new Replicas({ keyPrefix, replica, expected: 1, clock })
  const told: string[] = []
  const failures: StoreAway[] = []
  const link = new RedisLink({
    open: (connectMs, on) =>
      openClient({
        place: parseRedisUrl(url),
        secureContext: () => secureContextOf(ca === undefined ? {} : { ca_bundle_path: ca }),
        connectMs,
        ...on,
      }),
    clock,
    random: Math.random,
    timeoutMs,
    probe: (send) => replicas.announce(send),
    onChange(isUp) {
      told.push(isUp ? 'up' : 'away')
      if (isUp) replicas.returned()
    },
    onFailure: (away) => void failures.push(away),
  })
  await link.start(startMs)
  return { link, replicas, told, failures, close: () => link.close() }
}

/** Counts calls in a key that goes by itself. */
export const COUNT: Script = {
  name: 'count',
  lua: "local n = redis.call('INCR', KEYS[1]) redis.call('PEXPIRE', KEYS[1], 60000) return n + ARGV[1]",
}

export async function count({ link }: Pick<ALink, 'link'>, key = 'gw:v1:{t}:n'): Promise<number> {
  return Number(await link.run(COUNT, [key], [0]))
}

/** Why it was refused, and after how many milliseconds. */
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
