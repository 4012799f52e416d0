/** The names that clients may send in `model`, by a configuration that need not be complete. */
import { isRecord, recordOf, valueBelow } from '../../dataplane/json/values.ts'

export interface RouteNames {
  /** The route of each alias. */
  readonly aliases: Readonly<Record<string, string>>
  /** Names of the routes; undefined if they are not known. */
  readonly routes: readonly string[] | undefined
}

/** `section`: `gw` of a configuration. */
export function namesIn(section: unknown): RouteNames {
  const routes = valueBelow(section, 'routes')
  const aliases = Object.entries(recordOf(valueBelow(section, 'aliases')))
  return {
    aliases: Object.fromEntries(
      aliases.map(([name, to]) => [name, String(isRecord(to) ? to.route : to)]),
    ),
    routes: Array.isArray(routes)
      ? routes.map((route) => String(valueBelow(route, 'name')))
      : undefined,
  }
}
