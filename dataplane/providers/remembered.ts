/**
 * Opaque texts of earlier answers for clients that do not hand them back: a bounded memory, the oldest goes first. Each
 * tenant has its own ids, because one could send another's.
 */

const LENGTH_MAX = 8_388_608
/** The memory of an entry beside its texts. */
const ENTRY_LENGTH = 256

export class Remembered<Value> {
  readonly #values = new Map<string, Value>()
  readonly #lengthOf: (value: Value) => number
  #length = 0

  constructor(lengthOf: (value: Value) => number) {
    this.#lengthOf = lengthOf
  }

  get(tenant: string | undefined, id: string): Value | undefined {
    return this.#values.get(keyOf(tenant, id))
  }

  set(tenant: string | undefined, id: string, value: Value): void {
    const key = keyOf(tenant, id)
    this.#forget(key)
    this.#values.set(key, value)
    this.#length += this.#lengthOfEntry(key, value)
    for (const oldest of this.#values.keys()) {
      if (this.#length <= LENGTH_MAX) break
      this.#forget(oldest)
    }
  }

  #forget(key: string): void {
    const value = this.#values.get(key)
    if (value === undefined) return
    this.#length -= this.#lengthOfEntry(key, value)
    this.#values.delete(key)
  }

  #lengthOfEntry(key: string, value: Value): number {
    return ENTRY_LENGTH + key.length + this.#lengthOf(value)
  }
}

/** The length keeps the end of a tenant's name from being the beginning of an id. */
function keyOf(tenant: string | undefined, id: string): string {
  const owner = tenant ?? ''
  return `${owner.length} ${owner} ${id}`
}
