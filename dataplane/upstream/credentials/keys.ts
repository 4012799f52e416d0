/** Several keys of one upstream: each request takes the next one, and a key that is refused or out of quota rests. */
import type { Clock } from '../../base/clock.ts'
import type { Failure } from '../../wire/provider.ts'

/** Longest rest that an upstream may ask for. */
const REST_MS_MAX = 3_600_000

interface Key {
  /** Until this time other keys come first. */
  restsUntil: number
  /** Why it rests; undefined after it was accepted. */
  why: 'refused' | 'out of quota' | undefined
  /** The status of the refusal. */
  status: number | undefined
}

/** The key as operators see it: without its value. */
export interface ShownKey {
  readonly key: number
  readonly state: 'ready' | 'resting'
  readonly why?: string
  readonly status?: number
  readonly rests_until?: string
}

/** The counters of keys. */
export interface KeyMeters {
  used(key: number): void
  resting(key: number, rests: boolean): void
}

/** Whether the failure is about the key, so that another one may be accepted. */
export function isOfKey({ class: kind, status, retryAfterMs }: Failure): boolean {
  if (kind === 'credential') return status !== undefined
  return kind === 'quota' || (kind === 'rate_limited' && retryAfterMs !== undefined)
}

export class UpstreamKeys {
  readonly #clock: Clock
  readonly #meters: KeyMeters
  #keys: Key[] = []
  #restMs = 0
  #turn = 0

  constructor(clock: Clock, meters: KeyMeters) {
    this.#clock = clock
    this.#meters = meters
  }

  /** New keys begin without rests. `restMs`: the rest of a key whose upstream names no time. */
  configure(count: number, restMs: number, isSame: boolean): void {
    this.#restMs = restMs
    if (isSame && count === this.#keys.length) return
    this.#keys = Array.from({ length: count }, () => ({
      restsUntil: 0,
      why: undefined,
      status: undefined,
    }))
    this.#turn = 0
  }

  /**
   * The key of the next attempt: in rotation, those that rest and those that this request has tried last. A key whose rest
   * has ended serves one request before the others return to it.
   */
  take(tried: readonly number[]): number {
    const now = this.#clock.now()
    const index = this.#next(tried, now)
    const key = this.#keys[index]
    this.#turn = index + 1
    if (key?.why !== undefined) key.restsUntil = Math.max(key.restsUntil, now + this.#restMs)
    this.#meters.used(index)
    return index
  }

  /** A key for questions beside requests. */
  peek(): number {
    return this.#next([], this.#clock.now())
  }

  #next(tried: readonly number[], now: number): number {
    const order = this.#keys.map((_, offset) => (this.#turn + offset) % this.#keys.length)
    const untried = order.filter((index) => !tried.includes(index))
    const ready = untried.find((index) => !this.#rests(index, now))
    if (ready !== undefined) return ready
    const [first = 0, ...rest] = untried.length > 0 ? untried : order
    return rest.reduce((best, one) => (this.#restOf(one) < this.#restOf(best) ? one : best), first)
  }

  #rests(index: number, now: number): boolean {
    return this.#restOf(index) > now
  }

  #restOf(index: number): number {
    return this.#keys[index]?.restsUntil ?? 0
  }

  /** Whether a key is ready that the request has not tried. */
  hasOther(tried: readonly number[]): boolean {
    const now = this.#clock.now()
    return this.#keys.some((_, index) => !tried.includes(index) && !this.#rests(index, now))
  }

  served(index: number): void {
    const key = this.#keys[index]
    if (key?.why === undefined) return
    this.#keys[index] = { restsUntil: 0, why: undefined, status: undefined }
    this.#meters.resting(index, false)
  }

  /** Notes a failure that `isOfKey`. */
  failed(index: number, { class: kind, status, retryAfterMs }: Failure): void {
    if (this.#keys[index] === undefined) return
    const ms = Math.min(REST_MS_MAX, retryAfterMs ?? this.#restMs)
    const why = kind === 'credential' ? 'refused' : 'out of quota'
    this.#keys[index] = { restsUntil: this.#clock.now() + ms, why, status }
    this.#meters.resting(index, true)
  }

  /** Updates the gauges, because a rest ends without an event. */
  show(): void {
    const now = this.#clock.now()
    for (const index of this.#keys.keys()) this.#meters.resting(index, this.#rests(index, now))
  }

  /** The keys that the upstream refused last, with the status. */
  get refused(): readonly { readonly key: number; readonly status: number }[] {
    return this.#keys.flatMap(({ why, status }, key) =>
      why === 'refused' && status !== undefined ? [{ key, status }] : [],
    )
  }

  get areAllRefused(): boolean {
    return this.refused.length === this.#keys.length
  }

  list(): ShownKey[] {
    const now = this.#clock.now()
    return this.#keys.map(({ restsUntil, why, status }, key) => {
      if (restsUntil <= now) return { key, state: 'ready' }
      const until = new Date(this.#clock.wall() + restsUntil - now).toISOString()
      return {
        key,
        state: 'resting',
        ...(why !== undefined && { why }),
        ...(status !== undefined && { status }),
        rests_until: until,
      }
    })
  }
}
