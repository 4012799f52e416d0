/** Recently verified tokens, by the SHA-256 of the whole token, so that requests need not check the signature again. */
import type { KeyEntry } from '../call/key-entry.ts'

const KEPT_MS = 60_000
const TOKENS_MAX = 10_000

interface Verified {
  readonly caller: KeyEntry
  readonly until: number
}

export class VerifiedTokens {
  readonly #verified = new Map<string, Verified>()

  /** `now`: milliseconds since the epoch. */
  get(digest: string, now: number): KeyEntry | undefined {
    const found = this.#verified.get(digest)
    if (found === undefined || now < found.until) return found?.caller
    this.#verified.delete(digest)
    return undefined
  }

  add(digest: string, caller: KeyEntry, now: number): void {
    if (this.#verified.size >= TOKENS_MAX) {
      const [oldest] = this.#verified.keys()
      if (oldest !== undefined) this.#verified.delete(oldest)
    }
    this.#verified.set(digest, { caller, until: Math.min(caller.expiresAt, now + KEPT_MS) })
  }

  clear(): void {
    this.#verified.clear()
  }
}
