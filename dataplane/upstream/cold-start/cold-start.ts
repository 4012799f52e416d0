/** An upstream that may have no running server: checks for one, and holds the requests that wait. */
import type { Clock } from '../../base/clock.ts'
import type { UpstreamSection } from '../../schema/index.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { Waiter } from './waiter.ts'

/** The parts of the process that a cold start uses, and its probe of the upstream. */
export interface ColdStartWorld {
  readonly clock: Clock
  readonly metrics: Pick<Metrics, 'upstreamWaiting'>
  /** Calls once, after that number of milliseconds; returns a function that prevents it. */
  schedule(delayMs: number, call: () => void): () => void
  /** Whether the upstream answers; a rejection counts as no. */
  isReachable(): Promise<boolean>
  /** Called when the upstream answers again, to discard failures from the time without a server. */
  onReached(): void
}

/** Intervals of the probes while requests wait, and while none waits. */
const WAITED_FOR_MS = 1000
const UNWANTED_MS = 5000

type ColdStartSettings = UpstreamSection['cold_start']

export class ColdStart {
  readonly #name: string
  readonly #world: ColdStartWorld
  readonly #waiters = new Set<Waiter>()
  #settings: ColdStartSettings
  #isCold = false
  #askedAt = Number.NEGATIVE_INFINITY
  #isAsking = false
  #cancel: (() => void) | undefined

  constructor(name: string, world: ColdStartWorld) {
    this.#name = name
    this.#world = world
  }

  configure(settings: ColdStartSettings): void {
    this.#settings = settings
    if (settings === undefined) this.end()
    else this.#show()
  }

  /** The bounds of waiting; undefined if requests are not held. */
  get settings(): ColdStartSettings {
    return this.#settings
  }

  /** Whether no server is known to listen. */
  get isCold(): boolean {
    return this.#isCold
  }

  get waiting(): number {
    return this.#waiters.size
  }

  /** Notes that no server listens at any endpoint. Returns false if requests are not held. */
  unreached(): boolean {
    if (this.#settings === undefined) return false
    this.#isCold = true
    this.#plan()
    return true
  }

  /** Notes that a server listens; the waiting requests continue, one after the other. */
  reached(): void {
    if (!this.#isCold) return
    this.#isCold = false
    this.#world.onReached()
    void this.#release()
  }

  get isFull(): boolean {
    return this.#waiters.size >= (this.#settings?.max_waiting ?? 0)
  }

  /** Adds a waiting request; undefined if the limit is reached. `mayGo`: whether the request could be sent somewhere now. */
  enter(mayGo: () => boolean): Waiter | undefined {
    if (this.isFull) return undefined
    const waiter = new Waiter(mayGo, () => {
      this.#waiters.delete(waiter)
      this.#show()
    })
    this.#waiters.add(waiter)
    this.#show()
    this.#plan()
    return waiter
  }

  /** Ends all waits. */
  end(): void {
    this.#isCold = false
    this.#settings = undefined
    this.#cancel?.()
    this.#cancel = undefined
    for (const waiter of this.#waiters) waiter.leave('gave_up')
  }

  #show(): void {
    this.#world.metrics.upstreamWaiting.at(this.#name).value = this.#waiters.size
  }

  #plan(): void {
    this.#cancel?.()
    this.#cancel = undefined
    const isWaitedFor = this.#waiters.size > 0
    if (this.#isAsking || (!this.#isCold && !isWaitedFor)) return
    const dueAt = this.#askedAt + (isWaitedFor ? WAITED_FOR_MS : UNWANTED_MS)
    const dueMs = Math.max(0, dueAt - this.#world.clock.now())
    this.#cancel = this.#world.schedule(dueMs, () => void this.#look())
  }

  /** A reachable upstream may have had no room for all waiting requests. */
  async #look(): Promise<void> {
    this.#askedAt = this.#world.clock.now()
    this.#isAsking = true
    if (!this.#isCold) await this.#release()
    else if (await this.#world.isReachable().catch(() => false)) this.reached()
    this.#isAsking = false
    this.#plan()
  }

  /** The first request starts before the next is checked, because it may take the last place. */
  async #release(): Promise<void> {
    for (const waiter of [...this.#waiters]) {
      if (!waiter.mayGo()) continue
      waiter.leave('reached')
      await new Promise(setImmediate)
    }
  }
}
