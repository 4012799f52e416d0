/** Routes whose upstreams get the model that the client names: one route for each name, made when it is asked for. */
import { settingsOf } from '../upstreams/settings.ts'
import type { RouteGroup } from './group.ts'
import { modelsOf, type Route, type RouteMember } from './route.ts'

/** Clients choose the names, so only the latest ones are kept. */
const NAMES_MAX = 512

/** As model servers and hosted APIs name models: no blanks, quotes, query or escape. */
const NAME = /^[A-Za-z0-9@][A-Za-z0-9._:/@+~-]{0,254}$/
/** Some APIs have the name in their path. */
const STEPS_OUT = /(?:^|\/)\.{0,2}(?:\/|$)/

export const NAME_RULE = 'at most 255 letters, digits and . _ : / @ + ~ -'

export function isModelName(name: string): boolean {
  return NAME.test(name) && !STEPS_OUT.test(name)
}

/** Whether an upstream of the route gets the model that the client names. */
export function isOpen({ members }: Pick<Route, 'members'>): boolean {
  return members.some(({ upstream }) => upstream.takesModel !== undefined)
}

/** The part of a name that an alias replaces: of `openai/gpt-*` only `openai/`. */
export function replacedPart(prefix: string): string {
  return prefix.slice(0, prefix.lastIndexOf('/') + 1)
}

export class NamedModels {
  /** By the name that the client sends, the oldest first. */
  readonly #made = new Map<string, Route>()

  /**
   * The route for the name `sent`, which begins with the prefix of an alias, or is a route or an alias; undefined if no
   * upstream takes the model.
   */
  routeFor(route: Route, sent: string, prefix: string | undefined): Route | undefined {
    if (!isOpen(route)) return route
    const known = this.#made.get(sent)
    if (known !== undefined) {
      this.#made.delete(sent)
      this.#made.set(sent, known)
      return known
    }
    const made = namedRoute(route, sent, prefix)
    if (made === undefined) return undefined
    if (this.#made.size >= NAMES_MAX) {
      const [oldest = ''] = this.#made.keys()
      this.#made.delete(oldest)
    }
    this.#made.set(sent, made)
    return made
  }
}

function namedRoute(route: Route, sent: string, prefix: string | undefined): Route | undefined {
  const after = sent.slice(replacedPart(prefix ?? '').length)
  const names = [...new Set([after, sent])].filter(isModelName)
  const members = route.members.flatMap((member) => memberFor(member, names))
  const isTaken = members.some(({ upstream }) => upstream.isNamed)
  if (!isTaken && (prefix !== undefined || !areLed(members, route))) return undefined
  return Object.freeze({ ...route, members, models: modelsOf(members), sent })
}

/** Whether one of them comes before the fallbacks of the route. */
function areLed(members: readonly RouteMember[], { section, strategy, group }: Route): boolean {
  const { fallback } = section
  const first = group === undefined ? strategy.members(section) : firstIn(group)
  return members.some(({ upstream: { name } }) => first.includes(name) && !fallback.includes(name))
}

function firstIn({ members }: RouteGroup): string[] {
  return members.flatMap(({ name, group }) => (group === undefined ? [name] : firstIn(group)))
}

/** The name after the alias if the upstream takes it, else the whole name. */
function memberFor(member: RouteMember, names: readonly string[]): RouteMember[] {
  const { upstream, weight } = member
  const { takesModel } = upstream
  if (takesModel === undefined) return [member]
  const name = names.find(takesModel)
  if (name === undefined) return []
  return [{ upstream: settingsOf(upstream.section, upstream.disabled, name), weight }]
}
