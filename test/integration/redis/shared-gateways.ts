/** Gateways that share one store, and the results of their clients during a fault of the store. */
import { setTimeout as delay } from 'node:timers/promises'
import type { FakeUpstream, Front, Heard } from '../../helpers/fake-upstream.ts'
import { until } from '../../helpers/until.ts'
import { type Keys, type Limited, startLimited } from '../limits/limited-gateway.ts'

type Fields = Readonly<Record<string, unknown>>

/** Large enough to never be reached. */
export const PLENTY = {
  requests_per_minute: 10_000_000,
  burst: 1_000_000,
  concurrent_requests: 10_000,
}

/** Too small a bucket for slices, which is full again after a millisecond: each request asks the store. */
const ASKED = {
  name: 'asked',
  for: { each: 'tenant' },
  requests_per_minute: 10_000_000,
  burst: 199,
}

export interface SharedOptions {
  readonly url: string
  readonly failOpen: boolean
  readonly upstream: FakeUpstream
  readonly keys: Keys
  readonly limits?: Fields
  readonly budgets?: readonly Fields[]
  readonly env?: Readonly<Record<string, string>>
  /** The gateway's section of that name. */
  readonly tls?: Fields
  /** Whether slices may decide; else each request asks the store. */
  readonly hasSlices?: boolean
  /** The entries of `limits[]`; absent: one that makes each request ask, unless slices may decide. */
  readonly further?: readonly Fields[]
  /**
   * A busy machine is sometimes late; only tests of the time itself use the time that users have.
   */
  readonly timeoutMs?: number
}

export async function startShared(options: SharedOptions): Promise<Limited> {
  const { url, failOpen, upstream, keys, timeoutMs = 250 } = options
  const { limits = PLENTY, budgets = [], env, tls, hasSlices = false } = options
  const { further = hasSlices ? [] : [ASKED] } = options
  const redis = { url, timeout_ms: timeoutMs, fail_open: failOpen }
  return await startLimited(
    {
      gateway: { drain_timeout_seconds: 1 },
      upstreams: [{ name: 'up', endpoint: upstream.url }],
      routes: [{ name: 'chat', strategy: 'single', primary: 'up', max_tokens_default: 3 }],
      rate_limits: { default: limits, backend: 'redis', redis },
      budgets,
      limits: further,
      ...(tls && { tls }),
    },
    keys,
    env === undefined ? {} : { env },
  )
}

export interface TimedAnswer {
  readonly status: number
  readonly heard: Heard
  readonly ms: number
}

/** Sends requests at a constant rate, each of another end user, without waiting for the answers. */
export async function pacedChats(
  fronts: readonly Front[],
  { requests, everyMs }: { readonly requests: number; readonly everyMs: number },
): Promise<TimedAnswer[]> {
  const asked: Promise<TimedAnswer>[] = []
  for (let sent = 0; sent < requests; sent++) {
    const front = fronts[sent % fronts.length]
    if (front !== undefined) asked.push(timed(front, `user-${sent}-${everyMs}`))
    await delay(everyMs)
  }
  return await Promise.all(asked)
}

async function timed(front: Front, user: string): Promise<TimedAnswer> {
  const begun = performance.now()
  const heard = await front.chat({ user })
  return { status: heard.status, heard, ms: performance.now() - begun }
}

export function statuses(answers: readonly TimedAnswer[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

export async function untilStore(front: Front, state: 'up' | 'away', secondsMax = 10) {
  await until(
    `the store is ${state}`,
    async () => (await front.admin('/status')).store.state === state,
    secondsMax,
  )
}

/** The states of the store in the order of the log. */
export function loggedStates(front: Front): unknown[] {
  return front
    .logged('store')
    .map(({ state }) => state)
    .filter((state) => state !== undefined)
}
