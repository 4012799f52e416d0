/** The requests that wait for a place at one upstream, and the granted places. */
import type { Clock } from '../../base/clock.ts'
import type { FairnessSection } from '../../schema/fairness.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { Account } from './account.ts'
import { type Giver, Place } from './place.ts'
import { Shares } from './shares.ts'
import type { Line, Waiter } from './waiter.ts'

/** The parts of the upstream and the process that the queue uses. */
export interface QueueWorld {
  readonly clock: Clock
  readonly metrics: Pick<Metrics, 'fairnessWaiting'>
  /** Calls once, after that number of milliseconds; returns a function that prevents it. */
  schedule(delayMs: number, call: () => void): () => void
  /** Places without a request in flight. */
  free(): number
  inFlight(): number
  /** Whether no request may go to the upstream now. */
  isOut(): boolean
}

/** The request that needs a place. */
export interface Applicant {
  readonly tenant: string
  readonly isLow: boolean
  /** The limit of output tokens that the client has set. */
  readonly tokensMax: number
}

/** Reports, endpoints and breakers change without an event, and answers grow. */
const TICK_MS = 250
const SHOWN_MAX = 20

export class FairQueue implements Giver<Waiter>, Line {
  readonly #name: string
  readonly #world: QueueWorld
  readonly #shares = new Shares<Waiter>()
  /** Granted and not released, whether the request is in flight yet or not. */
  readonly #places = new Set<Place<Waiter>>()
  #settings: FairnessSection
  #free: QueueWorld['free']
  #cancel: (() => void) | undefined

  constructor(name: string, settings: FairnessSection, world: QueueWorld) {
    this.#name = name
    this.#world = world
    this.#settings = settings
    this.#free = world.free
    this.configure(settings, world.free)
  }

  /** `free`: the number of places without a request in flight. */
  configure(settings: FairnessSection, free: QueueWorld['free']): void {
    this.#settings = settings
    this.#free = free
    this.#shares.configure(settings)
    this.#show()
    this.#fill()
  }

  get settings(): FairnessSection {
    return this.#settings
  }

  get waiting(): number {
    return this.#shares.size
  }

  /** Whether a request may start at once: there is a free place, and no request waits. */
  get isOpen(): boolean {
    return this.#shares.size === 0 && this.#room > 0
  }

  /** Grants a place if one is free and no request waits. */
  take(applicant: Applicant): Place<Waiter> | undefined {
    return this.isOpen ? this.force(applicant) : undefined
  }

  /**
   * Grants a place even if all are taken, for a request that is sent again at once in another form.
   */
  force({ tenant, isLow, tokensMax }: Applicant): Place<Waiter> {
    const account = this.#shares.account(tenant, isLow)
    this.#shares.enter(account)
    return this.#give(account, tokensMax)
  }

  /** Adds a waiting request. If too many wait, one of them is dropped, which may be this one. */
  join(waiter: Waiter, { tenant, isLow }: Applicant): void {
    const account = this.#shares.account(tenant, isLow)
    waiter.entered(this, account)
    this.#shares.join(account, waiter)?.dropped(this, 'no_room')
    this.#show()
    this.#cancel ??= this.#world.schedule(TICK_MS, () => this.#tick())
  }

  drop(account: Account<Waiter>, waiter: Waiter): void {
    this.#shares.leave(account, waiter)
    this.#show()
  }

  released(place: Place<Waiter>): void {
    this.#places.delete(place)
    this.#shares.end(place.charge)
    this.#fill()
  }

  settled({ charge }: Place<Waiter>, outputTokens: number): void {
    this.#shares.settle(charge, outputTokens, this.#world.clock.now())
  }

  /**
   * Seconds until the tenant's requests have left the queue, for a refused request of the tenant.
   */
  retryAfterSeconds({ tenant, isLow }: Applicant): number {
    const account = this.#shares.account(tenant, isLow)
    const { max_wait_seconds } = this.#settings
    return this.#shares.retryAfterSeconds(account, this.#world.clock.now(), max_wait_seconds)
  }

  /** The tenants that wait, run or have recently used the upstream. */
  list() {
    return this.#shares.list(this.#world.clock.now(), SHOWN_MAX)
  }

  /** Ends all waits. */
  end(): void {
    this.#cancel?.()
    this.#cancel = undefined
    for (const waiter of this.#shares.all()) waiter.leave('changed')
    this.#world.metrics.fairnessWaiting.retain('upstream', (name) => name !== this.#name)
  }

  get #room(): number {
    return this.#free() - Math.max(0, this.#places.size - this.#world.inFlight())
  }

  /** Grants free places to the next requests. */
  #fill(): void {
    if (this.#shares.size === 0 || this.#world.isOut()) return
    for (let room = this.#room; room > 0; room--) {
      const next = this.#shares.next()
      if (next === undefined) break
      next.one.grant(this, this.#give(next.account, next.one.tokensMax))
    }
    this.#show()
  }

  #give(account: Account<Waiter>, tokensMax: number): Place<Waiter> {
    const place = new Place(this.#shares.charge(account, tokensMax), this)
    this.#places.add(place)
    return place
  }

  #tick(): void {
    this.#cancel = undefined
    if (this.#world.isOut()) for (const waiter of this.#shares.all()) waiter.leave('changed')
    const now = this.#world.clock.now()
    for (const { charge, tokens } of this.#places) this.#shares.progress(charge, tokens, now)
    this.#fill()
    if (this.#shares.size > 0) this.#cancel ??= this.#world.schedule(TICK_MS, () => this.#tick())
  }

  #show(): void {
    this.#world.metrics.fairnessWaiting.at(this.#name).value = this.#shares.size
  }
}
