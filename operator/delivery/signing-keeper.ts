/** Holds the signing keys of this process, and checks at an interval whether they were replaced. */
import { setTimeout as delay } from 'node:timers/promises'
import type { ApiClient } from '../kube/api.ts'
import { loadSigningKeys, type SigningKeys, type SigningPlace } from './signing-keys.ts'

export interface KeeperOptions {
  readonly api: ApiClient
  readonly place: SigningPlace
  /** Called when documents must be signed again, or pods must trust other keys. */
  readonly onChange: () => void
  readonly onError: (error: unknown) => void
}

const LOOK_MS = 60_000
const RETRY_MS = 2000

export class SigningKeeper {
  readonly #options: KeeperOptions
  readonly #stopping = new AbortController()
  #keys: SigningKeys | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(options: KeeperOptions) {
    this.#options = options
  }

  /** Throws before `obtain` has resolved. */
  get keys(): SigningKeys {
    if (this.#keys === undefined) throw new Error('the signing key has not been read yet')
    return this.#keys
  }

  /** Tries until it has the keys or is stopped. */
  async obtain(): Promise<void> {
    const { signal } = this.#stopping
    while (this.#keys === undefined && !signal.aborted) {
      await this.#look()
      if (this.#keys === undefined) {
        await delay(RETRY_MS, undefined, { signal }).catch(() => undefined)
      }
    }
    if (!signal.aborted) this.#timer ??= setInterval(() => void this.#look(), LOOK_MS)
  }

  stop(): void {
    this.#stopping.abort()
    clearInterval(this.#timer)
  }

  async #look(): Promise<void> {
    const { api, place, onChange, onError } = this.#options
    try {
      const keys = await loadSigningKeys(api, place)
      const before = this.#keys
      this.#keys = keys
      const isSame =
        before?.keyId === keys.keyId &&
        JSON.stringify(before.trusted) === JSON.stringify(keys.trusted)
      if (!isSame) onChange()
    } catch (error) {
      onError(error)
    }
  }
}
