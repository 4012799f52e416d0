/**
 * The network between gateways and the store: slow, lossy, interrupted, or with a store that does
 * not answer for a while.
 */
import { StoreAway } from '../../dataplane/store/redis/link.ts'
import type { VirtualTime } from './time.ts'

/** Whole numbers from 0 up to the bound, exclusive. */
export type Draw = (bound: number) => number

/** The number of calls in a thousand with each fate. */
export interface Weather {
  readonly requestsLost: number
  readonly repliesLost: number
  readonly slow: number
  /** Messages of the push channel; a gateway that misses one never gets it. */
  readonly pushesLost: number
}

export const CALM: Weather = { requestsLost: 0, repliesLost: 0, slow: 0, pushesLost: 0 }

/** The deadline of a call, like `redis.timeout_ms`. */
export const DEADLINE_MS = 50

const LATENCY_MAX_MS = 4
const SLOW_MAX_MS = 400

export class Network {
  readonly time: VirtualTime
  readonly draw: Draw
  weather: Weather
  /** Until then the store accepts calls and executes none, like a stopped process. */
  frozenUntil = 0

  constructor(time: VirtualTime, draw: Draw, weather: Weather) {
    this.time = time
    this.draw = draw
    this.weather = weather
  }
}

/** One gateway's connection. */
export class Wire {
  /** Until then it cannot connect. */
  cutUntil = 0
  /** Until then its gateway does not run: replies and timers are late. */
  pausedUntil = 0
  /** A crashed gateway gets no replies. */
  isDead = false
  readonly #network: Network

  constructor(network: Network) {
    this.#network = network
  }

  /** Sends a call to the store, and returns the reply; either may be lost. */
  call<T>(apply: () => T | Promise<T>): Promise<T> {
    const { time, draw, weather } = this.#network
    if (time.now < this.cutUntil) return this.#refused()
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const deadline = time.now + DEADLINE_MS
    let isOver = false
    const tell = (what: () => void) => {
      if (this.isDead || isOver) return
      isOver = true
      what()
    }
    // An answer that came before a late timer is read before the verdict.
    const late = () => time.at(time.now, () => tell(() => reject(new StoreAway('timeout', true))))
    const giveUp = () => time.at(deadline, () => this.whenAwake(late))
    const luck = draw(1000)
    const isLost = luck < weather.requestsLost
    const isReplyLost = !isLost && luck < weather.requestsLost + weather.repliesLost
    const arrivesAt = time.now + this.#latency()
    const back = this.#latency()
    const isLate = arrivesAt + back >= deadline
    if (isLost || isReplyLost || isLate) giveUp()
    if (isLost) return promise
    const arrive = async () => {
      if (time.now < this.#network.frozenUntil) {
        if (time.now === arrivesAt && !isLate && !isReplyLost) giveUp()
        time.at(this.#network.frozenUntil, arrive)
        return
      }
      const reply = await applied(apply)
      if (isReplyLost) return
      const answer = () => ('error' in reply ? reject(reply.error) : resolve(reply.value))
      time.at(time.now + back, () => this.whenAwake(() => tell(answer)))
    }
    time.at(arrivesAt, arrive)
    return promise
  }

  /** A message from the store: it arrives once, or gets lost. */
  push(hear: () => void): void {
    const { time, draw, weather } = this.#network
    if (time.now < this.cutUntil || draw(1000) < weather.pushesLost) return
    time.at(time.now + this.#latency(), () =>
      this.whenAwake(() => {
        if (!this.isDead && time.now >= this.cutUntil) hear()
      }),
    )
  }

  /** At once, or when the gateway runs again. */
  whenAwake(happen: () => void): void {
    const { time } = this.#network
    if (time.now >= this.pausedUntil) happen()
    else time.at(this.pausedUntil, () => this.whenAwake(happen))
  }

  #refused(): Promise<never> {
    const { time } = this.#network
    return new Promise((_, reject) =>
      time.at(time.now + 1, () => reject(new StoreAway('connection', false))),
    )
  }

  #latency(): number {
    const { draw, weather } = this.#network
    return 1 + draw(draw(1000) < weather.slow ? SLOW_MAX_MS : LATENCY_MAX_MS)
  }
}

async function applied<T>(apply: () => T | Promise<T>) {
  try {
    return { value: await apply() }
  } catch (error) {
    return { error }
  }
}
