/** Reads the queue of a runtime at an interval, and forgets figures that are too old. */
import type { Dispatcher } from 'undici'
import type { Clock } from '../../base/clock.ts'
import type { Snapshot, UpstreamSettings } from '../../config/snapshot.ts'
import { readBounded } from '../../connection/bounded-body.ts'
import type { FairnessSection } from '../../schema/fairness.ts'
import { queueOf, shareOf } from './queue-gauges.ts'

/** Interval of queue reports, if the configuration sets none. */
const QUEUE_INTERVAL_SECONDS = 2
/** A figure this many intervals old is stale. */
const AGE_INTERVALS_MAX = 3
const SCRAPE_TIMEOUT_MS = 2000
const SCRAPE_BYTES_MAX = 8_388_608

export class QueueWatch {
  readonly #clock: Clock
  readonly #scrape: () => Promise<number | undefined>
  readonly #intervalMs: number
  #timer: NodeJS.Timeout | undefined
  #depth: number | undefined
  #scrapedAt = 0
  #stopped = false

  constructor(intervalMs: number, clock: Clock, scrape: () => Promise<number | undefined>) {
    this.#intervalMs = intervalMs
    this.#clock = clock
    this.#scrape = scrape
    void this.#look()
  }

  get intervalMs(): number {
    return this.#intervalMs
  }

  /** Waiting plus running requests; undefined if unknown or stale. */
  get depth(): number | undefined {
    const age = this.#clock.now() - this.#scrapedAt
    return age <= this.#intervalMs * AGE_INTERVALS_MAX ? this.#depth : undefined
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  async #look(): Promise<void> {
    const depth = await this.#scrape().catch(() => undefined)
    if (this.#stopped) return
    if (depth !== undefined) {
      this.#depth = depth
      this.#scrapedAt = this.#clock.now()
    }
    this.#timer = setTimeout(() => void this.#look(), this.#intervalMs).unref()
  }
}

/** The load that a runtime reports. */
export interface Report {
  /** Waiting plus running requests. */
  readonly queue: number
  /** Used fraction of the KV cache, from 0 to 1; undefined if not reported. */
  readonly kvShare: number | undefined
}

type Reported = Pick<UpstreamSettings, 'provider' | 'credential'>

export async function scrapeQueue(pool: Dispatcher, of: Reported): Promise<number | undefined> {
  return (await scrapeReport(pool, of))?.queue
}

/** Reads the runtime's metrics once; undefined if they do not include the queue. */
export async function scrapeReport(
  pool: Dispatcher,
  { provider, credential }: Reported,
): Promise<Report | undefined> {
  const { queueGauges } = provider
  if (queueGauges === undefined) return undefined
  const { statusCode, body } = await pool.request({
    path: '/metrics',
    method: 'GET',
    headers:
      queueGauges.needsCredential && credential !== ''
        ? { authorization: `Bearer ${credential}` }
        : {},
    signal: AbortSignal.timeout(SCRAPE_TIMEOUT_MS),
  })
  if (statusCode !== 200) {
    await body.dump()
    return undefined
  }
  const text = (await readBounded(body, SCRAPE_BYTES_MAX, 'the metrics are too large')).toString()
  const { waiting, running } = queueOf(queueGauges, text)
  if (waiting === undefined && running === undefined) return undefined
  return { queue: (waiting ?? 0) + (running ?? 0), kvShare: shareOf(queueGauges, text) }
}

/** Upstreams that are chosen by their queue or full by it, or whose endpoints are chosen by it. */
export function steeringUpstreams(
  { routes, upstreams }: Snapshot,
  fairness: ReadonlyMap<string, FairnessSection>,
): ReadonlySet<string> {
  const names = new Set<string>()
  for (const { strategy, members } of routes.values()) {
    if (strategy.name !== 'least_queue') continue
    for (const { upstream } of members) names.add(upstream.name)
  }
  for (const { name, section } of upstreams.values()) {
    if ((section.endpoints ?? 'url') !== 'url') names.add(name)
    if (fairness.get(name)?.max_reported_queue !== undefined) names.add(name)
  }
  return names
}

export function queueIntervalMs(settings: UpstreamSettings): number | undefined {
  const { provider, section, disabled } = settings
  if (section.queue_metrics?.enabled === false || !provider.queueGauges) return undefined
  if (disabled !== undefined) return undefined
  return (section.queue_metrics?.interval_seconds ?? QUEUE_INTERVAL_SECONDS) * 1000
}
