/** The entries of `limits[]`, compiled: the counters of each request, found by its caller and its model. */

import type { Clock } from '../../base/clock.ts'
import type { FurtherLimitSection } from '../../schema/further-limits.ts'
import { EACH_TENANT } from '../holders.ts'
import type { BudgetRule, BudgetScope, Rules } from '../store.ts'
import { type Compiled, compile, countersOf, endOfRaise } from './compiled.ts'
import { countedOf, hasTags, looksAtUser, type Subject } from './selectors.ts'

/** Most models, and most combinations of tags and end users, that are remembered for a caller: clients may make up names. */
const REMEMBERED_MAX = 128

/** The limits of a caller's requests for one model and operation. */
interface Combination {
  /** All counters, if neither tags nor end users decide anything. */
  readonly rules: Rules | undefined
  readonly limits: readonly Compiled[]
  /** Whether tags or end users decide. */
  readonly looksAtTags: boolean
  readonly looksAtUser: boolean
  /** By the tags and the end users of requests. */
  readonly byValues: Map<string, Rules>
}

/** The combinations of a caller. */
interface CallerLimits {
  readonly mayLimit: boolean
  /** By model. */
  readonly ofChat: Map<string, Combination>
  /** By operation and model. */
  readonly ofOthers: Map<string, Combination>
}

export class FurtherLimits {
  /** Whether a limit has a counter for each end user. */
  readonly looksAtUser: boolean
  readonly #byKey = new Map<string, Compiled[]>()
  readonly #byTenant = new Map<string, Compiled[]>()
  readonly #byRoute = new Map<string, Compiled[]>()
  readonly #others: Compiled[] = []
  readonly #byName = new Map<string, Compiled>()
  readonly #sections: readonly FurtherLimitSection[]
  /** The end of the next raise of a budget. */
  #changesAt = Number.POSITIVE_INFINITY
  /** By the record of a key. Weak: a key that is gone takes its entries along. */
  #known = new WeakMap<object, CallerLimits>()

  constructor(sections: readonly FurtherLimitSection[]) {
    this.#sections = sections
    this.looksAtUser = sections.some((section) => looksAtUser(section.for))
    this.#compile(0)
  }

  /**
   * The rules of a request: `base`, and the counters of all limits that are for it. `caller` stands for the tenant and the
   * key, and always comes with the same `base`.
   */
  of(base: Rules, caller: object, subject: Subject, clock: Pick<Clock, 'wall'>): Rules {
    const { operation, model } = subject
    if (this.#changesAt !== Number.POSITIVE_INFINITY) this.#endRaises(clock.wall())
    const known = this.#knownOf(caller, subject)
    // Most requests are conversations, and need no text made for them.
    const [list, name] =
      operation === 'chat' ? [known.ofChat, model] : [known.ofOthers, `${operation} ${model}`]
    let combination = list.get(name)
    if (combination === undefined) {
      combination = this.#combine(base, subject)
      remember(list, name, combination)
    }
    if (combination.rules !== undefined) return combination.rules
    const { byValues, limits } = combination
    const values = valuesOf(combination, subject)
    let rules = byValues.get(values)
    if (rules === undefined) {
      rules = rulesWith(base, limits, subject)
      remember(byValues, values, rules)
    }
    return rules
  }

  /** All entries, with the raises that last. */
  list(clock: Pick<Clock, 'wall'>): IteratorObject<Compiled> {
    if (this.#changesAt !== Number.POSITIVE_INFINITY) this.#endRaises(clock.wall())
    return this.#byName.values()
  }

  /** Whether any request of the caller may have a limit. */
  mayLimit(caller: object, subject: Pick<Subject, 'tenant' | 'key'>): boolean {
    return this.#knownOf(caller, subject).mayLimit
  }

  #knownOf(caller: object, { key, tenant }: Pick<Subject, 'tenant' | 'key'>): CallerLimits {
    let known = this.#known.get(caller)
    if (known === undefined) {
      const mayLimit =
        this.#others.length + this.#byRoute.size > 0 ||
        this.#byKey.has(key) ||
        this.#byTenant.has(tenant)
      known = { mayLimit, ofChat: new Map(), ofOthers: new Map() }
      this.#known.set(caller, known)
    }
    return known
  }

  /** The rule that the counter has now; undefined if its limit is gone, or counts in other windows. */
  ruleOf({ name, limit }: BudgetScope): BudgetRule | undefined {
    const now = this.#byName.get(name)
    if (now === undefined || limit === undefined) return undefined
    return limit.counts === 'all' && now.period.equals(limit.period) ? now.rule : undefined
  }

  #endRaises(wallMs: number): void {
    if (wallMs < this.#changesAt) return
    this.#known = new WeakMap()
    this.#compile(wallMs)
  }

  #compile(wallMs: number): void {
    this.#changesAt = Number.POSITIVE_INFINITY
    for (const lists of [this.#byKey, this.#byTenant, this.#byRoute]) lists.clear()
    this.#others.length = 0
    for (const [place, section] of this.#sections.entries()) {
      const compiled = compile(section, place, wallMs)
      this.#byName.set(section.name, compiled)
      this.#list(compiled)
      const endsAt = endOfRaise(section)
      if (endsAt > wallMs) this.#changesAt = Math.min(this.#changesAt, endsAt)
    }
  }

  #list(compiled: Compiled): void {
    const { key, tenant, tenants, route } = compiled.section.for
    const named = tenants ?? (tenant === undefined || tenant === EACH_TENANT ? [] : [tenant])
    if (key !== undefined) add(this.#byKey, key, compiled)
    else if (named.length > 0) for (const one of named) add(this.#byTenant, one, compiled)
    else if (route !== undefined) add(this.#byRoute, route, compiled)
    else this.#others.push(compiled)
  }

  #combine(base: Rules, subject: Subject): Combination {
    const limits = [
      ...(this.#byKey.get(subject.key) ?? []),
      ...(this.#byTenant.get(subject.tenant) ?? []),
      ...(this.#byRoute.get(subject.route) ?? []),
      ...this.#others,
    ]
      .filter(({ fits }) => fits(subject))
      .toSorted((one, other) => one.place - other.place)
    const atTags = limits.some((one) => one.looksAtTags)
    const atUser = limits.some((one) => one.looksAtUser)
    const rules = atTags || atUser ? undefined : rulesWith(base, limits, subject)
    return { rules, limits, looksAtTags: atTags, looksAtUser: atUser, byValues: new Map() }
  }
}

/** Those of requests; the others are quotas of upstreams. Undefined: the configuration has none. */
export function compileFurther(
  sections: readonly FurtherLimitSection[],
): FurtherLimits | undefined {
  const own = sections.filter(({ for: { upstream } }) => upstream === undefined)
  return own.length === 0 ? undefined : new FurtherLimits(own)
}

/** One object for all requests with the same counters, because its identity tells what is known of them. */
function rulesWith(base: Rules, limits: readonly Compiled[], subject: Subject): Rules {
  const scoped = limits.flatMap((one) => {
    const selectors = one.section.for
    const counted = hasTags(selectors, subject.tags) ? countedOf(selectors, subject) : undefined
    return counted === undefined ? [] : countersOf(one, counted)
  })
  if (scoped.length === 0) return base
  return Object.freeze({ ...base, scoped: [...(base.scoped ?? []), ...scoped], base })
}

/** Tags have no line ends. */
function valuesOf(
  { looksAtTags: atTags, looksAtUser: atUser }: Combination,
  { tags, user }: Subject,
): string {
  if (!atUser) return tags
  return `${atTags ? tags : ''}\n${user === undefined ? '' : `=${user}`}`
}

function add(lists: Map<string, Compiled[]>, name: string, compiled: Compiled): void {
  const list = lists.get(name)
  if (list === undefined) lists.set(name, [compiled])
  else list.push(compiled)
}

function remember<V>(map: Map<string, V>, name: string, value: V): void {
  if (map.size >= REMEMBERED_MAX) map.clear()
  map.set(name, value)
}
