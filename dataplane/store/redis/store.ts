/**
 * The store that replicas share: every verb is one script call on the keys of one tenant. The meaning is that of the memory
 * store; the clock is the server's. Every verb rejects with StoreAway while there is no answer, and may be repeated then.
 */

import { larger, sane, smaller } from '../../accounts/amounts.ts'
import type {
  AdmitRequest,
  AdmitResult,
  Amount,
  Beat,
  BudgetRule,
  BudgetScope,
  Extension,
  Figures,
  Rules,
  Settlement,
  Settling,
  Store,
} from '../../accounts/store.ts'
import { Present } from '../../accounts/windows.ts'
import type { Clock } from '../../base/clock.ts'
import { Asking, cheaperOf, type Decided, NO_CAP, rulesOfScope } from './asking.ts'
import { type Link, StoreAway } from './link.ts'
import { Account } from './redis-accounts.ts'
import { Calls } from './redis-calls.ts'
import { budgetFiguresOf, figuresOf } from './redis-replies.ts'
import type { Part, ScopeAccount } from './request-part.ts'
import { RunningRequests } from './running-requests.ts'
import { READ } from './scripts/admit.ts'
import { EXTEND } from './scripts/renew.ts'

export interface RedisStoreOptions {
  /** Prefix of all keys. */
  readonly keyPrefix: string
  /** Unique name of this process, never used by another one. */
  readonly replica: string
  readonly clock: Clock
}

export class RedisStore implements Store {
  readonly #keyPrefix: string
  readonly #clock: Clock
  readonly #calls: Calls
  readonly #asking: Asking
  readonly #accounts = new Map<string, Account>()
  readonly #running: RunningRequests

  constructor(link: Link, options: RedisStoreOptions) {
    this.#keyPrefix = options.keyPrefix
    this.#clock = options.clock
    this.#calls = new Calls(link, options)
    this.#asking = new Asking(this.#calls, options.clock)
    this.#running = new RunningRequests(this.#calls, options.clock, this.#accounts)
  }

  /** The store's clock, which continues during an outage; before the first answer, the clock of the process. */
  get wall(): number {
    return this.#calls.storeNow
  }

  async admit(request: AdmitRequest): Promise<AdmitResult> {
    const { tenant, id, rules } = request
    const account = this.#account(tenant)
    const others = this.#scopes(tenant, rules.scoped)
    const estimate = sane(request.estimate)
    const cheaper = cheaperOf(request)
    const own = [id, estimate.tokens, estimate.nanos, cheaper.tokens, cheaper.nanos]
    const sentAt = this.#clock.now()
    let answer: Decided
    try {
      answer =
        others === undefined
          ? await this.#asking.admitAlone({ account, rules }, own)
          : await this.#asking.admitOverAll({ account, rules, others }, own)
    } catch (error) {
      if (error instanceof StoreAway && error.maybeApplied)
        this.#running.doubt([account, ...(others ?? []).map((one) => one.account)], id)
      throw error
    }
    const { result, present, by } = answer
    if (result.outcome === 'refused') return result
    const reserved = result.outcome === 'downgraded' ? cheaper : estimate
    this.#running.add({
      id,
      account,
      others,
      windows: present,
      by,
      rated: rules.tokensPerMinute === undefined ? -1 : reserved.tokens,
      reserved,
      heardAt: sentAt,
    })
    return result
  }

  /** Adds a request that was admitted without the store, at a time of the wall clock; the next renewal creates its lease. */
  adopt({ tenant, id, estimate, rules }: AdmitRequest, admittedAt: number): void {
    this.#running.add({
      id,
      account: this.#account(tenant),
      others: this.#scopes(tenant, rules.scoped),
      windows: new Present(admittedAt),
      reserved: sane(estimate),
      heardAt: Number.NEGATIVE_INFINITY,
      wasPutBack: true,
    })
  }

  async extend({
    id,
    budget,
    scoped = [],
    estimate,
    isCount = false,
  }: Extension): Promise<boolean> {
    const running = this.#running.get(id)
    if (running === undefined || running.settled !== undefined) return false
    const wanted = sane(estimate)
    if (isCount) {
      const lowered = [running, ...running.others].map((part) => this.#lowerPart(part, wanted))
      return (await Promise.all(lowered)).every((one) => one)
    }
    // A hold that grew in only one account is still an upper bound.
    const grown = await Promise.all([
      this.#extendPart(running, budget, wanted),
      ...running.others.map((part) =>
        this.#extendPart(
          part,
          scoped.find(({ scope }) => scope.id === part.scope?.id)?.rule,
          wanted,
        ),
      ),
    ])
    return grown.every((one) => one)
  }

  async #extendPart(part: Part, budget: BudgetRule | undefined, wanted: Amount): Promise<boolean> {
    const caps = [budget?.tokensPerDay ?? NO_CAP, budget?.nanosPerMonth ?? NO_CAP] as const
    if (!(await this.#changeHold(part, wanted, [...caps, 0]))) return false
    part.reserved = larger(part.reserved, wanted)
    return true
  }

  async #lowerPart(part: Part, counted: Amount): Promise<boolean> {
    if (!(await this.#changeHold(part, counted, [NO_CAP, NO_CAP, 1]))) return false
    part.reserved = smaller(part.reserved, larger(counted, part.used))
    part.rated = Math.min(part.rated, part.reserved.tokens)
    return true
  }

  async #changeHold(
    { id, account, day, month }: Part,
    { tokens, nanos }: Amount,
    terms: readonly [capOfDay: number, capOfMonth: number, isCount: 0 | 1],
  ): Promise<boolean> {
    const [, , isHeld] = await this.#calls.run({
      script: EXTEND,
      account,
      isBounded: true,
      windows: () => [day, month],
      args: () => [id, tokens, nanos, ...terms],
    })
    return isHeld === 1
  }

  renew(beats: readonly Beat[]): Promise<readonly string[]> {
    return this.#running.renew(beats)
  }

  settle(settling: Settling): Promise<Settlement> {
    const { tenant, scoped } = settling
    const others = this.#scopes(tenant, scoped)
    return this.#running.settle(settling, this.#account(tenant), others)
  }

  async read(tenant: string, rules: Rules): Promise<Figures> {
    const account = this.#account(tenant)
    const { scoped } = rules
    if (scoped === undefined) {
      const { reply, present } = await this.#asking.ask(READ, { account, rules }, [])
      return figuresOf(reply, rules, present)
    }
    const [{ reply, present }, ...others] = await Promise.all([
      this.#asking.ask(READ, { account, rules }, []),
      ...scoped.map(({ scope, rule }) =>
        this.#asking.ask(
          READ,
          { account: this.#account(tenant, scope), rules: rulesOfScope(rule) },
          [],
        ),
      ),
    ])
    const figures = scoped.map(({ scope, rule }, index) => ({
      scope,
      ...budgetFiguresOf(others[index]?.reply ?? [], rule, others[index]?.present ?? present),
    }))
    return { ...figuresOf(reply, rules, present), scoped: figures }
  }

  #account(tenant: string, scope?: BudgetScope): Account {
    // The counters of a key are next to those of its tenant.
    const name =
      scope === undefined ? tenant : scope.kind === 'key' ? `${tenant}\n${scope.id}` : scope.id
    let account = this.#accounts.get(name)
    if (account === undefined) {
      account = new Account(tenant, this.#keyPrefix, scope)
      this.#accounts.set(name, account)
    }
    return account
  }

  #scopes(tenant: string, scoped: Rules['scoped']): readonly ScopeAccount[] | undefined {
    return scoped?.map(({ scope }) => ({ scope, account: this.#account(tenant, scope) }))
  }
}
