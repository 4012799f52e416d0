/** Watches the objectives for the time to first token by route; reports the start and end of a breach. */
import type { Clock, Deadline } from '../base/clock.ts'
import type { Section } from '../schema/index.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { ALLOWED_SHARE, isMissed, SlidingWindow } from './sliding-window.ts'

type SloSettings = NonNullable<Section['slo']>

const QUANTILE = 0.95

/** Interval of the check whether slow streams have left the window. */
const LOOK_MS = 1000

/** Body of the webhook, and fields of the log event. */
export interface SloBreach {
  readonly type: 'ttft_slo_breach'
  readonly code: 'ERR_GW_TTFT_SLO_BREACH'
  readonly route: string
  readonly p95_ms: number
  readonly target_ms: number
  readonly window_seconds: number
  readonly samples: number
}

export interface ObjectivesOptions {
  readonly clock: Clock
  readonly metrics: Metrics
  readonly log: Log
  readonly alert: (breach: SloBreach) => void
}

interface Watched {
  readonly settings: SloSettings
  readonly window: SlidingWindow
  breached: boolean
}

/** The caller must add it to the deadlines of the process. */
export class Objectives implements Deadline {
  due: number
  seat = -1
  readonly #options: ObjectivesOptions
  readonly #watched = new Map<string, Watched>()

  constructor(options: ObjectivesOptions) {
    this.#options = options
    this.due = options.clock.now() + LOOK_MS
    options.metrics.firstTokenP95.collect = () => this.#show()
  }

  /** A route with a changed objective starts again, because earlier measurements are for another target. */
  follow({ slo, routes }: Pick<Section, 'slo' | 'routes'>): void {
    const { clock, metrics } = this.#options
    const wanted = new Map(routes.map((route) => [route.name, route.slo ?? slo]))
    for (const [route, { settings }] of this.#watched) {
      if (!same(settings, wanted.get(route))) this.#watched.delete(route)
    }
    for (const [route, settings] of wanted) {
      if (settings === undefined || this.#watched.has(route)) continue
      const { ttft_p95_ms, window_seconds } = settings
      const window = new SlidingWindow(window_seconds * 1000, ttft_p95_ms, clock.now())
      this.#watched.set(route, { settings, window, breached: false })
    }
    const isWatched = (route: string) => this.#watched.has(route)
    metrics.firstTokenP95.retain('route', isWatched)
    metrics.sloBreached.retain('route', isWatched)
  }

  /** Records a stream whose first token came after `ttftMs`. */
  met(route: string, ttftMs: number): void {
    const watched = this.#watched.get(route)
    if (watched !== undefined) this.#add(route, watched, ttftMs)
  }

  /** Records a stream that ended without a token; it counts if it was already too late. */
  ended(route: string, waitedMs: number): void {
    const watched = this.#watched.get(route)
    if (watched === undefined || waitedMs <= watched.settings.ttft_p95_ms) return
    this.#add(route, watched, waitedMs)
  }

  expire(now: number): void {
    this.due = now + LOOK_MS
    this.#turn(now)
  }

  /** For `/status`. */
  list() {
    this.#turn(this.#options.clock.now())
    return [...this.#watched].map(([route, watched]) => ({
      ...figures(route, watched),
      p95_ms: p95Of(watched) ?? null,
      breached: watched.breached,
    }))
  }

  #add(route: string, watched: Watched, durationMs: number): void {
    const { clock, metrics } = this.#options
    const now = clock.now()
    const isGood = durationMs <= watched.settings.ttft_p95_ms
    metrics.sloRequests.at(route, 'ttft', String(isGood)).value++
    const turned = watched.window.turn(now)
    watched.window.add(durationMs, now)
    this.#judge(route, watched, turned)
  }

  #turn(now: number): void {
    for (const [route, watched] of this.#watched) {
      if (watched.window.turn(now)) this.#judge(route, watched, true)
    }
  }

  /** A breach begins with a sample and ends with a slice of the window, so an unstable one is reported at most once a slice. */
  #judge(route: string, watched: Watched, turned: boolean): void {
    const { window } = watched
    const { count, overs } = window
    const isOver = overs > count * ALLOWED_SHARE
    if (!watched.breached && isMissed(window)) this.#begin(route, watched)
    else if (watched.breached && !isOver && turned) this.#end(route, watched)
  }

  #begin(route: string, watched: Watched): void {
    const { metrics, log, alert } = this.#options
    watched.breached = true
    metrics.sloBreaches.at(route).value++
    metrics.sloBreached.at(route).value = 1
    const breach: SloBreach = {
      type: 'ttft_slo_breach',
      code: 'ERR_GW_TTFT_SLO_BREACH',
      ...figures(route, watched),
    }
    const target = `${breach.target_ms} ms over ${breach.window_seconds} s`
    log.event('warn', 'slo', `Route "${route}" misses its objective of ${target}.`, { ...breach })
    alert(breach)
  }

  #end(route: string, watched: Watched): void {
    const { metrics, log } = this.#options
    watched.breached = false
    metrics.sloBreached.at(route).value = 0
    const fields = { type: 'ttft_slo_recovery', ...figures(route, watched) }
    log.event('info', 'slo', `Route "${route}" meets its objective again.`, fields)
  }

  #show(): void {
    const { clock, metrics } = this.#options
    this.#turn(clock.now())
    for (const [route, watched] of this.#watched) {
      metrics.firstTokenP95.at(route).value = (p95Of(watched) ?? 0) / 1000
      metrics.sloBreached.at(route).value = watched.breached ? 1 : 0
    }
  }
}

function figures(route: string, watched: Watched) {
  const { ttft_p95_ms, window_seconds } = watched.settings
  return {
    route,
    p95_ms: p95Of(watched) ?? 0,
    target_ms: ttft_p95_ms,
    window_seconds,
    samples: watched.window.count,
  }
}

/** The percentile in whole milliseconds, never above a target that is met, although its step may exceed it. */
function p95Of({ settings, window }: Pick<Watched, 'settings' | 'window'>): number | undefined {
  const p95 = window.percentile(QUANTILE)
  if (p95 === undefined) return undefined
  const met = window.overs <= window.count * ALLOWED_SHARE
  return Math.ceil(met ? Math.min(p95, settings.ttft_p95_ms) : p95)
}

function same(one: SloSettings, other: SloSettings | undefined): boolean {
  return one.ttft_p95_ms === other?.ttft_p95_ms && one.window_seconds === other.window_seconds
}
