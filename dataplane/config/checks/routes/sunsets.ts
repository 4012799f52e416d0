/** The ends of routes and aliases, and the names that replace them. */

import type { DeprecationSection, Section } from '../../../schema/index.ts'
import { type Path, refuse, warn } from '../../judgement/problems.ts'
import { isPattern, ModelNames } from '../../routes/model-names.ts'
import { at, type Check, oneOf, quoted } from '../contract.ts'
import { unknownName } from '../names.ts'

interface End {
  readonly name: string
  readonly section: DeprecationSection
  readonly path: Path
}

const deprecatedAliasesExist: Check = ({ aliases, deprecated_aliases }, { suggestions }) => {
  const known = new Set(Object.keys(aliases))
  return Object.keys(deprecated_aliases).flatMap((alias) =>
    unknownName(alias, at('deprecated_aliases', alias), 'alias', { known, suggestions }),
  )
}

const successorsExist: Check = (section, { suggestions }) => {
  const aliases = Object.keys(section.aliases).filter((alias) => !isPattern(alias))
  const known = new Set([...section.routes.map(({ name }) => name), ...aliases])
  return endsOf(section).flatMap(({ section: { successor }, path }) =>
    successor === undefined
      ? []
      : unknownName(successor, [...path, 'successor'], 'route or alias', { known, suggestions }),
  )
}

const endsFollowBeginnings: Check = (section) =>
  endsOf(section).flatMap(({ section: { since, until }, path }) => {
    if (until === undefined || Date.parse(since) <= Date.parse(until)) return []
    return [refuse([...path, 'until'], 'until is before since', 'Write a later until.')]
  })

const redirectsLead: Check = (section) =>
  endsOf(section).flatMap(({ section: { then, until, successor }, path }) => {
    if (then !== 'redirect' || (until !== undefined && successor !== undefined)) return []
    const missing = until === undefined ? 'until' : 'successor'
    const message = `then: redirect cannot take effect without ${missing}`
    return [refuse([...path, 'then'], message, `Write ${missing}, or remove then.`)]
  })

/** A successor that ends earlier, or leads back, serves no client. */
const successorsStay: Check = (section) => {
  const ends = endsOf(section)
  const routes = section.routes.map(({ name }) => [name, name] as const)
  const names = new ModelNames([...routes, ...Object.entries(section.aliases)])
  const endOf = (name: string) =>
    ends.find((end) => end.name === name) ?? ends.find((end) => end.name === names.get(name))
  return ends.flatMap((end) => {
    const { successor, until } = end.section
    const next = successor === undefined ? undefined : endOf(successor)
    if (next === undefined || successor === undefined) return []
    const path = [...end.path, 'successor']
    if (leadsBack(end, endOf)) {
      const message = `${quoted(successor)} leads back to ${quoted(end.name)}, which ends`
      return [refuse(path, message, oneOf(routesThatStay(section)))]
    }
    if (until === undefined || timeOf(next) > Date.parse(until)) return []
    const message = `${quoted(successor)} is not served longer than ${quoted(end.name)}`
    return [warn(path, message, 'Name a successor that is served longer.')]
  })
}

const endedNamesAreKnown: Check = (section, { now }) =>
  endsOf(section).flatMap((end) => {
    const { until, then } = end.section
    if (now === undefined || then === 'redirect' || timeOf(end) > now) return []
    const message = `${quoted(end.name)} is not served since ${until}: requests get 404`
    return [warn([...end.path, 'until'], message, 'Remove the name, or set a later until.')]
  })

export const sunsetChecks = [
  deprecatedAliasesExist,
  successorsExist,
  endsFollowBeginnings,
  redirectsLead,
  successorsStay,
  endedNamesAreKnown,
]

function endsOf({ routes, deprecated_aliases }: Section): End[] {
  return [
    ...routes.flatMap(({ name, deprecated: section }, index) =>
      section === undefined ? [] : [{ name, section, path: at('routes', index, 'deprecated') }],
    ),
    ...Object.entries(deprecated_aliases).map(([name, section]) => ({
      name,
      section,
      path: at('deprecated_aliases', name),
    })),
  ]
}

function leadsBack(start: End, endOf: (name: string) => End | undefined): boolean {
  const seen = new Set<End>()
  let end: End | undefined = start
  while (end !== undefined && !seen.has(end)) {
    seen.add(end)
    const { successor } = end.section as DeprecationSection
    end = successor === undefined ? undefined : endOf(successor)
  }
  return end === start
}

function routesThatStay({ routes }: Section): string[] {
  return routes.filter(({ deprecated }) => deprecated === undefined).map(({ name }) => name)
}

function timeOf({ section: { until } }: End): number {
  return until === undefined ? Number.POSITIVE_INFINITY : Date.parse(until)
}
