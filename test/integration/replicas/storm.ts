/** Many clients of one tenant that ask until its counter is full, and what they were answered. */
import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import type { Replicas } from './rig.ts'

export interface Counter {
  readonly tenant: string
  /** Requests that the counter has room for. */
  readonly room: number
}

/** Stored answers of one tenant. */
export class Storm {
  readonly counter: Counter
  admitted = 0
  inFlight = 0
  /** Refused by a limit although more than 2 % of the counter was left. */
  needless = 0
  readonly statuses = new Map<number, number>()
  readonly #replicas: Pick<Replicas, 'ask'>
  #refusedSince = 0
  #asked = 0

  constructor(replicas: Pick<Replicas, 'ask'>, counter: Counter) {
    this.#replicas = replicas
    this.counter = counter
  }

  /** Asks over all processes until that number is admitted. */
  async rise(to: number, clients = CLIENTS): Promise<void> {
    await this.#clients(clients, () => this.admitted + this.inFlight >= to)
  }

  /**
   * Asks until the counter has admitted the least number and then refused all for a while; a store that was away gives back
   * what it may have admitted.
   */
  async fill(least = this.counter.room - 1): Promise<void> {
    const deadline = performance.now() + SECONDS_MAX * 1000
    await this.#clients(CLIENTS, () => {
      const isFull = this.admitted >= least && this.#refusedSince >= REFUSED
      return isFull || performance.now() > deadline
    })
  }

  of(status: number): number {
    return this.statuses.get(status) ?? 0
  }

  async #clients(count: number, isOver: () => boolean): Promise<void> {
    const client = async () => {
      while (!isOver()) await this.#ask()
    }
    await Promise.all(Array.from({ length: count }, client))
  }

  async #ask(): Promise<void> {
    const { tenant, room } = this.counter
    this.inFlight++
    const { status, text } = await this.#replicas.ask(this.#asked++, tenant, { max_tokens: 5 })
    const together = this.admitted + this.inFlight
    this.inFlight--
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
    if (status === 200) {
      this.admitted++
      this.#refusedSince = 0
      return
    }
    assert.ok([402, 429, 503].includes(status), `${status} ${text}`)
    if (status === 503) return await delay(20)
    this.#refusedSince++
    if (together < 0.98 * room - 1) this.needless++
    // A client that is refused asks again soon, as many do.
    await delay(5)
  }
}

const CLIENTS = 8

/** Refusals in a row that show that the counter is full. */
const REFUSED = 40

const SECONDS_MAX = 60
