/** Which requests an entry of `limits[]` is for, and which of its counters counts each. */
import { hash } from 'node:crypto'
import type { FurtherLimitSection } from '../../schema/further-limits.ts'
import type { Operation } from '../../wire/inner-form.ts'
import { EACH_TENANT } from '../holders.ts'

type Selectors = FurtherLimitSection['for']

/** The facts that selectors look at. */
export interface Subject {
  readonly tenant: string
  /** The id of the key. */
  readonly key: string
  readonly route: string
  /** The models of the upstreams of the route. */
  readonly models: readonly string[]
  /** As the client named it. */
  readonly model: string
  readonly operation: Operation
  /** As a trace has them: `team=blue,project=search`. */
  readonly tags: string
  /** The end user; absent if the request names none. */
  readonly user?: string | undefined
}

/** Stands for no request: no caller, route or model. */
export const NO_SUBJECT: Subject = {
  tenant: '',
  key: '',
  route: '',
  models: [],
  model: '',
  operation: 'chat',
  tags: '',
}

/** The counter of a limit that counts a request. */
export interface Counted {
  /** Different for each counter of the limit; empty if it has one. */
  readonly value: string
  /** As its caller may read it. */
  readonly holder: string
}

/** A function that tells whether a request fits the selectors, without those that look at tags. */
export function matcherOf(selectors: Selectors): (subject: Subject) => boolean {
  const { tenant, tenants, key, route, model, operation } = selectors
  const named = tenants ?? (tenant === undefined || tenant === EACH_TENANT ? undefined : [tenant])
  const all = named && new Set(named)
  const isModel = model === undefined ? undefined : patternOf(model)
  return (subject) =>
    (all === undefined || all.has(subject.tenant)) &&
    (key === undefined || key === subject.key) &&
    (route === undefined || route === subject.route) &&
    (operation === undefined || operation === subject.operation) &&
    (isModel === undefined || isModel(subject.model) || subject.models.some(isModel))
}

/** Whether tags decide whether the limit is for a request, or which counter counts it. */
export function looksAtTags({ tag, each }: Selectors): boolean {
  return tag !== undefined || each?.startsWith(TAG) === true
}

/** Whether it has a counter for each end user. */
export function looksAtUser({ each }: Selectors): boolean {
  return each === USER
}

export function hasTags({ tag = {} }: Selectors, tags: string): boolean {
  return Object.entries(tag).every(([name, value]) => tagIn(tags, name) === value)
}

/** Undefined if the request has no value of the kind, so that no counter counts it. */
export function countedOf(selectors: Selectors, subject: Subject): Counted | undefined {
  const { each } = selectors
  if (each === undefined) return { value: '', holder: sharedBy(selectors) }
  if (each.startsWith(TAG)) {
    const name = each.slice(TAG.length)
    const value = tagIn(subject.tags, name)
    return value === undefined ? undefined : { value, holder: `tag ${name}=${value}` }
  }
  if (each === USER) return countedUser(subject)
  const value = valueIn(each, subject)
  return { value, holder: `${each} ${JSON.stringify(value)}` }
}

/** Whether only one tenant, or one upstream, can have requests in a counter of it. */
export function isOfOneTenant({ tenant, tenants, key, each, upstream }: Selectors): boolean {
  if (upstream !== undefined) return true
  if (each === 'tenant' || each === 'key' || each === USER || key !== undefined) return true
  return tenants === undefined
    ? tenant !== undefined && tenant !== EACH_TENANT
    : tenants.length === 1
}

/** Whether all attempts at the upstream share one counter. */
export function isForAll({ upstream: _, tenant = EACH_TENANT, ...others }: Selectors): boolean {
  return tenant === EACH_TENANT && Object.values(others).every((one) => one === undefined)
}

/** Whether a name fits a pattern in which * stands for any characters. */
export function patternOf(pattern: string): (name: string) => boolean {
  if (!pattern.includes('*')) return (name) => name === pattern
  const [first = '', ...others] = pattern.split('*')
  const last = others.pop() ?? ''
  return (name) => {
    if (!name.startsWith(first) || !name.endsWith(last)) return false
    const end = name.length - last.length
    let at = first.length
    for (const part of others) {
      const found = name.indexOf(part, at)
      if (found === -1) return false
      at = found + part.length
    }
    return at <= end
  }
}

const TAG = 'tag/'
const USER = 'user'

/** Digits in hexadecimal: 128 bits tell all users apart. */
const USER_DIGITS = 32

/** The name of an end user, as stores and usage events have it. */
export function hashedUser(user: string): string {
  return hash('sha256', user).slice(0, USER_DIGITS)
}

/** Users of two tenants that have one name are two users. The store knows only their hash. */
function countedUser({ tenant, user }: Subject): Counted | undefined {
  if (user === undefined) return undefined
  const value = `${tenant} ${hashedUser(user)}`
  return { value, holder: `user ${JSON.stringify(user)}` }
}

function valueIn(each: string, { tenant, key, route, model }: Subject): string {
  if (each === 'tenant') return tenant
  if (each === 'key') return key
  return each === 'route' ? route : model
}

/** Names no other tenant. */
function sharedBy({ tenant, tenants, key, route, model, tag, upstream }: Selectors): string {
  if (upstream !== undefined) return `upstream ${JSON.stringify(upstream)}`
  if (key !== undefined) return `key ${JSON.stringify(key)}`
  const alone = tenants?.length === 1 ? tenants[0] : tenant
  if (alone !== undefined && alone !== EACH_TENANT) return `tenant ${JSON.stringify(alone)}`
  if (tenants !== undefined) return 'several tenants together'
  if (route !== undefined) return `all callers of route ${JSON.stringify(route)}`
  if (model !== undefined) return `all callers of model ${JSON.stringify(model)}`
  const [first] = Object.entries(tag ?? {})
  return first === undefined ? 'all callers together' : `all callers with tag ${first.join('=')}`
}

/** The value of a tag in `team=blue,feature=search`. */
export function tagIn(tags: string, name: string): string | undefined {
  for (const pair of tags === '' ? [] : tags.split(',')) {
    if (pair.length > name.length && pair.startsWith(name) && pair[name.length] === '=')
      return pair.slice(name.length + 1)
  }
  return undefined
}
