/** Labels that tenants require, and whether any upstream has them. */

import type { Section } from '../../../schema/index.ts'
import { type Finding, refuse, warn } from '../../judgement/problems.ts'
import { labelsText, Placements } from '../../routes/placements.ts'
import { at, type Check, quoted } from '../contract.ts'
import { repeated } from '../duplicates.ts'

const tenantsAreNamedOnce: Check = ({ tenants }, context) =>
  repeated(
    tenants.map(({ name }, index) => ({ name, path: at('tenants', index, 'name') })),
    'tenant',
    context,
  )

const labelsExist: Check = (section) => {
  const placements = Placements.of(section)
  return section.tenants.flatMap(({ name, requires, may_match_none }, index) => {
    if (placements?.of(name)?.permitted.size !== 0) return []
    const message = `no upstream has the labels ${labelsText(requires)}`
    const path = at('tenants', index, 'requires')
    return may_match_none
      ? [warn(path, message, 'Requests of the tenant get 403.')]
      : [refuse(path, message, labelsFix(section))]
  })
}

/** A key that names a route expects it to work. */
const routesHaveUpstreams: Check = (section) => {
  const placements = Placements.of(section)
  if (placements === undefined) return []
  return section.api_keys.flatMap((key, index): Finding[] => {
    const placement = placements.of(key.tenant)
    if (placement === undefined || key.routes.includes('*')) return []
    const without = section.routes.filter(
      (route) =>
        key.routes.includes(route.name) &&
        !upstreamsOf(route).some((name) => placement.permitted.has(name)),
    )
    return without.map(({ name }) => {
      const whose = `the labels that tenant ${quoted(key.tenant)} requires: ${placement.labels}`
      const message = `no upstream of route ${quoted(name)} has ${whose}`
      return warn(at('api_keys', index, 'routes'), message, 'Its requests there get 403.')
    })
  })
}

export const placementChecks = [tenantsAreNamedOnce, labelsExist, routesHaveUpstreams]

function upstreamsOf({ upstreams, primary, fallback, semantic }: Section['routes'][number]) {
  const named = [primary, semantic?.easy, semantic?.hard].flatMap((one) => one ?? [])
  return [...upstreams.map(({ name }) => name), ...fallback, ...named]
}

function labelsFix({ upstreams }: Section): string {
  const all = new Set(upstreams.flatMap(({ labels = {} }) => labelsText(labels).split(', ')))
  all.delete('')
  const shown = [...all].toSorted().slice(0, 20).join(', ')
  return shown === ''
    ? 'Write labels at upstreams, or remove the entry.'
    : `Upstreams have: ${shown}.`
}
