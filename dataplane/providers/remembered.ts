/** Opaque texts of earlier answers for clients that do not hand them back: a bounded memory, the oldest goes first. */

const LENGTH_MAX = 8_388_608

export class Remembered<Value> {
  readonly #values = new Map<string, Value>()
  readonly #lengthOf: (value: Value) => number
  #length = 0

  constructor(lengthOf: (value: Value) => number) {
    this.#lengthOf = lengthOf
  }

  get(key: string): Value | undefined {
    return this.#values.get(key)
  }

  set(key: string, value: Value): void {
    this.#forget(key)
    this.#values.set(key, value)
    this.#length += key.length + this.#lengthOf(value)
    for (const oldest of this.#values.keys()) {
      if (this.#length <= LENGTH_MAX) break
      this.#forget(oldest)
    }
  }

  #forget(key: string): void {
    const value = this.#values.get(key)
    if (value === undefined) return
    this.#length -= key.length + this.#lengthOf(value)
    this.#values.delete(key)
  }
}
