/**
 * The running requests by id. A Map would do, but each table that a Map outgrows points to the next one: under a load of
 * short requests, once such a table is old, the collector keeps what all later ones held (60 MB where 1 is in use).
 */
import type { Held } from './held.ts'

export class Holds {
  #chains: (Held | undefined)[] = new Array<Held | undefined>(64).fill(undefined)
  #size = 0

  get size(): number {
    return this.#size
  }

  get(id: string): Held | undefined {
    let held = this.#chains[this.#slotOf(id)]
    while (held !== undefined && held.id !== id) held = held.next
    return held
  }

  add(held: Held): void {
    if (this.#size >= this.#chains.length) this.#grow()
    this.#size++
    this.#link(held)
  }

  /** Leaves no reference from what is gone to what is not, for the same reason as above. */
  remove(held: Held): void {
    const slot = this.#slotOf(held.id)
    const first = this.#chains[slot]
    if (first === held) {
      this.#chains[slot] = held.next
    } else {
      let before = first
      while (before !== undefined && before.next !== held) before = before.next
      if (before === undefined) return
      before.next = held.next
    }
    held.next = undefined
    this.#size--
  }

  list(): Held[] {
    const all: Held[] = []
    for (const first of this.#chains) {
      for (let held = first; held !== undefined; held = held.next) all.push(held)
    }
    return all
  }

  #link(held: Held): void {
    const slot = this.#slotOf(held.id)
    held.next = this.#chains[slot]
    this.#chains[slot] = held
  }

  #grow(): void {
    const all = this.list()
    this.#chains = new Array<Held | undefined>(this.#chains.length * 2).fill(undefined)
    for (const held of all) this.#link(held)
  }

  #slotOf(id: string): number {
    let hash = 0
    for (let index = 0; index < id.length; index++) {
      hash = (Math.imul(hash, 31) + id.charCodeAt(index)) | 0
    }
    // The number of chains is a power of two; the upper bits are folded in so that they count.
    return (hash ^ (hash >>> 15)) & (this.#chains.length - 1)
  }
}
