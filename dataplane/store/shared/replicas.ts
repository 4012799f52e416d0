/** The number of gateways that share the store, and this one's fraction of the admissions, which is its local share. */
import type { Clock } from '../../base/clock.ts'
import type { Link, Script } from '../redis/link.ts'
import { replicasKey } from '../roots.ts'

/** A replica without an announcement for this time has ended. */
const PRESENT_MS = 15_000

/** Admissions are forgotten with this time constant. */
const MEMORY_MS = 60_000

/** A fraction rises only after all announcements of this time returned it; replicas announce themselves once a second. */
const RISE_MS = 2000

/**
 * One hash for all replicas: id to weight and expiry. It writes, which also detects a read-only server. Returns the
 * number of replicas and the sum of their weights.
 */
const ANNOUNCE: Script = {
  name: 'announce',
  lua: `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local me, weight, present = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
if present == 0 then
  redis.call('HDEL', KEYS[1], me)
  return {0, 0}
end
redis.call('HSET', KEYS[1], me, string.format('%.0f:%.0f', weight, now + present))
redis.call('PEXPIRE', KEYS[1], present)
local count, sum, gone = 0, 0, {}
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local one, expires = string.match(all[i + 1], '^(%d+):(%d+)$')
  if one == nil or tonumber(expires) <= now then
    gone[#gone + 1] = all[i]
  else
    count = count + 1
    sum = sum + tonumber(one)
  end
end
if #gone > 0 and #gone <= 1000 then redis.call('HDEL', KEYS[1], unpack(gone)) end
return {count, sum}
`,
}

export interface ReplicasOptions {
  readonly keyPrefix: string
  /** Names this process. */
  readonly replica: string
  /** Number of replicas in the configuration; used until the store has answered. */
  readonly expected: number
  readonly clock: Clock
}

export class Replicas {
  /** Admissions of about the last minute; the store's owner increments it. */
  admissions = 0
  count: number
  /** Fractions of all replicas add up to 1, or to less while they change. */
  fraction: number
  /** The fractions that announcements of that time returned, and the last one before. */
  readonly #returned: { readonly fraction: number; readonly at: number }[] = []
  readonly #keys: readonly string[]
  readonly #replica: string
  readonly #clock: Clock
  #beatAt: number
  /** Until this time a smaller number is ignored, because peers return one by one after an outage. */
  #believesFewerAt = 0

  constructor({ keyPrefix, replica, expected, clock }: ReplicasOptions) {
    this.#keys = [replicasKey(keyPrefix)]
    this.#replica = replica
    this.#clock = clock
    this.count = Math.max(1, expected)
    this.fraction = 1 / this.count
    this.#beatAt = clock.now()
  }

  /** Notes the return of the store. */
  returned(): void {
    this.#believesFewerAt = this.#clock.now() + PRESENT_MS
  }

  /** Every replica has a weight of at least 1, so that a new one has a share too. */
  async announce(run: Link['run']): Promise<void> {
    const now = this.#clock.now()
    this.admissions *= Math.exp((this.#beatAt - now) / MEMORY_MS)
    this.#beatAt = now
    const weight = 1 + Math.round(this.admissions)
    const reply = await run(ANNOUNCE, this.#keys, [this.#replica, weight, PRESENT_MS])
    const [count, sum] = countsOf(reply)
    if (count < this.count && now < this.#believesFewerAt) return
    this.count = count
    // Others may have the state of the last beat, so a replica whose fraction rises waits until the others have lowered theirs.
    const heard = this.#returned
    heard.push({ fraction: weight / sum, at: now })
    while ((heard[1]?.at ?? now) <= now - RISE_MS) heard.shift()
    this.fraction = Math.min(...heard.map(({ fraction }) => fraction))
  }

  async leave(run: Link['run']): Promise<void> {
    await run(ANNOUNCE, this.#keys, [this.#replica, 0, 0])
  }
}

function countsOf(reply: unknown): [count: number, sum: number] {
  if (Array.isArray(reply)) {
    const [count, sum] = reply.map(Number)
    if (Number.isSafeInteger(count) && Number.isSafeInteger(sum)) {
      return [Math.max(1, count ?? 1), Math.max(1, sum ?? 1)]
    }
  }
  throw new Error('The store answered an announcement with something else.')
}
