/** Ids of traces and spans, and which traces are kept: by parent and ratio at the start, by errors and time at the end. */
import type { Trace } from '../trace/fields.ts'

export const SAMPLED = 1
/** The id of the trace is random, so that a ratio may be decided by it. */
const RANDOM = 2

const POOL_BYTES = 4096
const HALF = 2 ** 28

/** Ids as lower-case hex, cut from a pool of random bytes. */
export class RandomIds {
  readonly #fill: (pool: Buffer) => void
  readonly #pool = Buffer.alloc(POOL_BYTES)
  #used = POOL_BYTES

  /** `fill` writes random bytes. */
  constructor(fill: (pool: Buffer) => void) {
    this.#fill = fill
  }

  traceId(): string {
    return this.#next(16)
  }

  spanId(): string {
    return this.#next(8)
  }

  #next(bytes: number): string {
    if (this.#used + bytes > POOL_BYTES) {
      this.#fill(this.#pool)
      this.#used = 0
    }
    const id = this.#pool.toString('hex', this.#used, this.#used + bytes)
    this.#used += bytes
    return id
  }
}

/**
 * Keeps a trace if the last 56 bits of its id reach a threshold, so that every gateway keeps the same traces, and a
 * smaller ratio keeps a subset.
 */
export class Ratio {
  readonly #high: number
  readonly #low: number

  constructor(ratio: number) {
    const threshold = (1 - ratio) * HALF
    this.#high = Math.floor(threshold)
    this.#low = Math.floor((threshold - this.#high) * HALF)
  }

  keeps(traceId: string): boolean {
    const high = Number.parseInt(traceId.slice(18, 25), 16)
    if (high !== this.#high) return high > this.#high
    return Number.parseInt(traceId.slice(25, 32), 16) >= this.#low
  }
}

export function flagsOfNew(isSampled: boolean): number {
  return isSampled ? RANDOM | SAMPLED : RANDOM
}

/** Most traces kept in a second, so that clients do not decide how much the gateway sends. */
const BY_CLIENT_MAX = 100
const NOTABLE_MAX = 50
const SECOND_MS = 1000

/** The traces of one second, by the reason why they are kept. */
export class Allowance {
  #second = 0
  readonly #taken = new Map<string, number>()

  /** Whether one more is within the bound. */
  takes(reason: 'error' | 'slow' | 'parent', tenant: string, wallMs: number): boolean {
    const second = Math.floor(wallMs / SECOND_MS)
    if (second !== this.#second) {
      this.#second = second
      this.#taken.clear()
    }
    const most = reason === 'parent' ? BY_CLIENT_MAX : NOTABLE_MAX
    const key = reason === 'parent' ? `tenant ${tenant}` : reason
    const taken = this.#taken.get(key) ?? 0
    if (taken >= most) return false
    this.#taken.set(key, taken + 1)
    return true
  }
}

/** Failures of upstreams and of the gateway; refusals that clients cause do not count. */
export function isError({ status, code, attempts }: Trace): boolean {
  if (status >= 500 || code === 'ERR_GW_STREAM_ABORTED') return true
  return attempts.length > 1
}
