/**
 * A replica's view of one tenant of the shared store, or of the counter of a group, a key or a limit: the names of its keys,
 * and the replica's totals in each window.
 */

import { type Period, windowOfKey } from '../../accounts/period.ts'
import type { AdmitRequest, BudgetScope, Rules } from '../../accounts/store.ts'
import { dayOf, type Moment, monthOf, type Window } from '../../accounts/windows.ts'
import { Poured } from '../escrow/poured.ts'
import { UnansweredEnds } from '../escrow/unanswered-ends.ts'
import { accountRoot } from '../roots.ts'

/**
 * The store may fold the field of a replica that last wrote an hour ago. A replica that wrote within the last 20
 * minutes can rely on its field for half an hour.
 */
const FOLDED_AFTER_MS = 30 * 60_000

const DAY_MS = 86_400_000

/** Figures of each window in a reply. */
export const FIGURES = 5

/** One window of a tenant as this process knows it. */
export class AccountWindow {
  readonly window: Window
  readonly key: string
  /** The amount that this process settled in the window, sent or not. */
  total = 0
  /**
   * The last reply: the birth of the hash, the sum, the part of ended replicas, the part of this process. Both sums
   * exclude the charges of expired leases, which a late settlement may take back.
   */
  #born = 0
  #isNew = true
  #sum = 0
  #base = 0
  #mine = 0
  #writtenAt = 0

  constructor(window: Window, key: string) {
    this.window = window
    this.key = key
  }

  get name(): string {
    return this.window.key
  }

  /** Marks one life of the window in the store; 0 before the first reply. */
  get born(): number {
    return this.#born
  }

  /** Adds what this process settled, if a budget counts it. */
  add(amount: number): void {
    if (this.window.isUnkept === true) return
    this.total = Math.min(Number.MAX_SAFE_INTEGER, this.total + amount)
  }

  /** Whether this process has anything to restore in a store that lost its data. */
  get isKnown(): boolean {
    return this.total > 0 || this.#born > 0
  }

  /**
   * Whether this process may add to the window. It must know the birth of the window first, because only the birth
   * shows a flush after an addition without an answer.
   */
  get isMet(): boolean {
    return this.total === 0 || this.#born > 0
  }

  /**
   * Notes the five figures of a reply from index `at`; `isFresh`: the store wrote this process's part again, even if it
   * is the same.
   */
  hear(reply: readonly number[], at: number, now: number, isFresh = false): void {
    const [all = 0, base = 0, mine = 0, born = 0, expired = 0] = reply.slice(at, at + FIGURES)
    const sum = all - expired
    // The field of this process was folded: it is missing, but the sum includes it. Counting continues from its last value.
    const isFolded = mine < 0 && this.#mine > 0 && born === this.#born && sum >= this.#sum
    if (!isFolded) {
      const part = Math.max(0, mine)
      // This process wrote that before it dropped the account.
      if (this.#born === 0 && this.#isNew) this.total += part
      this.#isNew = false
      if (isFresh || part !== this.#mine) this.#writtenAt = now
      this.#mine = part
    }
    this.#sum = sum
    this.#base = base - expired
    this.#born = born
  }

  /** Arguments by which a script detects that the window lost data. */
  seen(now: number): readonly [born: number, mine: number] {
    const mayBeFolded = now - this.#writtenAt > FOLDED_AFTER_MS
    return [this.#born, mayBeFolded ? -this.#mine : this.#mine]
  }

  /** The total without the amount of ends that have no answer, but at least what the store has reported. */
  without(unanswered: number): number {
    return Math.max(this.#mine, this.total - unanswered)
  }

  /** Arguments to restore a window that lost everything, and the total to write if it did not. */
  remembered(now: number, confirmed: number): readonly number[] {
    const known = this.#sum + Math.max(0, this.total - this.#mine)
    const whole = [this.total, ...this.seen(now), Math.min(known, Number.MAX_SAFE_INTEGER)]
    return [...whole, this.#base, confirmed]
  }
}

export class Account {
  readonly poured = new Poured()
  readonly unanswered = new UnansweredEnds()
  readonly tenant: string
  readonly keys: readonly string[]
  /** Running requests that are counted here. */
  parts = 0
  /** When a request last came, by the store's time. */
  usedAt = 0
  /** When a request last asked the store without a slice here, by the steady clock; only of a limit. */
  askedAt = Number.NEGATIVE_INFINITY
  /** The running repair of a store that lost data, shared by all calls that need it. */
  healing: Promise<void> | undefined
  readonly isOfLimit: boolean
  /** Accounts with the same one are on one node of a cluster. */
  readonly tag: string
  readonly #root: string
  readonly #period: Period | undefined
  readonly #windows = new Map<string, AccountWindow>()

  constructor(tenant: string, keyPrefix: string, scope?: BudgetScope) {
    this.tenant = tenant
    this.#root = accountRoot(keyPrefix, tenant, scope)
    this.tag = this.#root.slice(keyPrefix.length).replace(/\}.*$/, '')
    this.isOfLimit = scope?.kind === 'limit'
    this.#period = scope?.limit?.period
    this.keys = [`${this.#root}:state`, `${this.#root}:leases`, `${this.#root}:graves`]
  }

  /** Those of a moment: of its day and month, or of the period of a limit. */
  windowsAt(moment: Moment): { readonly day: AccountWindow; readonly month: AccountWindow } {
    const { day, month } = this.#period?.at(moment.at) ?? moment
    return { day: this.windowFor(day), month: this.windowFor(month) }
  }

  windowFor(window: Window): AccountWindow {
    const known = this.#windows.get(window.key)
    if (known !== undefined) return known
    const made = new AccountWindow(window, `${this.#root}:${window.kind}:${window.key}`)
    this.#windows.set(window.key, made)
    return made
  }

  /** The window with the name of a reply: `2026-11-21`, `2026-11`, or as `period.ts` has it. */
  windowNamed(name: string): AccountWindow {
    const ofLimit = windowOfKey(name)
    if (ofLimit !== undefined) return this.windowFor(ofLimit)
    const moment = Date.parse(`${name}T00:00:00Z`.replace(/^(\d{4}-\d\d)T/, '$1-01T'))
    return this.windowFor(name.length === 10 ? dayOf(moment) : monthOf(moment))
  }

  get windows(): readonly AccountWindow[] {
    return [...this.#windows.values()]
  }

  /** The total of a window as far as a call may bring it that ends no leases. */
  confirmedIn(window: AccountWindow, now: number): number {
    return window.without(this.unanswered.amountIn(window, now))
  }

  /** Drops windows that ended two days ago, because no request can still end in them. */
  forget(wall: number): void {
    for (const [name, { window }] of this.#windows) {
      if (window.resetsAt + 2 * DAY_MS < wall) this.#windows.delete(name)
    }
  }
}

export interface ScopeAccount {
  readonly scope: BudgetScope
  readonly account: Account
  /** Whether a rate limits its tokens, and the request is charged to it. */
  readonly isRated?: boolean
}

/** The accounts of a request, its tenant's first. */
interface RequestAccounts {
  readonly account: Account
  readonly others: readonly ScopeAccount[] | undefined
  readonly present: Moment
}

/** Up to this number of accounts, those of limits stay; of more, those are dropped that nothing has been counted in lately. */
const KEPT_MIN = 10_000
const QUIET_MS = 60_000

/** With that many, the wait is shorter. A call takes less time, and no account may be dropped while a call is about it. */
const KEPT_MAX = 50_000
const UNUSED_MS = 10_000

/** The accounts that this process counts in. */
export class AccountBook {
  readonly accounts = new Map<string, Account>()
  readonly #keyPrefix: string
  /** Swept when it has this number. */
  #sweptAt = KEPT_MAX

  constructor(keyPrefix: string) {
    this.#keyPrefix = keyPrefix
  }

  /** Those of a request that the store decides on now. */
  of(
    present: Moment,
    { tenant, rules, ratesOnly }: Pick<AdmitRequest, 'tenant' | 'rules' | 'ratesOnly'>,
  ): RequestAccounts {
    if (rules.scoped === undefined || ratesOnly === true)
      return { account: this.account(tenant), others: undefined, present }
    const { day, month, at } = present
    if (this.accounts.size >= this.#sweptAt) this.sweep(at)
    const others = this.scopes(tenant, rules.scoped)
    for (const { account } of others ?? []) account.usedAt = at
    return {
      account: this.account(tenant),
      others: others?.map((one, index) => {
        const isRated = rules.scoped?.[index]?.rates?.tokensPerMinute !== undefined
        return { ...one, isRated }
      }),
      present: { day, month, at },
    }
  }

  account(tenant: string, scope?: BudgetScope): Account {
    // The counters of a key and of some limits are next to those of their tenant.
    const isBeside = scope?.kind === 'key' || scope?.limit?.isOfTenant === true
    const name = scope === undefined ? tenant : isBeside ? `${tenant}\n${scope.id}` : scope.id
    let account = this.accounts.get(name)
    if (account === undefined) {
      account = new Account(tenant, this.#keyPrefix, scope)
      this.accounts.set(name, account)
    }
    return account
  }

  scopes(tenant: string, scoped: Rules['scoped']): readonly ScopeAccount[] | undefined {
    return scoped?.map(({ scope }) => ({ scope, account: this.account(tenant, scope) }))
  }

  /** Clients make up values that limits count. An account that is needed again learns its figures with the next answer. */
  sweep(now: number): void {
    this.#drop(KEPT_MIN, now - QUIET_MS)
    // A tenth at once, so that few requests have to sweep.
    if (this.accounts.size >= KEPT_MAX) this.#drop(0.9 * KEPT_MAX, now - UNUSED_MS)
    this.#sweptAt = Math.max(KEPT_MAX, 1.1 * this.accounts.size)
  }

  #drop(left: number, unusedSince: number): void {
    if (this.accounts.size <= left) return
    for (const [name, { isOfLimit, parts, healing, usedAt }] of this.accounts) {
      if (this.accounts.size <= left) return
      if (isOfLimit && parts === 0 && healing === undefined && usedAt < unusedSince)
        this.accounts.delete(name)
    }
  }
}
