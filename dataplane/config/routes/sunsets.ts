/** The names whose end the configuration states: when, and which name replaces them. */

import type { DeprecationSection, Section } from '../../schema/index.ts'
import { ModelNames } from './model-names.ts'

export interface Sunset {
  /** The route or alias as configured; a pattern keeps its `*`. */
  readonly name: string
  readonly section: DeprecationSection
  /** Milliseconds since 1970 from which the name is not served; infinite if no time is stated. */
  readonly untilMs: number
  readonly redirects: boolean
  /** Names and values in turns: `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and a `Link` to the successor. */
  readonly headers: readonly string[]
}

/** As lists of models show it. */
export function shownSunset({ section: { since, until, successor } }: Sunset) {
  return {
    since,
    ...(until !== undefined && { until }),
    ...(successor !== undefined && { successor }),
  }
}

/** The end of an alias wins over the end of its route. */
export class Sunsets {
  readonly #aliases: ModelNames<{ readonly sunset: Sunset | undefined }>
  readonly #routes: ReadonlyMap<string, Sunset>

  /** Undefined if no name ends. */
  static of({ aliases, deprecated_aliases, routes }: Section): Sunsets | undefined {
    const ends = new Map(
      routes.flatMap(({ name, deprecated }) =>
        deprecated === undefined ? [] : [[name, sunsetOf(name, deprecated)] as const],
      ),
    )
    const ended = Object.keys(deprecated_aliases)
    if (ends.size === 0 && ended.length === 0) return undefined
    const names = Object.keys(aliases).map((alias) => {
      const section = deprecated_aliases[alias]
      return [alias, { sunset: section && sunsetOf(alias, section) }] as const
    })
    return new Sunsets(new ModelNames(names), ends)
  }

  private constructor(
    aliases: ModelNames<{ readonly sunset: Sunset | undefined }>,
    routes: ReadonlyMap<string, Sunset>,
  ) {
    this.#aliases = aliases
    this.#routes = routes
  }

  /** `route`: the name of the route that `model` leads to. */
  of(model: string, route: string): Sunset | undefined {
    const alias = model === route ? undefined : this.#aliases.get(model)?.sunset
    return alias ?? this.#routes.get(route)
  }
}

function sunsetOf(name: string, section: DeprecationSection): Sunset {
  const { since, until, successor, then } = section
  const untilMs = until === undefined ? Number.POSITIVE_INFINITY : Date.parse(until)
  const headers = ['deprecation', `@${Math.floor(Date.parse(since) / 1000)}`]
  if (until !== undefined) headers.push('sunset', new Date(untilMs).toUTCString())
  if (successor !== undefined)
    headers.push('link', `</v1/models/${successor}>; rel="successor-version"`)
  return { name, section, untilMs, redirects: then === 'redirect', headers }
}
