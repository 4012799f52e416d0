/** The holder of a budget: a tenant, a group of tenants or a key. */
import { type BudgetSection, EACH_TENANT } from '../../../accounts/holders.ts'
import { valueBelow } from '../../../json/values.ts'
import type { RouteSection, Section } from '../../../schema/index.ts'
import { entryOf } from '../../caller-id.ts'
import { type Finding, refuse, warn } from '../../judgement/problems.ts'
import { at, type Check, oneOf, quoted } from '../contract.ts'
import { repeated } from '../duplicates.ts'
import { callersOf } from './callers.ts'

/** Each group adds a counter to check for each request. */
const GROUPS_MAX = 8

const budgetHasOneHolder: Check = ({ budgets }) =>
  budgets.flatMap((budget, index) => {
    const { tenant, tenants, key, name } = budget
    const holders = [tenant, tenants, key].filter((holder) => holder !== undefined).length
    if (holders === 0) {
      const fix =
        'Add tenant: with a name, or "*" for each tenant; tenants: with a list that shares it; or key: with an id.'
      return [
        refuse(
          at('budgets', index),
          'applies to nothing: it has none of tenant, tenants, key',
          fix,
        ),
      ]
    }
    if (holders > 1) {
      const fix = 'Keep one of tenant, tenants and key; several budgets may hold for one request.'
      return [refuse(at('budgets', index), 'has more than one of tenant, tenants, key', fix)]
    }
    if (name === undefined || tenants !== undefined) return []
    const fix = 'Remove it; it names a group of tenants.'
    return [
      refuse(at('budgets', index, 'name'), 'cannot take effect: there is no tenants list', fix),
    ]
  })

const groupIsAList: Check = ({ budgets }) =>
  budgets.flatMap(({ tenants = [] }, index) =>
    tenants.flatMap((tenant, entry) => {
      if (tenant !== EACH_TENANT) return []
      const message = '"*" is no tenant: a list shares one counter'
      const fix =
        'List the tenants that share it, or write tenant: "*" for a budget of each tenant.'
      return [refuse(at('budgets', index, 'tenants', entry), message, fix)]
    }),
  )

const holdersDiffer: Check = ({ budgets }, context) => {
  const named = (of: (budget: BudgetSection) => string | undefined, field: string) =>
    budgets.flatMap((budget, index) => {
      const name = of(budget)
      return name === undefined ? [] : [{ name, path: at('budgets', index, field) }]
    })
  return [
    ...repeated(
      named(({ tenant }) => tenant, 'tenant'),
      'tenant budget',
      context,
    ),
    ...repeated(
      named(({ key }) => key, 'key'),
      'key budget',
      context,
    ),
    ...repeated(
      named(({ name }) => name, 'name'),
      'group name',
      context,
    ),
    ...repeated(
      named(({ tenants }) => tenants?.toSorted().join(', '), 'tenants'),
      'group of tenants',
      context,
    ),
    ...budgets.flatMap(({ tenants = [] }, index) =>
      repeated(
        tenants.map((name, entry) => ({ name, path: at('budgets', index, 'tenants', entry) })),
        'tenant of the group',
        context,
      ),
    ),
  ]
}

/** Keys of resources and of a file may be added later, and callers without a key may come at any time. */
const budgetedKeysExist: Check = (section, { suggestions, hasOtherKeys, place, written }) => {
  if (hasOtherKeys !== undefined || place === 'pod') return []
  const { api_keys, api_keys_file, budgets } = section
  const known = new Set(api_keys.map(({ id }) => id))
  const callers = callersOf(section)
  const mayCome = api_keys_file !== undefined || valueBelow(written, 'spec') !== undefined
  return budgets.flatMap(({ key }, index): Finding[] => {
    if (key === undefined || known.has(key) || entryOf(key, callers) !== undefined) return []
    const message = `no key has the id ${quoted(key)}${suggestions.didYouMean(key, known)}`
    const find = mayCome ? warn : refuse
    return [find(at('budgets', index, 'key'), message, oneOf(known))]
  })
}

const groupsAreFew: Check = ({ budgets }) => {
  const groups = new Map<string, number>()
  return budgets.flatMap(({ tenants = [] }, index) =>
    tenants.flatMap((tenant, entry) => {
      const count = (groups.get(tenant) ?? 0) + 1
      groups.set(tenant, count)
      if (count !== GROUPS_MAX + 1) return []
      const message = `${quoted(tenant)} is in more than ${GROUPS_MAX} groups`
      const fix = `Leave it in at most ${GROUPS_MAX}: each request must fit all of them.`
      return [refuse(at('budgets', index, 'tenants', entry), message, fix)]
    }),
  )
}

export const holderChecks = [
  budgetHasOneHolder,
  groupIsAList,
  holdersDiffer,
  budgetedKeysExist,
  groupsAreFew,
]

/** The routes that requests under a budget may use. */
export function routesByBudget(
  section: Section,
): (budget: BudgetSection) => readonly RouteSection[] {
  const routesOf = routesByTenant(section)
  return (budget) => {
    const { tenant, tenants, key } = budget
    if (key !== undefined) {
      const record = section.api_keys.find(({ id }) => id === key)
      if (record === undefined || record.routes.includes('*')) return section.routes
      return section.routes.filter(({ name }) => record.routes.includes(name))
    }
    if (tenants !== undefined) {
      const all = new Set(tenants.flatMap((one) => routesOf(one)))
      return section.routes.filter((route) => all.has(route))
    }
    return tenant === undefined || tenant === EACH_TENANT ? section.routes : routesOf(tenant)
  }
}

/**
 * Routes that the keys of a tenant may use; all routes if no key of the tenant is known. One pass over the keys,
 * because there may be a hundred thousand keys and ten thousand tenants.
 */
function routesByTenant(section: Section): (tenant: string) => readonly RouteSection[] {
  const names = new Map<string, Set<string>>()
  for (const { tenant, routes } of section.api_keys) {
    const known = names.get(tenant)
    if (known === undefined) names.set(tenant, new Set(routes))
    else for (const route of routes) known.add(route)
  }
  return (tenant) => {
    const own = names.get(tenant)
    if (own === undefined || own.has('*')) return section.routes
    return section.routes.filter(({ name }) => own.has(name))
  }
}
