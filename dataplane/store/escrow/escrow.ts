/** Decides on requests that slices cover in all their accounts, and settles them; claims report that to the store. */
import { larger, NOTHING, sane } from '../../accounts/amounts.ts'
import type {
  AdmitRequest,
  AdmitResult,
  Amount,
  BudgetRule,
  Crossing,
  Extension,
  Settlement,
  Settling,
} from '../../accounts/store.ts'
import type { Windows } from '../../accounts/windows.ts'
import type { Account, ScopeAccount } from '../redis/redis-accounts.ts'
import { Claims, type ClaimsOptions } from './claims.ts'
import { Holding, isLarge } from './holding.ts'
import { figuresOf } from './known-figures.ts'
import { nothing } from './quantities.ts'
import { type Share, sharesOf } from './shares.ts'
import type { Hold } from './slice.ts'

/** The part of one slice that a running request holds. */
interface Taken extends Hold {
  readonly holding: Holding
  readonly slots: number
}

/** The accounts of a request, its tenant's first. */
export interface Asked {
  readonly account: Account
  readonly others?: readonly ScopeAccount[] | undefined
  readonly present: Windows
}

/** With more accounts than this, quiet ones are dropped. */
const SWEPT_MIN = 1_000

export class Escrow {
  readonly #options: ClaimsOptions
  readonly #claims: Claims
  readonly #holdings = new Map<Account, Holding>()
  readonly #byStateKey = new Map<string, Holding>()
  readonly #running = new Map<string, readonly Taken[]>()
  readonly #growing = new Map<Holding, (grew: boolean) => void>()
  #sweptAt = SWEPT_MIN

  constructor(options: ClaimsOptions) {
    this.#options = options
    this.#claims = new Claims(options)
    this.#claims.onAnswer = (holding, grew) => {
      this.#growing.get(holding)?.(grew)
      this.#growing.delete(holding)
    }
  }

  /** Admits the request if slices cover it in all its accounts; else undefined, and nothing has changed. */
  admit(request: AdmitRequest, asked: Asked): AdmitResult | undefined {
    if (this.#presentOf(asked.account, asked) === undefined) return undefined
    const now = this.#now
    const shares = sharesOf(request, asked)
    const holdings: Holding[] = []
    for (const { account, terms, need } of shares) {
      const holding = this.#presentOf(account, asked)
      if (!holding?.covers(need, terms, now)) return undefined
      holdings.push(holding)
    }
    if (!this.#running.has(request.id)) {
      const taken = shares.map((share, index) => this.#take(holdings[index] as Holding, share, now))
      this.#running.set(request.id, taken)
    }
    return { outcome: 'admitted', figures: figuresOf(request.rules, holdings, now) }
  }

  /** The store decides; it should set aside amounts for the next requests, if counters are large and requests many. */
  isAsked(request: AdmitRequest, asked: Asked): void {
    const shares = sharesOf(request, asked)
    if (!shares.every(({ need, terms }) => isLarge(need, terms))) return
    const now = this.#now
    for (const share of shares) {
      const holding = this.#presentOf(share.account, asked) ?? this.#open(share, asked.present)
      holding.terms = share.terms
      holding.slice.demand.add(share.need, holding.slice.used.slots, now)
      this.#claims.isLow(holding)
    }
  }

  /** Whether the request was admitted here and is running. */
  has(id: string): boolean {
    return this.#running.has(id)
  }

  /** Ends a request that was admitted here. Resolves once the store has it. */
  async settle({ id, used, budget, scoped = [] }: Settling): Promise<Settlement> {
    const all = this.#running.get(id) ?? []
    this.#running.delete(id)
    const spent = sane(used)
    const ends = all.map((taken) => {
      const { scope } = taken.holding
      const rule = scope ? scoped.find((one) => one.scope.id === scope.id)?.rule : budget
      return this.#end(taken, spent, rule)
    })
    return { charged: true, crossed: (await Promise.all(ends)).flat() }
  }

  /** A request that has used more than its hold holds its usage. */
  beat(id: string, used: Amount): void {
    for (const taken of this.#running.get(id) ?? []) {
      const { tokens, nanos } = larger(sane(used), taken)
      taken.holding.slice.grow(taken, tokens - taken.tokens, nanos - taken.nanos)
    }
  }

  async extend({ id, budget, scoped = [], estimate, isCount }: Extension): Promise<boolean> {
    const wanted = sane(estimate)
    const raised = (this.#running.get(id) ?? []).map((taken) => {
      const { scope, slice } = taken.holding
      if (isCount) return slice.lower(taken, wanted)
      const rule = scope ? scoped.find((one) => one.scope.id === scope.id)?.rule : budget
      return this.#raise(taken, wanted, rule)
    })
    return (await Promise.all(raised)).every((isRaised) => isRaised !== false)
  }

  /** A request elsewhere needs amounts that slices hold of this account. */
  want(stateKey: string): void {
    const holding = this.#byStateKey.get(stateKey)
    if (holding === undefined) return
    holding.slice.want(this.#now)
    this.#claims.urgent(holding)
  }

  /** The same for all accounts of a request of this process. */
  wantIn(asked: Pick<Asked, 'account' | 'others'>): void {
    for (const account of accountsOf(asked)) this.want(stateKeyOf(account))
  }

  /**
   * Resolves once the store has the settlements of this process, so that its figures include them; undefined if it has.
   */
  report(asked: Pick<Asked, 'account' | 'others'>): Promise<unknown> | undefined {
    const reports = accountsOf(asked).flatMap((account) => {
      const holding = this.#holdings.get(account)
      if (holding === undefined || holding.settled.length === 0) return []
      const { promise, resolve } = Promise.withResolvers<unknown>()
      holding.settled.push(resolve)
      this.#claims.urgent(holding)
      return [promise]
    })
    return reports.length === 0 ? undefined : Promise.all(reports)
  }

  close(): Promise<void> {
    return this.#claims.close()
  }

  get #now(): number {
    return this.#options.clock.now()
  }

  #take(holding: Holding, { need, terms, isTenant }: Share, now: number): Taken {
    const { slice } = holding
    slice.take(need, now)
    this.#claims.changed(holding)
    if (slice.isLow) this.#claims.isLow(holding)
    const rated = isTenant && terms.tokensPerMinute !== undefined ? need.rated : -1
    return { holding, slots: need.slots, tokens: need.tokens, nanos: need.nanos, rated }
  }

  #end(taken: Taken, spent: Amount, rule: BudgetRule | undefined): Promise<readonly Crossing[]> {
    const { holding } = taken
    const { day, month } = holding
    day.total = Math.min(Number.MAX_SAFE_INTEGER, day.total + spent.tokens)
    month.total = Math.min(Number.MAX_SAFE_INTEGER, month.total + spent.nanos)
    holding.slice.end(taken, taken.slots, spent)
    holding.budget = rule
    const { promise, resolve } = Promise.withResolvers<readonly Crossing[]>()
    holding.settled.push(resolve)
    this.#claims.changed(holding)
    return promise
  }

  /** Raises a hold to a new total from the idle amounts here, otherwise from the store. */
  async #raise(taken: Taken, wanted: Amount, rule: BudgetRule | undefined): Promise<boolean> {
    const { holding } = taken
    const { slice } = holding
    const { tokens, nanos } = larger(
      {
        tokens: rule?.tokensPerDay === undefined ? 0 : wanted.tokens - taken.tokens,
        nanos: rule?.nanosPerMonth === undefined ? 0 : wanted.nanos - taken.nanos,
      },
      NOTHING,
    )
    if (tokens + nanos === 0) return true
    if (!slice.covers({ ...nothing(), tokens, nanos }, this.#now)) {
      if (this.#growing.has(holding)) return false
      holding.more = { tokens, nanos }
      const grew = new Promise<boolean>((resolve) => this.#growing.set(holding, resolve))
      this.#claims.urgent(holding)
      if (!(await grew)) return false
      slice.receive(tokens, nanos)
    }
    slice.grow(taken, tokens, nanos)
    return true
  }

  #presentOf(account: Account, { present }: Pick<Asked, 'present'>): Holding | undefined {
    const holding = this.#holdings.get(account)
    return holding?.day.window.key === present.day.key ? holding : undefined
  }

  /** A holding of an earlier day stays until its requests have ended. */
  #open(share: Share, present: Windows): Holding {
    if (this.#holdings.size >= this.#sweptAt) this.#sweep()
    const holding = new Holding(share, present)
    this.#holdings.set(share.account, holding)
    this.#byStateKey.set(stateKeyOf(share.account), holding)
    return holding
  }

  #sweep(): void {
    const now = this.#now
    for (const [account, holding] of this.#holdings) {
      if (!holding.isOver || !holding.slice.isQuiet(now)) continue
      this.#holdings.delete(account)
      this.#byStateKey.delete(stateKeyOf(account))
    }
    this.#sweptAt = Math.max(SWEPT_MIN, 2 * this.#holdings.size)
  }
}

function accountsOf({ account, others = [] }: Pick<Asked, 'account' | 'others'>): Account[] {
  return [account, ...others.map((other) => other.account)]
}

function stateKeyOf({ keys }: Account): string {
  return keys[0] ?? ''
}
