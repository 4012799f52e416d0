/** The names that clients may send in `model`: routes, aliases, and aliases that end with `*`. */

const WILDCARD = '*'

/** Exact names win over patterns, and of the patterns the longest one. */
export class ModelNames<Route> implements Iterable<[string, Route]> {
  readonly #exact = new Map<string, Route>()
  /** The longest first, without the `*`. */
  readonly #prefixes: (readonly [string, Route])[] = []

  constructor(names: Iterable<readonly [string, Route]>) {
    for (const [name, route] of names) {
      if (isPattern(name)) this.#prefixes.push([name.slice(0, -1), route])
      else this.#exact.set(name, route)
    }
    this.#prefixes.sort(([one], [other]) => other.length - one.length)
  }

  get(model: string): Route | undefined {
    return (
      this.#exact.get(model) ?? this.#prefixes.find(([prefix]) => model.startsWith(prefix))?.[1]
    )
  }

  /** The exact names alone: a client cannot ask for a pattern. */
  [Symbol.iterator](): IterableIterator<[string, Route]> {
    return this.#exact.entries()
  }
}

export function isPattern(alias: string): boolean {
  return alias.endsWith(WILDCARD)
}
