/** The state of the shared store, and its reports: metrics, a log line for each change, a member of GET /status. */
import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { StoreAway } from '../redis/link.ts'
import { wordsOf } from '../redis/redis-errors.ts'

/** Shortest time between two log lines on errors of the server. */
const COMPLAINT_MS = 60_000

export interface SharedStateOptions {
  readonly clock: Clock
  readonly metrics: Metrics
  readonly log: Log
  /** Address of the store, without credentials. */
  readonly place: string
  readonly settings: { readonly failOpen: boolean }
  readonly replicas: { readonly count: number; readonly fraction: number }
}

export class SharedState {
  #isUp = false
  #since: number
  #reason: StoreAway | undefined
  #complainedAt = Number.NEGATIVE_INFINITY
  readonly #options: SharedStateOptions

  constructor(options: SharedStateOptions) {
    this.#options = options
    this.#since = options.clock.wall()
    options.metrics.storeUp.at('redis').value = 0
  }

  came(): void {
    const { log, metrics, place } = this.#options
    this.#turn(true)
    this.#reason = undefined
    const fields = { state: 'up', settlements_waiting: metrics.storeWaiting.at().value }
    log.event('info', 'store', `The shared store at ${place} answers.`, fields)
  }

  went(why = this.#reason): void {
    const { log, place, settings, replicas } = this.#options
    const { failOpen } = settings
    this.#turn(false)
    this.#reason = why
    const share = Math.round(replicas.fraction * 1000) / 10
    const meanwhile = failOpen
      ? `this replica admits ${share} % of each limit meanwhile`
      : 'requests are refused with 503 meanwhile'
    log.event('error', 'store', `The shared store at ${place} is away; ${meanwhile}.`, {
      state: 'away',
      ...this.#said(),
      fail_open: failOpen,
      replicas: replicas.count,
    })
  }

  failed(away: StoreAway): void {
    const { metrics, clock, log } = this.#options
    metrics.storeFailures.at(away.reason).value++
    if (!this.#isUp) this.#reason = away
    if (away.reason !== 'other' || clock.now() - this.#complainedAt < COMPLAINT_MS) return
    this.#complainedAt = clock.now()
    log.event('error', 'store', 'The shared store answers with an error.', { said: wordsOf(away) })
  }

  /** `memory` is the section of that name of the server's INFO. */
  warnOfEviction(memory: unknown): void {
    const lines = String(memory).split(/\r?\n/)
    const setting = (name: string) =>
      lines.find((line) => line.startsWith(`${name}:`))?.slice(name.length + 1)
    const policy = setting('maxmemory_policy') ?? 'noeviction'
    if (Number(setting('maxmemory') ?? 0) === 0 || policy === 'noeviction') return
    const advice = 'it may drop counters when it is full; set maxmemory-policy noeviction'
    const message = `The shared store has maxmemory-policy ${policy}: ${advice}.`
    this.#options.log.event('warn', 'store', message)
  }

  status() {
    const { place, settings, replicas, metrics } = this.#options
    return {
      backend: 'redis',
      url: place,
      state: this.#isUp ? 'up' : 'away',
      since: new Date(this.#since).toISOString(),
      ...(!this.#isUp && this.#said()),
      fail_open: settings.failOpen,
      replicas: replicas.count,
      share: replicas.fraction,
      settlements_waiting: metrics.storeWaiting.at().value,
    }
  }

  #turn(isUp: boolean): void {
    this.#isUp = isUp
    this.#since = this.#options.clock.wall()
    this.#options.metrics.storeUp.at('redis').value = isUp ? 1 : 0
  }

  #said() {
    const reason = this.#reason
    return reason === undefined ? {} : { reason: reason.reason, said: wordsOf(reason) }
  }
}
