/** Counts by name of route, tenant and upstream: bounded, with the rest as "other". */
import { addTo, type Counts, noCounts } from './counts.ts'

export const KINDS = ['route', 'tenant', 'upstream'] as const
export type Kind = (typeof KINDS)[number]

export const OTHER = 'other'

/** Most names of a kind in memory. */
const NAMES_MAX = 200
/** Longer names are cut, since callers choose those of tenants. */
const NAME_MAX = 100
/** Most names of a kind in a page of the history: those with most requests. */
const KEPT: Readonly<Record<Kind, number>> = { route: 20, tenant: 40, upstream: 20 }

export class Cells {
  readonly #kinds: Readonly<Record<Kind, Map<string, Counts>>> = {
    route: new Map(),
    tenant: new Map(),
    upstream: new Map(),
  }

  /** The counts of a name, to be changed in place. */
  at(kind: Kind, name: string): Counts {
    return this.#kinds[kind].get(name) ?? this.#begin(kind, name)
  }

  found(kind: Kind, name: string): Counts | undefined {
    return this.#kinds[kind].get(name)
  }

  entries(kind: Kind): Iterable<readonly [string, Counts]> {
    return this.#kinds[kind]
  }

  get isEmpty(): boolean {
    return KINDS.every((kind) => this.#kinds[kind].size === 0)
  }

  add(more: Cells): void {
    for (const kind of KINDS)
      for (const [name, counts] of more.entries(kind)) addTo(this.at(kind, name), counts)
  }

  /** As a page keeps them. */
  bounded(): Cells {
    const kept = new Cells()
    for (const kind of KINDS) {
      const names = [...this.#kinds[kind]].sort(([, one], [, two]) => (two[0] ?? 0) - (one[0] ?? 0))
      for (const [index, [name, counts]] of names.entries())
        addTo(kept.at(kind, index < KEPT[kind] ? name : OTHER), counts)
    }
    return kept
  }

  #begin(kind: Kind, full: string): Counts {
    const names = this.#kinds[kind]
    const cut = full.length > NAME_MAX ? `${full.slice(0, NAME_MAX - 1)}…` : full
    const name = names.size < NAMES_MAX || names.has(cut) ? cut : OTHER
    const found = names.get(name)
    if (found !== undefined) return found
    const counts = noCounts()
    names.set(name, counts)
    return counts
  }
}
