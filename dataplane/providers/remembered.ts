/**
 * Remembers opaque texts of earlier answers for clients that do not send them back. The memory is bounded: the oldest
 * entry is removed first. Each tenant has separate ids, because a client could send the id of another tenant.
 */

const LENGTH_MAX = 8_388_608
/** The memory that an entry uses beside its texts. */
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

/** The length separates the tenant's name from the id. */
function keyOf(tenant: string | undefined, id: string): string {
  const owner = tenant ?? ''
  return `${owner.length} ${owner} ${id}`
}
