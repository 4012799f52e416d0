/** Entries of `limits[]` that cannot take effect. */
import { matcherOf, patternOf } from '../../../accounts/further/selectors.ts'
import { EACH_TENANT } from '../../../accounts/holders.ts'
import { valueBelow } from '../../../json/values.ts'
import { ANY_MODEL } from '../../../schema/constants.ts'
import type { FurtherLimitSection } from '../../../schema/further-limits.ts'
import type { Section } from '../../../schema/index.ts'
import { entryOf } from '../../caller-id.ts'
import { type Finding, type Path, refuse, warn } from '../../judgement/problems.ts'
import { at, type Check, oneOf, quoted } from '../contract.ts'
import { repeated } from '../duplicates.ts'
import { unknownName } from '../names.ts'
import { callersOf } from './callers.ts'
import { upstreamsOf } from './prices.ts'

/** Every request of a tenant has to fit all of them. */
const TOGETHER_MAX = 64

const TAG = 'tag/'

export function eachLimit(
  { limits }: Section,
  find: (limit: FurtherLimitSection, path: Path) => readonly Finding[],
): Finding[] {
  return limits.flatMap((limit, index) => find(limit, at('limits', index)))
}

const limitNamesDiffer: Check = ({ limits }, context) =>
  repeated(
    limits.map(({ name }, index) => ({ name, path: at('limits', index, 'name') })),
    'limit name',
    context,
  )

const limitLimitsSomething: Check = (section) =>
  eachLimit(section, (limit, path) => {
    const { name, for: _, burst, ...measures } = limit
    const { requests_per_minute } = measures
    if (burst !== undefined && requests_per_minute === undefined) {
      const fix = 'Add requests_per_minute, or remove burst.'
      return [refuse([...path, 'burst'], 'cannot take effect without requests_per_minute', fix)]
    }
    if (Object.values(measures).some((one) => one !== undefined)) return []
    const fix =
      'Add requests_per_minute, tokens_per_minute, concurrent_requests or budget, or remove it.'
    return [refuse(path, `limit ${quoted(name)} limits nothing`, fix)]
  })

const limitSelects: Check = (section) =>
  eachLimit(section, ({ for: selectors }, path) => {
    const { tenant, tenants = [] } = selectors
    if (Object.values(selectors).every((one) => one === undefined)) {
      const fix = 'Add for example tenant: with a name, or tenant: "*" for all requests.'
      return [refuse([...path, 'for'], 'selects nothing', fix)]
    }
    if (tenant !== undefined && tenants.length > 0) {
      const fix = 'Keep one of them.'
      return [refuse([...path, 'for'], 'has both tenant and tenants', fix)]
    }
    return tenants.flatMap((one, entry) => {
      if (tenants.indexOf(one) === entry) return []
      const message = `${quoted(one)} is there twice`
      return [refuse([...path, 'for', 'tenants', entry], message, 'Name it once.')]
    })
  })

const limitRoutesExist: Check = (section, { suggestions }) => {
  const known = new Set(section.routes.map(({ name }) => name))
  return eachLimit(section, ({ for: { route }, budget }, path) => [
    ...(route === undefined
      ? []
      : unknownName(route, [...path, 'for', 'route'], 'route', { known, suggestions })),
    ...(budget?.downgrade_route === undefined
      ? []
      : unknownName(budget.downgrade_route, [...path, 'budget', 'downgrade_route'], 'route', {
          known,
          suggestions,
        })),
  ])
}

const limitModelsExist: Check = (section) => {
  const routes = section.routes.map(({ name }) => name)
  const aliases = Object.keys(section.aliases)
  const models = section.upstreams.map(({ model }) => model)
  const known = new Set([...aliases, ...routes, ...models])
  return eachLimit(section, ({ for: { model } }, path) => {
    if (model === undefined) return []
    const fits = patternOf(model)
    // A client may name more than the beginning of an alias that is a pattern.
    const isNamed = aliases.some((alias) => {
      const start = alias.endsWith('*') ? alias.slice(0, -1) : undefined
      const least = model.split('*', 1)[0] ?? ''
      return start !== undefined && (least.startsWith(start) || start.startsWith(least))
    })
    if (isNamed || known.has(ANY_MODEL) || [...known].some(fits)) return []
    const message = `no route, alias or upstream has the model ${quoted(model)}`
    return [refuse([...path, 'for', 'model'], message, oneOf(known))]
  })
}

const limitTagsAreDeclared: Check = (section) => {
  const known = new Set(section.usage.tags)
  return eachLimit(section, ({ for: { tag = {}, each } }, path) => {
    const named = Object.keys(tag).map((name) => ({ name, place: [...path, 'for', 'tag', name] }))
    if (each?.startsWith(TAG) === true)
      named.push({ name: each.slice(TAG.length), place: [...path, 'for', 'each'] })
    return named.flatMap(({ name, place }) => {
      if (known.has(name)) return []
      const message = `requests have no tag ${quoted(name)}: usage.tags does not declare it`
      return [refuse(place, message, `Add it to gw.usage.tags.`)]
    })
  })
}

/** As for budgets: keys of resources and of a file may be added later. */
const limitKeysExist: Check = (section, { suggestions, hasOtherKeys, place, written }) => {
  if (hasOtherKeys !== undefined || place === 'pod') return []
  const { api_keys, api_keys_file } = section
  const known = new Map(api_keys.map(({ id, tenant }) => [id, tenant]))
  const ids = new Set(known.keys())
  const callers = callersOf(section)
  const mayCome = api_keys_file !== undefined || valueBelow(written, 'spec') !== undefined
  return eachLimit(section, ({ for: selectors }, path) => {
    const { key, tenant, tenants } = selectors
    if (key === undefined || entryOf(key, callers) !== undefined) return []
    const owner = known.get(key)
    const where = [...path, 'for', 'key']
    if (owner === undefined) {
      const message = `no key has the id ${quoted(key)}${suggestions.didYouMean(key, ids)}`
      return [(mayCome ? warn : refuse)(where, message, oneOf(ids))]
    }
    const named = tenants ?? (tenant === undefined || tenant === EACH_TENANT ? [owner] : [tenant])
    if (named.includes(owner)) return []
    const message = `cannot take effect: key ${quoted(key)} is of tenant ${quoted(owner)}`
    return [refuse(where, message, 'Name that tenant, or remove one of the two.')]
  })
}

/** A header or a claim that names users has no other use. */
const endUsersAreLimited: Check = ({ limits, usage, auth }) => {
  if (usage.end_user !== 'off' || limits.some(({ for: { each } }) => each === 'user')) return []
  const fix = 'Write a limit with for: { each: user }, set usage.end_user, or remove it.'
  const message = 'cannot take effect: no limit is for each user, and usage.end_user is off'
  return [
    ...(usage.end_user_header === undefined
      ? []
      : [refuse(at('usage', 'end_user_header'), message, fix)]),
    ...auth.jwt.flatMap(({ end_user }, index) =>
      end_user === undefined ? [] : [refuse(at('auth', 'jwt', index, 'end_user'), message, fix)],
    ),
  ]
}

/** A route and a model of which the one never has the other. */
const limitFitsARequest: Check = (section) => {
  const aliases = Object.entries(section.aliases)
  if (aliases.some(([alias]) => alias.endsWith('*'))) return []
  const routes = new Map(section.routes.map((route) => [route.name, route]))
  return eachLimit(section, ({ for: { route: name, model, upstream } }, path) => {
    const route = routes.get(name ?? '')
    if (route === undefined || model === undefined || upstream !== undefined) return []
    const fits = matcherOf({ model })
    const models = upstreamsOf(section, route).map((one) => one.model)
    const names = [route.name, ...aliases.flatMap(([alias, to]) => (to === name ? [alias] : []))]
    if (models.includes(ANY_MODEL)) return []
    const isNamed = names.some((one) => fits(subjectOf(one, models)))
    if (isNamed) return []
    const message = `cannot take effect: route ${quoted(route.name)} has no such model`
    return [refuse([...path, 'for', 'model'], message, oneOf(new Set([...names, ...models])))]
  })
}

const limitsAreFew: Check = ({ limits }) => {
  const ofTenants = new Map<string, number>()
  return limits.flatMap(({ for: selectors }, index) => {
    const { upstream, tenant = EACH_TENANT, tenants = [tenant], ...others } = selectors
    const { key, route, model, operation, tag } = others
    if ([key, route, model, operation, tag].some((one) => one !== undefined)) return []
    const ofUpstream = upstream === undefined ? '' : ` at upstream ${quoted(upstream)}`
    return tenants.flatMap((name) => {
      const one = `${name}${ofUpstream}`
      const count = (ofTenants.get(one) ?? 0) + 1
      ofTenants.set(one, count)
      if (count !== TOGETHER_MAX + 1) return []
      const who = name === EACH_TENANT ? 'each tenant' : `tenant ${quoted(name)}`
      const message = `more than ${TOGETHER_MAX} limits are for every request of ${who}${ofUpstream}`
      return [refuse(at('limits', index, 'for'), message, 'Remove some: a request has to fit all.')]
    })
  })
}

export const furtherLimitChecks = [
  limitNamesDiffer,
  limitLimitsSomething,
  limitSelects,
  limitRoutesExist,
  limitModelsExist,
  limitTagsAreDeclared,
  limitKeysExist,
  endUsersAreLimited,
  limitFitsARequest,
  limitsAreFew,
]

function subjectOf(model: string, models: readonly string[]) {
  return { tenant: '', key: '', route: '', models, model, operation: 'chat' as const, tags: '' }
}
