/** One address of an upstream: its connections, load and report, and the time without requests after failures. */
import type { Dispatcher } from 'undici'
import type { UpstreamSettings } from '../../config/snapshot.ts'
import {
  type Destination,
  openPool,
  openRequestPool,
  type Transport,
  transportTo,
} from '../../connection/client.ts'
import type { PoolHandler, PoolRequest, RequestPool } from '../../connection/http1/contract.ts'
import type { Section } from '../../schema/index.ts'
import { HealthCheck, healthSettingsOf } from '../live/health.ts'
import type { Report } from '../live/queue-watch.ts'
import type { Address } from './address.ts'
import { hashOf, type Loaded, mixed } from './choice.ts'

/** Time without requests after a failure; doubles with each further failure until a request succeeds. */
const OUT_MS = 1000
const OUT_MS_MAX = 30_000
/** From this use of the KV cache on, a new conversation evicts an older one. */
const CRAMMED_SHARE = 0.95

export class Endpoint implements Loaded {
  readonly id: string
  readonly address: Address
  /** Readable form: `10.0.0.7:8000`. */
  readonly shown: string
  readonly hash: number
  readonly health: HealthCheck
  zone: string | undefined
  inFlight = 0
  /** Whether a choice has used the load since the last report. */
  isWanted = false
  /** Whether the last probe found no server. */
  isUnreached = false
  /** Until this time the endpoint gets no request, unless more than half of the endpoints have failed. */
  outUntil = 0
  readonly #settings: UpstreamSettings
  readonly #whole: Section
  #transport: Transport | undefined
  #pool: RequestPool | undefined
  #sidePool: Dispatcher | undefined
  #isLeft = false
  #outMs = 0
  #report: Report | undefined
  /** Requests of this process that the report includes. */
  #reported = 0
  #reportUntil = 0

  constructor(
    address: Address,
    settings: UpstreamSettings,
    whole: Section,
    hears: { readonly onHealth: () => void; readonly onRecovery: () => void },
  ) {
    this.id = address.id
    this.address = address
    const { address: host, port } = address
    this.shown = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
    this.hash = mixed(hashOf(address.id))
    this.#settings = settings
    this.#whole = whole
    this.health = new HealthCheck(
      healthSettingsOf(settings.section),
      hears.onHealth,
      hears.onRecovery,
    )
  }

  /** Opened for its first request. test/bench/micro/long-lists.ts: 1,000 new endpoints in 2 ms, and 5 with their pools. */
  get pool(): RequestPool {
    if (this.#pool === undefined) {
      const { max_connections: connections } = this.#settings.section
      this.#pool = openRequestPool(this.#destination, this.#whole, connections)
      if (this.#isLeft) this.#pool.close().catch(() => undefined)
    }
    return this.#pool
  }

  /** Uses a new connection, because kept ones may all have become stale at once. */
  dispatchAnew(request: PoolRequest, handler: PoolHandler): void {
    const pool = openRequestPool(this.#destination, this.#whole, 1)
    pool.dispatch(request, handler)
    // Closes once the request is done.
    pool.close().catch(() => undefined)
  }

  /** Probes have a connection each. */
  get transport(): Transport {
    this.#transport ??= transportTo(this.#destination, this.#whole)
    return this.#transport
  }

  /** Reports have their own connection. */
  get sidePool(): Dispatcher {
    this.#sidePool ??= openPool(this.#destination, this.#whole, 2)
    return this.#sidePool
  }

  get #destination(): Destination {
    return { ...this.#settings, at: this.address }
  }

  isIn(now: number): boolean {
    return this.outUntil <= now
  }

  /** A failure of a request that was sent before the last failure adds nothing. */
  failed(now: number): void {
    if (!this.isIn(now)) return
    this.#outMs = Math.min(OUT_MS_MAX, this.#outMs * 2 || OUT_MS)
    this.outUntil = now + this.#outMs
  }

  succeeded(): void {
    this.#outMs = 0
  }

  take(report: Report, until: number): void {
    this.#report = report
    this.#reported = this.inFlight
    this.#reportUntil = until
  }

  /** Waiting and running requests in the last report; undefined if unknown or stale. */
  queue(now: number): number | undefined {
    return now <= this.#reportUntil ? this.#report?.queue : undefined
  }

  isCrammed(now: number): boolean {
    return now <= this.#reportUntil && (this.#report?.kvShare ?? 0) >= CRAMMED_SHARE
  }

  /** Requests of this process, and those of others that the report shows. */
  load(now: number): number {
    this.isWanted = true
    const queue = this.queue(now)
    return this.inFlight + (queue === undefined ? 0 : Math.max(0, queue - this.#reported))
  }

  /** The endpoint in the status. */
  status(state: string, now: number) {
    return { address: this.shown, state, in_flight: this.inFlight, queue: this.queue(now) }
  }

  /** Lets running requests end, and starts no new ones. */
  async leave(): Promise<void> {
    this.#isLeft = true
    await Promise.all([this.#pool?.close(), this.#sidePool?.close()])
  }

  async destroy(): Promise<void> {
    this.#isLeft = true
    await Promise.all([this.#pool?.destroy(), this.#sidePool?.destroy()])
  }
}

/** The states in the status and the metrics. */
export const STATES = ['ready', 'out', 'unhealthy', 'draining']

export function stateOf(endpoint: Endpoint, now: number): string {
  if (!isWell(endpoint)) return 'unhealthy'
  return endpoint.isIn(now) ? 'ready' : 'out'
}

export function isWell({ health }: Endpoint): boolean {
  return health.state === 'healthy'
}

export function wasProbed({ health }: Endpoint): boolean {
  return health.observedAt !== undefined
}

export function isBusy({ inFlight }: Endpoint): boolean {
  return inFlight > 0
}
