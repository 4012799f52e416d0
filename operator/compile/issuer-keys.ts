/**
 * The public keys with which the API server signs the tokens of ServiceAccounts; the operator sends them, because pods
 * have no access.
 */
import { isRecord, listBelow } from '../../dataplane/json/values.ts'

export type PublicKey = Readonly<Record<string, string>>

export interface IssuerKeysOptions {
  /** The key set of the API server. */
  readonly read: () => Promise<unknown>
  readonly onChange: () => void
  readonly onError: (error: unknown) => void
  readonly everyMs?: number
}

const EVERY_MS = 300_000
const RETRY_MS = 30_000
const KEYS_MAX = 100

export class IssuerKeys {
  readonly #options: IssuerKeysOptions
  #keys: readonly PublicKey[] | undefined
  #text = ''
  #timer: NodeJS.Timeout | undefined
  #isWanted = false
  #isStopped = false

  constructor(options: IssuerKeysOptions) {
    this.#options = options
  }

  /** undefined until they have been read. The first call starts to read them, every five minutes. */
  get keys(): readonly PublicKey[] | undefined {
    if (!this.#isWanted && !this.#isStopped) {
      this.#isWanted = true
      void this.#renew()
    }
    return this.#keys
  }

  /** Changes with them. */
  get version(): string {
    return this.#text
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  async #renew(): Promise<void> {
    let waitMs = this.#options.everyMs ?? EVERY_MS
    try {
      const keys = publicKeysOf(await this.#options.read())
      const text = JSON.stringify(keys)
      if (text !== this.#text) {
        this.#keys = keys
        this.#text = text
        this.#options.onChange()
      }
    } catch (error) {
      waitMs = Math.min(waitMs, RETRY_MS)
      this.#options.onError(error)
    }
    if (!this.#isStopped) this.#timer = setTimeout(() => void this.#renew(), waitMs).unref()
  }
}

/** Members other than texts, such as certificates, are not needed for a signature. */
function publicKeysOf(set: unknown): PublicKey[] {
  const keys = listBelow(set, 'keys').filter(isRecord).slice(0, KEYS_MAX)
  if (keys.length === 0) throw new Error('the API server shows no public keys of its issuer')
  return keys.map((key) =>
    Object.fromEntries(
      Object.entries(key).filter(
        (entry): entry is [string, string] => typeof entry[1] === 'string',
      ),
    ),
  )
}
