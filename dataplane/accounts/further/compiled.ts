/** One entry of `limits[]`, compiled: its rates, its budget and its counters. */
import type { FurtherLimitSection } from '../../schema/further-limits.ts'
import { Period } from '../period.ts'
import { MONEY_MAX_NANOS, nanosOf } from '../price.ts'
import type { BudgetRule, BudgetScope, CountedTokens, Measures, ScopedBudget } from '../store.ts'
import {
  type Counted,
  isOfOneTenant,
  looksAtTags,
  looksAtUser,
  matcherOf,
  type Subject,
} from './selectors.ts'

/** An entry as requests need it. */
export interface Compiled {
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

/** Raises that have ended by then do not count. */
export function compile(section: FurtherLimitSection, place: number, wallMs: number): Compiled {
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
export function endOfRaise({ budget }: FurtherLimitSection): number {
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

/** One counter, and one for each rate of a kind of tokens. */
export function countersOf(compiled: Compiled, counted: Counted): readonly ScopedBudget[] {
  const { rates, rule, ofParts } = compiled
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
