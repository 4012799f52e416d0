/** Builds the shared store from its connection, scripts, local share and reports. */
import type { SecureContext } from 'node:tls'
import { schedule } from '../../base/clock.ts'
import { parseRedisUrl } from '../../config/redis-url.ts'
import type { Section } from '../../schema/index.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { RedisCells } from '../cells/redis-cells.ts'
import { KINDS } from '../escrow/quantities.ts'
import type { Held } from '../escrow/standings.ts'
import { RedisPages } from '../history/redis-pages.ts'
import type { OpenStore, StoreContext } from '../opened.ts'
import type { Script } from '../redis/link.ts'
import { openClient } from '../redis/redis-client.ts'
import { RedisLink } from '../redis/redis-link.ts'
import { RedisStore } from '../redis/store.ts'
import { UsageRollup } from '../redis/usage-rollup.ts'
import { LocalShare } from './local-share.ts'
import { PushChannel } from './push-channel.ts'
import { Replicas } from './replicas.ts'
import { type Decider, SharedStore } from './shared.ts'
import { SharedState } from './shared-state.ts'

export type RedisSection = NonNullable<NonNullable<Section['rate_limits']>['redis']>

export interface RedisContext extends StoreContext {
  readonly random: () => number
  /** Names this process; no other process has the name. */
  readonly replica: string
  /** Number of replicas in the configuration. */
  readonly replicas: number
  readonly secureContext: () => SecureContext
}

/** Longest wait for the first answer at the start, so that the first requests are counted in the shared store. */
const START_MS = 1_000

/** Longest wait for the last settlements at the end. */
const FLUSH_MS = 1_000

/** Least timeout without a local share, because a late answer is better than none. */
const PATIENCE_MS = 250

const MEMORY: Script = { name: 'memory', lua: "return redis.call('INFO', 'memory')" }

export function openRedis(section: RedisSection, world: RedisContext): OpenStore {
  const { clock, metrics, log, replica } = world
  const { key_prefix: keyPrefix } = section
  const settings = new OutageSettings(section)
  const place = parseRedisUrl(section.url)
  const isCluster = place.kind === 'cluster'
  const replicas = new Replicas({ keyPrefix, replica, expected: world.replicas, clock })
  const state = new SharedState({ clock, metrics, log, place: place.shown, settings, replicas })
  const link = new RedisLink({
    open: (connectMs, on) =>
      openClient({ place, secureContext: world.secureContext, connectMs, ...on }),
    clock,
    random: world.random,
    get timeoutMs() {
      return settings.timeoutMs
    },
    get isHasty() {
      return !settings.failOpen
    },
    async probe(send) {
      showHeld(counting.held, metrics)
      await replicas.announce(send)
      metrics.storeReplicas.at().value = replicas.count
      channel.keep()
      store.deliver()
    },
    onChange(isUp, why) {
      if (isUp) came()
      else {
        state.went(why)
        store.left()
      }
    },
    onFailure: (away) => state.failed(away),
  })
  const channel = new PushChannel({
    ...{ place, secureContext: world.secureContext, keyPrefix },
    onWanted: (stateKey) => counting.want(stateKey),
  })
  const counting = new RedisStore(link, {
    ...{ keyPrefix, replica, clock, isCluster },
    slices: { schedule, isTogether: !isCluster, hears: () => channel.isOpen },
  })
  const store = sharedStore(counting, { link, replicas, settings, world })
  const rollup = usageIn(link, { section, world })
  const pages = new RedisPages({
    ...{ link, keyPrefix, replica, clock },
    isAway: () => link.isAway,
    book: world.history,
  })
  world.deadlines.add(pages)

  function came(): void {
    state.came()
    channel.reopen()
    replicas.returned()
    store.returned()
    rollup.returned()
    pages.returned()
    void link.run(MEMORY, [], []).then(
      (reply) => state.warnOfEviction(reply),
      () => undefined,
    )
  }

  return {
    store,
    usage: { in: 'redis', read: (span, isByHour) => rollup.read(span, isByHour) },
    history: { in: 'redis', read: (span) => pages.read(span) },
    cells: new RedisCells(link, section.key_prefix),
    status: () => state.status(),
    follow: (fresh) => settings.follow(fresh),
    async start() {
      await link.start(START_MS)
      if (link.isAway) state.went()
    },
    async close() {
      const [left] = await Promise.all([store.flush(FLUSH_MS), flushed(rollup), flushed(pages)])
      if (left > 0) {
        const message = `The shared store is away: ${left} settlements could not be delivered.`
        log.event('error', 'store', message, { settlements_waiting: left })
      }
      if (!link.isAway) await replicas.leave(link.run.bind(link)).catch(() => undefined)
      channel.close()
      link.close()
    },
  }
}

/** The settings that a reload may change; the others wait for a restart. */
class OutageSettings {
  #section: RedisSection

  constructor(section: RedisSection) {
    this.#section = section
  }

  get failOpen(): boolean {
    return this.#section.fail_open
  }

  get timeoutMs(): number {
    const { fail_open, timeout_ms } = this.#section
    return fail_open ? timeout_ms : Math.max(timeout_ms, PATIENCE_MS)
  }

  follow({ rate_limits }: Pick<Section, 'rate_limits'>): void {
    if (rate_limits?.backend === 'redis' && rate_limits.redis !== undefined)
      this.#section = rate_limits.redis
  }
}

function showHeld(held: Held | undefined, { storeSlices, storeSliceAccounts }: Metrics): void {
  if (held === undefined) return
  for (const kind of KINDS) {
    if (kind !== 'nanos') storeSlices.at(kind === 'rated' ? 'rate_tokens' : kind).value = held[kind]
  }
  storeSlices.at('usd').value = held.nanos / 1e9
  storeSliceAccounts.at().value = held.accounts
}

/** Writes the last rows or pages at the end, unless the store is unreachable. */
async function flushed(rows: Pick<UsageRollup, 'flush'>): Promise<void> {
  const late = new Promise<void>((resolve) => setTimeout(resolve, FLUSH_MS).unref())
  await Promise.race([rows.flush().catch(() => undefined), late])
}

function usageIn(link: RedisLink, { section, world }: RedisSettings): UsageRollup {
  const { clock, deadlines, log, metrics, replica, usage } = world
  const rollup = new UsageRollup({
    link,
    isAway: () => link.isAway,
    keyPrefix: section.key_prefix,
    replica,
    book: usage,
    onFolded: (rows) => {
      metrics.usageFolded.at('store').value += rows
    },
    clock,
    onForgotten(rows) {
      const message = `The shared store was away for so long that ${rows} rows of usage are lost.`
      log.event('error', 'store', message, { rows })
    },
  })
  deadlines.add(rollup)
  return rollup
}

interface RedisSettings {
  readonly section: RedisSection
  readonly world: RedisContext
}

interface StoreParts extends Pick<RedisSettings, 'world'> {
  readonly settings: OutageSettings
  readonly link: RedisLink
  readonly replicas: Replicas
}

function sharedStore(
  store: RedisStore,
  { link, replicas, settings, world }: StoreParts,
): SharedStore {
  const { clock, metrics, replica } = world
  let sums = 0
  const decisions = {
    slice: metrics.storeDecisions.at('slice'),
    store: metrics.storeDecisions.at('store'),
    local: metrics.localAdmissions.at(),
  }
  // During an outage, a replica with a wrong clock must not start a new day.
  const wall = () => store.wall
  const options = {
    store,
    local: new LocalShare({ now: clock.now, wall }, () => replicas.fraction),
    get failOpen() {
      return settings.failOpen
    },
    isAway: () => link.isAway,
    newId: () => `${replica}-sum-${(++sums).toString(36)}`,
    onDecided(by: Decider, isAdmitted: boolean) {
      if (isAdmitted) replicas.admissions++
      decisions[by].value++
    },
    onUnavailable: (tenant: string) =>
      void metrics.rejected.at(tenant, 'store_unavailable').value++,
    onWaiting(waiting: number) {
      metrics.storeWaiting.at().value = waiting
    },
  }
  return new SharedStore(options, wall)
}
