/** The slice of one account in the windows of a day, with this replica's data on the account. */
import type {
  BudgetRule,
  BudgetScope,
  Crossing,
  Measures,
  ScopedBudget,
} from '../../accounts/store.ts'
import { contains, type Moment } from '../../accounts/windows.ts'
import type { Account, AccountWindow } from '../redis/redis-accounts.ts'
import type { PouredSlice } from './poured.ts'
import { fromList, KINDS, listed, nothing, type Quantities } from './quantities.ts'
import { type Claim, Slice } from './slice.ts'

/** The limits of an account; that of a group or a key has only a budget. */
export interface Terms extends Measures {
  readonly budget: BudgetRule | undefined
}

const NO_CAP = -1

export const NO_RATES: Measures = {}

/** 2 % of a counter must have room for this many requests of one size. */
const FEW = 4

/** The last reply, and the claim that it answered. */
interface Known {
  readonly reply: readonly number[]
  readonly claim: Claim
  readonly totals: readonly [day: number, month: number]
  readonly at: number
}

/** Gets the alerts of a claim. */
export type Settled = (crossed: readonly Crossing[]) => void

export class Holding implements PouredSlice {
  readonly slice = new Slice()
  readonly account: Account
  /** Undefined for the account of a tenant. */
  readonly scope: BudgetScope | undefined
  readonly day: AccountWindow
  readonly month: AccountWindow
  terms: Terms
  /** As of the last settlement, for its alerts. */
  budget: BudgetRule | undefined
  /** Settlements that get the alerts of the next claim: the first since the last claim. */
  alerted: Settled[] = []
  /** Whether something was settled that no claim has. */
  hasSettled = false
  /** Called with the answer of the next claim. */
  reports: (() => void)[] = []
  /** When the next claim is due. */
  dueAt = Number.POSITIVE_INFINITY
  sentAt = Number.NEGATIVE_INFINITY
  isSending = false
  /** The amount by which a running request would exceed its hold. */
  more: { readonly tokens: number; readonly nanos: number } | undefined
  #known: Known | undefined
  /** The use of the rates that the account has noted as poured. */
  #poured: Pick<Quantities, 'requests' | 'rated'> = nothing()
  #agreed: Terms | undefined

  constructor(
    { account, scope, terms }: Pick<Holding, 'account' | 'scope' | 'terms'>,
    moment: Moment,
  ) {
    this.account = account
    this.scope = scope
    const { day, month } = account.windowsAt(moment)
    this.day = day
    this.month = month
    this.terms = terms
    this.budget = terms.budget
    account.poured.slice = this
  }

  forfeit(): void {
    this.slice.forfeit()
  }

  get claims(): number {
    return this.slice.claims
  }

  get requests(): number {
    return this.slice.used.requests
  }

  get rated(): number {
    return this.slice.used.rated
  }

  covers(need: Readonly<Quantities>, terms: Terms, now: number): boolean {
    return this.#agreed !== undefined && isSame(this.#agreed, terms) && this.slice.covers(need, now)
  }

  /** The same of a group, a key or a limit. */
  coversScoped(need: Readonly<Quantities>, { rule, rates }: ScopedBudget, now: number): boolean {
    const agreed = this.#agreed
    return (
      agreed !== undefined &&
      hasSameRates(agreed, rates ?? NO_RATES) &&
      hasSameCaps(agreed.budget, rule) &&
      this.slice.covers(need, now)
    )
  }

  isOf({ at }: Moment): boolean {
    return contains(this.day.window, at)
  }

  /** Whether the slice is over: nothing in it, and nothing that the store has not taken. */
  get isOver(): boolean {
    const { slice, hasSettled, reports, isSending, more } = this
    const isWaiting = hasSettled || reports.length > 0 || isSending || more !== undefined
    return !slice.isInUse && !slice.hasIdle && !isWaiting
  }

  claim(now: number, may: { readonly keep: boolean; readonly want: boolean }): SentClaim {
    const { terms, more } = this
    this.sentAt = now
    this.dueAt = Number.POSITIVE_INFINITY
    const { alerted, reports, hasSettled } = this
    this.alerted = []
    this.reports = []
    this.hasSettled = false
    this.more = undefined
    const { account, day, month } = this
    const totals = [account.confirmedIn(day, now), account.confirmedIn(month, now)] as const
    const claim = this.slice.claim(now, may)
    this.pour(now)
    return { claim, terms, budget: this.budget, totals, alerted, reports, hasSettled, more }
  }

  pour(now: number): void {
    const { requests, rated } = this.slice.used
    const before = this.#poured
    if (requests === before.requests && rated === before.rated) return
    this.#poured = { requests, rated }
    this.account.poured.add(this.terms, requests - before.requests, rated - before.rated, now)
  }

  /** The claim did not come through, so that the next one has to bring it. */
  takeBack({ alerted, reports, hasSettled, claim }: SentClaim, isUnsent: boolean): void {
    if (isUnsent) this.slice.takeBack(claim)
    this.alerted.unshift(...alerted)
    this.reports.unshift(...reports)
    this.hasSettled ||= hasSettled
  }

  /** The numbers of the script, from its fourth on. */
  argumentsOf(
    { claim, terms, budget, totals, more, alerted }: SentClaim,
    now: number,
  ): (string | number)[] {
    const { requestsPerMinute, burst, concurrentRequests, tokensPerMinute } = terms
    const { idle, used, risked, wanted } = claim
    // An alert goes to a request.
    const thresholds = alerted.length > 0 ? (budget?.alertThresholds ?? []) : []
    return [
      ...[this.day.window.startsAt, this.day.window.resetsAt],
      ...[requestsPerMinute ?? NO_CAP, burst ?? NO_CAP, concurrentRequests ?? NO_CAP],
      tokensPerMinute ?? NO_CAP,
      ...[budget?.tokensPerDay ?? NO_CAP, budget?.nanosPerMonth ?? NO_CAP],
      ...this.day.seen(now),
      ...this.month.seen(now),
      ...totals,
      ...[used.slots, used.tokens, used.nanos],
      ...listed(idle),
      ...[used.requests, used.rated],
      ...listed(wanted),
      ...[more?.tokens ?? 0, more?.nanos ?? 0],
      ...[risked.tokens, risked.nanos],
      ...thresholds.map(String),
    ]
  }

  hear(sent: SentClaim, reply: readonly number[], now: number): void {
    const { claim, totals, terms } = sent
    this.day.hear(reply, DAY_AT, now)
    this.month.hear(reply, MONTH_AT, now)
    this.slice.hear(
      claim,
      { isWanted: reply[2] === 1, idle: fromList(reply, 3), limits: fromList(reply, 8) },
      now,
    )
    this.#agreed = terms
    this.#known = { reply, claim, totals, at: now }
  }

  get known(): Known | undefined {
    return this.#known
  }
}

export interface SentClaim {
  readonly claim: Claim
  readonly terms: Terms
  readonly budget: BudgetRule | undefined
  readonly totals: readonly [day: number, month: number]
  readonly alerted: readonly Settled[]
  readonly reports: readonly (() => void)[]
  readonly hasSettled: boolean
  readonly more: Holding['more']
}

/** Positions in a reply. */
export const GREW_AT = 13
export const DAY_AT = 22
export const MONTH_AT = 27
export const ALERTS_AT = { day: DAY_AT, month: MONTH_AT, crossed: 32 } as const

/** Whether the counters are so large that a few requests of the size fit 2 % of each. */
export function isLarge(need: Readonly<Quantities>, terms: Terms): boolean {
  const caps = {
    requests: terms.burst ?? Number.POSITIVE_INFINITY,
    rated: terms.tokensPerMinute ?? Number.POSITIVE_INFINITY,
    // One idle slot is enough, because others become idle as requests end.
    slots: (terms.concurrentRequests ?? Number.POSITIVE_INFINITY) * 10,
    tokens: terms.budget?.tokensPerDay ?? Number.POSITIVE_INFINITY,
    nanos: terms.budget?.nanosPerMonth ?? Number.POSITIVE_INFINITY,
  }
  return KINDS.every((kind) => FEW * need[kind] <= caps[kind] / 50)
}

function isSame(one: Terms, other: Terms): boolean {
  return one === other || (hasSameRates(one, other) && hasSameCaps(one.budget, other.budget))
}

function hasSameRates(one: Measures, other: Measures): boolean {
  return (
    one.requestsPerMinute === other.requestsPerMinute &&
    one.burst === other.burst &&
    one.concurrentRequests === other.concurrentRequests &&
    one.tokensPerMinute === other.tokensPerMinute
  )
}

function hasSameCaps(one: Terms['budget'], other: Terms['budget']): boolean {
  return (
    one === other ||
    (one?.tokensPerDay === other?.tokensPerDay && one?.nanosPerMonth === other?.nanosPerMonth)
  )
}
