/** References from one section to another by name. */

import { nestedRoute } from '../../schema/constants.ts'
import type { RouteSection } from '../../schema/index.ts'
import type { Suggestions } from '../judgement/nearest.ts'
import { type Finding, type Path, refuse, warn } from '../judgement/problems.ts'
import { at, type Check, listed, oneOf, quoted } from './contract.ts'

const routeUpstreamsExist: Check = ({ upstreams, routes }, { suggestions }) => {
  const known = new Set(upstreams.map(({ name }) => name))
  const knownRoutes = new Set(routes.map(({ name }) => name))
  return routes.flatMap((route, index) =>
    namedUpstreams(route, at('routes', index)).flatMap(({ name, path }) => {
      const nested = nestedRoute(name)
      if (nested !== undefined)
        return unknownName(nested, path, 'route', { known: knownRoutes, suggestions })
      if (known.has(name) || !knownRoutes.has(name))
        return unknownName(name, path, 'upstream', { known, suggestions })
      const message = `${quoted(name)} is a route, not an upstream`
      return [refuse(path, message, `Write {route: ${name}} in upstreams or fallback.`)]
    }),
  )
}

const aliasesLeadToRoutes: Check = ({ aliases, routes }, { suggestions }) => {
  const known = new Set(routes.map(({ name }) => name))
  return Object.entries(aliases).flatMap(([alias, target]) => {
    const path = at('aliases', alias)
    if (!known.has(target) && Object.hasOwn(aliases, target)) {
      const message = `${quoted(target)} is an alias; an alias cannot lead to another alias`
      return [refuse(path, message, `Name the route itself: ${quoted(aliases[target] ?? '')}.`)]
    }
    return unknownName(target, path, 'route', { known, suggestions })
  })
}

const aliasesHideNoRoute: Check = ({ aliases, routes }) =>
  routes.flatMap(({ name }) => {
    if (!Object.hasOwn(aliases, name)) return []
    const message = `alias ${quoted(name)} hides the route of that name: aliases resolve first`
    const finding = refuse(at('aliases', name), message, 'Remove the alias or rename the route.')
    return [{ ...finding, atKey: true }]
  })

const aliasesArePatterns: Check = ({ aliases }) =>
  Object.keys(aliases).flatMap((alias) => {
    const star = alias.indexOf('*')
    if (star === -1 || star === alias.length - 1) return []
    const message = `alias ${quoted(alias)} has a * that is not its last character`
    const fix = `Put one * at the end: ${quoted(`${alias.slice(0, star)}*`)}.`
    return [{ ...refuse(at('aliases', alias), message, fix), atKey: true }]
  })

const everyUpstreamIsUsed: Check = ({ upstreams, routes, vector_stores }) => {
  const used = new Set([
    ...routes.flatMap((route) => namedUpstreams(route, []).map(({ name }) => name)),
    ...vector_stores.flatMap(({ embedding }) => embedding?.upstream ?? []),
  ])
  return upstreams.flatMap(({ name }, index) =>
    used.has(name)
      ? []
      : [
          warn(
            at('upstreams', index, 'name'),
            `upstream ${quoted(name)} is not used by any route`,
            'Name it in a route, or remove it.',
          ),
        ],
  )
}

export const nameChecks = [
  routeUpstreamsExist,
  aliasesLeadToRoutes,
  aliasesHideNoRoute,
  aliasesArePatterns,
  everyUpstreamIsUsed,
]

/** A finding when `name` is not among `known`. */
export function unknownName(
  name: string,
  path: Path,
  what: string,
  { known, suggestions }: { known: ReadonlySet<string>; suggestions: Suggestions },
): Finding[] {
  if (known.has(name)) return []
  const suggestion = suggestions.didYouMean(name, known)
  return [refuse(path, `unknown ${what} ${quoted(name)}${suggestion}`, oneOf(known))]
}

/** A finding when usage.tags does not declare the tag. */
export function undeclaredTag(
  tag: string,
  path: Path,
  { known, suggestions }: { known: ReadonlySet<string>; suggestions: Suggestions },
): Finding[] {
  if (known.has(tag)) return []
  const message = `usage.tags does not declare ${quoted(tag)}${suggestions.didYouMean(tag, known)}`
  const fix = `Add ${quoted(tag)} to usage.tags, or use one of: ${listed(known)}.`
  const alone = `Declare it: usage: {tags: [${tag}]}.`
  return [refuse(path, message, known.size === 0 ? alone : fix)]
}

function namedUpstreams(route: RouteSection, path: Path): { name: string; path: Path }[] {
  const { upstreams, primary, fallback, semantic, shadow, rollout } = route
  const single = (name: string | undefined, ...rest: Path) =>
    name === undefined ? [] : [{ name, path: [...path, ...rest] }]
  return [
    ...upstreams.map(({ name }, index) => ({ name, path: [...path, 'upstreams', index, 'name'] })),
    ...single(primary, 'primary'),
    ...fallback.map((name, index) => ({ name, path: [...path, 'fallback', index] })),
    ...single(semantic?.easy, 'semantic', 'easy'),
    ...single(semantic?.hard, 'semantic', 'hard'),
    ...single(semantic?.embedding?.upstream, 'semantic', 'embedding', 'upstream'),
    ...single(shadow?.upstream, 'shadow', 'upstream'),
    ...single(rollout?.to, 'rollout', 'to'),
  ]
}
