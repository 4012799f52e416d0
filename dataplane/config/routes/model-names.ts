/** The names that clients may send in `model`: routes, aliases, and aliases that end with `*`. */

const WILDCARD = '*'

/**
 * undefined: no upstream of the route takes the model. `prefix`: the pattern that covers the name, without its `*`;
 * undefined for a route and for an alias that is no pattern.
 */
type RouteFor<Route> = (route: Route, sent: string, prefix: string | undefined) => Route | undefined

/** Exact names win over patterns, and of the patterns the longest one. */
export class ModelNames<Route> implements Iterable<[string, Route]> {
  readonly #exact = new Map<string, Route>()
  /** The longest first, without the `*`. */
  readonly #prefixes: (readonly [string, Route])[] = []

  readonly #routeFor: RouteFor<Route>

  /** `routeFor`: the route for a name, if it depends on the name. */
  constructor(
    names: Iterable<readonly [string, Route]>,
    routeFor: RouteFor<Route> = (route) => route,
  ) {
    this.#routeFor = routeFor
    for (const [name, route] of names) {
      if (isPattern(name)) this.#prefixes.push([name.slice(0, -1), route])
      else this.#exact.set(name, route)
    }
    this.#prefixes.sort(([one], [other]) => other.length - one.length)
  }

  get(model: string): Route | undefined {
    const exact = this.#exact.get(model)
    if (exact !== undefined) return this.#routeFor(exact, model, undefined)
    const [prefix, route] = this.#prefixes.find(([start]) => model.startsWith(start)) ?? []
    return route && this.#routeFor(route, model, prefix ?? '')
  }

  /** The route of a name or a pattern as it is written, regardless of the model that its upstreams get. */
  written(name: string): Route | undefined {
    if (!isPattern(name)) return this.#exact.get(name)
    return this.#prefixes.find(([prefix]) => prefix === name.slice(0, -1))?.[1]
  }

  /** Whether a name or a pattern covers the model, although no upstream may take it. */
  covers(model: string): boolean {
    return this.#exact.has(model) || this.#prefixes.some(([prefix]) => model.startsWith(prefix))
  }

  /** The patterns without their `*`, with their routes. */
  get prefixes(): readonly (readonly [string, Route])[] {
    return this.#prefixes
  }

  /** The exact names alone: a client cannot ask for a pattern. */
  [Symbol.iterator](): IterableIterator<[string, Route]> {
    return this.#exact.entries()
  }
}

export function isPattern(alias: string): boolean {
  return alias.endsWith(WILDCARD)
}
