/** The counters of an entry of `limits[]` that need no request to be named: those of known tenants, keys, routes and models. */
import { EACH_TENANT } from '../holders.ts'
import type { ScopedBudget } from '../store.ts'
import { type Compiled, countersOf } from './compiled.ts'
import { countedOf, NO_SUBJECT, patternOf, type Subject } from './selectors.ts'

/** The values that are known; those that a question does not name are all. */
export interface KnownValues {
  readonly tenants: readonly string[]
  readonly keys: readonly { readonly id: string; readonly tenant: string }[]
  readonly routes: readonly string[]
  /** Names that clients send for models. */
  readonly models: readonly string[]
  /** Only if the question names one. */
  readonly user: string | undefined
  /** Whether the question is about one key, or one tenant. */
  readonly isOfKey: boolean
  readonly isOfTenant: boolean
}

export interface KnownCounter {
  /** The tenant whose counters it is beside, or one that uses it. */
  readonly tenant: string
  readonly scoped: ScopedBudget
}

/** A counter of a tag is not known, and one of an end user only by name. */
export function knownCounters(compiled: Compiled, known: KnownValues): readonly KnownCounter[] {
  const selectors = compiled.section.for
  const { each, tenant, tenants, key, route, model } = selectors
  const named = tenants ?? (tenant === undefined || tenant === EACH_TENANT ? undefined : [tenant])
  const isFor = (one: string) => named === undefined || named.includes(one)
  const owners = known.keys.filter(({ id, tenant: of }) => isFor(of) && (key ?? id) === id)
  const ofKey = key !== undefined || known.isOfKey
  const all = ofKey ? owners.map(({ tenant: of }) => of) : known.tenants.filter(isFor)
  if ((known.isOfTenant || ofKey) && all.length === 0) return []
  const [first = named?.[0] ?? ''] = all
  const subject = { ...NO_SUBJECT, tenant: first, key: key ?? '', user: known.user }
  return [...subjectsOf()].flatMap((one) => {
    const counted = countedOf(selectors, one)
    if (counted === undefined) return []
    return countersOf(compiled, counted).map((scoped) => ({ tenant: one.tenant, scoped }))
  })

  function* subjectsOf(): Generator<Subject> {
    if (each === 'tenant' || each === 'user')
      for (const one of new Set(all)) yield { ...subject, tenant: one }
    else if (each === 'key')
      for (const one of owners) yield { ...subject, tenant: one.tenant, key: one.id }
    else if (each === 'route')
      for (const one of known.routes) {
        if (route === undefined || route === one) yield { ...subject, route: one }
      }
    else if (each === 'model')
      for (const one of known.models) {
        if (model === undefined || patternOf(model)(one)) yield { ...subject, model: one }
      }
    else if (each === undefined) yield subject
  }
}
