/** The entries of `limits[]`, compiled: the counters of each request, found by its caller and its model. */

import type { Clock } from '../../base/clock.ts'
import type { FurtherLimitSection } from '../../schema/further-limits.ts'
import { EACH_TENANT } from '../holders.ts'
import { Period } from '../period.ts'
import { MONEY_MAX_NANOS, nanosOf } from '../price.ts'
import type {
  BudgetRule,
  BudgetScope,
  CountedTokens,
  Measures,
  Rules,
  ScopedBudget,
} from '../store.ts'
import {
  type Counted,
  countedOf,
  hasTags,
  isOfOneTenant,
  looksAtTags,
  looksAtUser,
  matcherOf,
  type Subject,
} from './selectors.ts'

/** Most models, and most combinations of tags and end users, whose counters are remembered for a caller: clients may make up names. */
const REMEMBERED_MAX = 128

interface Compiled {
  readonly section: FurtherLimitSection
  /** Its place in the list. */
  readonly place: number
  readonly fits: (subject: Subject) => boolean
  readonly looksAtTags: boolean
  readonly looksAtUser: boolean
  readonly isOfTenant: boolean
  readonly rates: Measures | undefined
  readonly rule: BudgetRule | undefined
  readonly period: Period
  /** Rates of the tokens of prompts and of answers, which have separate counters. */
  readonly ofParts: readonly PartRate[]
}

interface PartRate {
  readonly counts: Exclude<CountedTokens, 'all'>
  readonly rates: Measures
}

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
  /** By the record of a key and then by operation and model. Weak: a key that is gone takes its entries along. */
  #known = new WeakMap<object, Map<string, Combination>>()

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
    if (this.#changesAt !== Number.POSITIVE_INFINITY) this.#endRaises(clock.wall())
    let known = this.#known.get(caller)
    if (known === undefined) {
      known = new Map()
      this.#known.set(caller, known)
    }
    const name = `${subject.operation} ${subject.model}`
    let combination = known.get(name)
    if (combination === undefined) {
      combination = this.#combine(base, subject)
      remember(known, name, combination)
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

/** undefined: the configuration has none. */
export function compileFurther(
  sections: readonly FurtherLimitSection[],
): FurtherLimits | undefined {
  return sections.length === 0 ? undefined : new FurtherLimits(sections)
}

function compile(section: FurtherLimitSection, place: number, wallMs: number): Compiled {
  const { budget } = section
  const unit = budget === undefined ? undefined : budget.usd === undefined ? 'tokens' : 'usd'
  return {
    section,
    place,
    fits: matcherOf(section.for),
    looksAtTags: looksAtTags(section.for),
    looksAtUser: looksAtUser(section.for),
    isOfTenant: isOfOneTenant(section.for),
    rates: ratesOf(section),
    rule: budget && ruleOf(budget, endOfRaise(section) > wallMs),
    period: new Period(budget?.per ?? 'day', unit, budget?.time_zone),
    ofParts: [
      ...partRate('input', section.input_tokens_per_minute),
      ...partRate('output', section.output_tokens_per_minute),
    ],
  }
}

function partRate(counts: PartRate['counts'], tokensPerMinute: number | undefined): PartRate[] {
  return tokensPerMinute === undefined
    ? []
    : [{ counts, rates: Object.freeze({ tokensPerMinute }) }]
}

/** Milliseconds since the epoch; before all times if nothing is raised. */
function endOfRaise({ budget }: FurtherLimitSection): number {
  return budget?.raise === undefined ? Number.NEGATIVE_INFINITY : Date.parse(budget.raise.until)
}

function ratesOf(section: FurtherLimitSection): Measures | undefined {
  const { requests_per_minute: requestsPerMinute, burst, ...others } = section
  const { tokens_per_minute: tokensPerMinute, concurrent_requests: concurrentRequests } = others
  const all = [requestsPerMinute, tokensPerMinute, concurrentRequests]
  if (all.every((one) => one === undefined)) return undefined
  const quarter = Math.max(1, Math.floor((requestsPerMinute ?? 0) / 4))
  return Object.freeze({
    requestsPerMinute,
    burst: requestsPerMinute === undefined ? undefined : (burst ?? quarter),
    tokensPerMinute,
    concurrentRequests,
  })
}

function ruleOf(budget: NonNullable<FurtherLimitSection['budget']>, isRaised: boolean): BudgetRule {
  const { usd, tokens, on_exceeded, downgrade_route, alerts } = budget
  const raise = isRaised ? budget.raise : undefined
  const money = usd === undefined ? undefined : nanosOf(usd + (raise?.usd ?? 0))
  return Object.freeze({
    tokensPerDay: tokens === undefined ? undefined : tokens + (raise?.tokens ?? 0),
    nanosPerMonth: money === undefined ? undefined : Math.min(MONEY_MAX_NANOS, money),
    onExceeded: on_exceeded,
    ...(on_exceeded === 'downgrade' && { downgradeRoute: downgrade_route }),
    alertThresholds: alerts,
  })
}

/** One object for all requests with the same counters, because its identity tells what is known of them. */
function rulesWith(base: Rules, limits: readonly Compiled[], subject: Subject): Rules {
  const scoped = limits.flatMap((one) => countersOf(one, subject))
  if (scoped.length === 0) return base
  return Object.freeze({ ...base, scoped: [...(base.scoped ?? []), ...scoped], base })
}

/** One counter, and one for each rate of a kind of tokens. */
function countersOf(compiled: Compiled, subject: Subject): readonly ScopedBudget[] {
  const { section, rates, rule, ofParts } = compiled
  if (!hasTags(section.for, subject.tags)) return []
  const counted = countedOf(section.for, subject)
  if (counted === undefined) return []
  const whole = { scope: scopeOf(compiled, counted, 'all'), rule, ...(rates && { rates }) }
  return [
    ...(rates === undefined && rule === undefined ? [] : [whole]),
    ...ofParts.map((part) => ({
      scope: scopeOf(compiled, counted, part.counts),
      rule: undefined,
      rates: part.rates,
    })),
  ]
}

const UNBUDGETED = new Period('day', undefined)

function scopeOf(
  { section, isOfTenant, period }: Compiled,
  { value, holder }: Counted,
  counts: CountedTokens,
): BudgetScope {
  const isWhole = counts === 'all'
  return Object.freeze({
    kind: 'limit',
    name: section.name,
    isNamed: true,
    // Only the last word is a client's, and only it may have blanks.
    id: [
      isWhole ? 'limit' : `limit:${counts}`,
      section.name,
      ...(value === '' ? [] : [value]),
    ].join(' '),
    limit: { holder, isOfTenant, period: isWhole ? period : UNBUDGETED, counts },
  })
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
