/** The public keys of an issuer: fetched at once, renewed in the background, kept while the issuer is unavailable. */
import type { JWTVerifyGetKey } from 'jose'
import type { Clock } from '../base/clock.ts'
import { isRecord, listOf, parsed } from '../json/values.ts'

export interface KeySetWorld {
  readonly clock: Clock
  /** Uniform in [0, 1). */
  random(): number
  /** Calls once, after that number of milliseconds; returns a function that prevents it. */
  schedule(delayMs: number, call: () => void): () => void
  /** A fetch has ended: the number of keys, or why there are none. */
  fetched(keys: number | undefined, fault: string | undefined): void
}

/** The text of the set, with a bounded length. Rejects if the text is unavailable. */
export type ReadKeys = (signal: AbortSignal) => Promise<string>

const RENEW_MS = 300_000
/** Random part of the interval, so that replicas do not fetch together. */
const RENEW_JITTER = 0.2
/** Shortest time between two fetches, regardless of tokens with unknown keys. */
const APART_MS = 30_000
/** Validity of a set after its last successful fetch. */
const KEPT_MS = 24 * 3_600_000
export const FETCH_MS_MAX = 5_000
const KEYS_MAX = 100
const FAULT_LENGTH_MAX = 300
const PUBLIC_TYPES: readonly unknown[] = ['RSA', 'EC', 'OKP']

export class KeySet {
  readonly #read: ReadKeys
  readonly #world: KeySetWorld
  #find: JWTVerifyGetKey | undefined
  #size = 0
  #goodAt = Number.NEGATIVE_INFINITY
  #begunAt = Number.NEGATIVE_INFINITY
  #fault: string | undefined
  #running: Promise<void> | undefined
  #cancel: (() => void) | undefined
  #isClosed = false

  constructor(read: ReadKeys, world: KeySetWorld) {
    this.#read = read
    this.#world = world
    this.#renew()
  }

  /** Finds the key of a token; undefined while there is no set. Tokens wait only for the first fetch. */
  async find(): Promise<JWTVerifyGetKey | undefined> {
    if (this.#find === undefined) await this.#running
    const isGood = this.#world.clock.now() - this.#goodAt < KEPT_MS
    return isGood ? this.#find : undefined
  }

  /** The set lacks the key of a token: the issuer may have a new one. */
  missed(): void {
    if (this.#running !== undefined) return
    this.#schedule(Math.max(0, this.#begunAt + APART_MS - this.#world.clock.now()))
  }

  get state() {
    const { clock } = this.#world
    const ageMs = clock.now() - this.#goodAt
    return {
      keys: this.#size,
      ...(Number.isFinite(ageMs) && { age_seconds: Math.round(ageMs / 1000) }),
      ...(this.#fault !== undefined && { reason: this.#fault }),
    }
  }

  close(): void {
    this.#isClosed = true
    this.#cancel?.()
  }

  #renew(): void {
    if (this.#isClosed || this.#running !== undefined) return
    this.#begunAt = this.#world.clock.now()
    this.#running = this.#fetch().then((delayMs) => {
      this.#running = undefined
      this.#schedule(delayMs)
    })
  }

  #schedule(delayMs: number): void {
    this.#cancel?.()
    if (!this.#isClosed) this.#cancel = this.#world.schedule(delayMs, () => this.#renew())
  }

  /** Resolves with the time until the next fetch; never rejects. */
  async #fetch(): Promise<number> {
    try {
      const keys = publicKeys(await this.#read(AbortSignal.timeout(FETCH_MS_MAX)))
      const { createLocalJWKSet } = await import('jose')
      this.#find = createLocalJWKSet({ keys } as Parameters<typeof createLocalJWKSet>[0])
      this.#size = keys.length
      this.#goodAt = this.#world.clock.now()
      this.#fault = undefined
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error)
      this.#fault = text.replace(/\s+/g, ' ').slice(0, FAULT_LENGTH_MAX)
    }
    this.#world.fetched(this.#fault === undefined ? this.#size : undefined, this.#fault)
    if (this.#fault !== undefined) return APART_MS
    return RENEW_MS * (1 - RENEW_JITTER * this.#world.random())
  }
}

/** Omits secret keys, because every reader of the set could sign with them. */
function publicKeys(text: string): Record<string, unknown>[] {
  const set = parsed(text)
  if (!isRecord(set) || !Array.isArray(set.keys)) throw new Error('It is not a JSON web key set.')
  const keys = listOf(set.keys)
    .filter(isRecord)
    .filter(({ kty, d }) => PUBLIC_TYPES.includes(kty) && d === undefined)
  if (keys.length === 0) throw new Error('It has no public key.')
  if (keys.length > KEYS_MAX) throw new Error(`It has more than ${KEYS_MAX} keys.`)
  return keys
}
