/** Decides here on requests that slices cover in all their accounts, and settles them here; claims bring that to the store. */
import { NOTHING, sane } from '../../accounts/amounts.ts'
import type {
  AdmitRequest,
  AdmitResult,
  Amount,
  BudgetRule,
  Crossing,
  Extension,
  Figures,
  Rules,
  Settlement,
  Settling,
  Soon,
} from '../../accounts/store.ts'
import type { Moment } from '../../accounts/windows.ts'
import type { Account, ScopeAccount } from '../redis/redis-accounts.ts'
import { countedIn } from '../redis/request-part.ts'
import { Claims, type ClaimsOptions } from './claims.ts'
import { BUSY_MS } from './demand.ts'
import { Growth } from './growth.ts'
import { Holding, isLarge } from './holding.ts'
import { figuresOf, figuresOfAll } from './known-figures.ts'
import { nothing, type Quantities } from './quantities.ts'
import { type Share, scopedNeed, sharesOf, tenantNeed } from './shares.ts'
import { type Held, heldIn, type Standings, standingsOf } from './standings.ts'
import { type Accounts, accountsOf, type Running, ruleIn, stateKeyOf, type Taken } from './taken.ts'

/** The accounts of a request, and the present moment. */
export interface Asked extends Accounts {
  readonly present: Moment
}

/** With more accounts than this, quiet ones are dropped. */
const SWEPT_MIN = 1_000

/** The need of a request that is charged to the rates alone. */
const ONE_REQUEST: Readonly<Quantities> = { ...nothing(), requests: 1 }

const CHARGED: Settlement = { charged: true, crossed: [] }

export class Escrow {
  readonly #options: ClaimsOptions
  readonly #claims: Claims
  readonly #holdings = new Map<Account, Holding>()
  readonly #byStateKey = new Map<string, Holding>()
  readonly #running = new Map<string, Running>()
  readonly #growth: Growth
  /** The amounts that the account at hand needs. */
  readonly #need = nothing()
  #sweptAt = SWEPT_MIN

  constructor(options: ClaimsOptions) {
    this.#options = options
    this.#claims = new Claims(options)
    this.#growth = new Growth(this.#claims, options.clock)
  }

  /** Admits the request if slices cover it in all its accounts; else undefined, and nothing has changed. */
  admit(request: AdmitRequest, estimate: Amount, asked: Asked): AdmitResult | undefined {
    const { account, others, present } = asked
    const own = this.#presentOf(account, present)
    if (own === undefined) return undefined
    const { rules, ratesOnly = false } = request
    const now = this.#now
    const need = ratesOnly ? ONE_REQUEST : tenantNeed(rules, estimate, this.#need)
    if (!own.covers(need, rules, now)) return undefined
    if (ratesOnly) {
      this.#charge(own, now)
      return { outcome: 'admitted', figures: figuresOf(own, rules, now) }
    }
    if (others !== undefined) return this.#admitOverAll(request, estimate, { own, others, present })
    if (!this.#running.has(request.id)) {
      const taken = this.#take(own, need, now, undefined)
      if (rules.tokensPerMinute !== undefined) taken.rated = need.rated
      this.#running.set(request.id, { request, taken })
    }
    return { outcome: 'admitted', figures: figuresOf(own, rules, now) }
  }

  /** The store decides; it should set aside amounts for the next requests, if counters are large and requests many. */
  isAsked(request: AdmitRequest, asked: Asked): void {
    const shares = sharesOf(request, asked)
    if (!shares.every(({ need, terms }) => isLarge(need, terms))) return
    const now = this.#now
    // Clients make up values that limits count, so only counters of more than one request get a slice.
    let isBusy = true
    for (const { account } of shares) {
      if (!account.isOfLimit || this.#holdings.has(account)) continue
      isBusy &&= now - account.askedAt < BUSY_MS
      account.askedAt = now
    }
    if (!isBusy) return
    for (const share of shares) {
      const holding =
        this.#presentOf(share.account, asked.present) ?? this.#open(share, asked.present)
      holding.terms = share.terms
      const { demand, used } = holding.slice
      if (request.ratesOnly === true) demand.addToRate(now)
      else demand.add(share.need, used.slots, now)
      this.#claims.isLow(holding, now)
    }
  }

  /** Whether the request was admitted here and is running. */
  has(id: string): boolean {
    return this.#running.has(id)
  }

  /** Ends a request that was admitted here; undefined if it was not. A settlement that may reach an alert waits for the store. */
  settle(settling: Settling): Soon<Settlement> | undefined {
    const { id, used } = settling
    const running = this.#running.get(id)
    if (running === undefined) return undefined
    this.#running.delete(id)
    const spent = sane(used)
    const now = this.#now
    const waits: Promise<readonly Crossing[]>[] = []
    for (let taken: Taken | undefined = running.taken; taken; taken = taken.next) {
      const rule = ruleIn(taken, settling)
      this.#end(taken, countedIn(taken.holding.scope, spent), rule, now)
      const { holding } = taken
      const mayAlert = (rule?.alertThresholds.length ?? 0) > 0 && spent.tokens + spent.nanos > 0
      if (!mayAlert || holding.alerted.length > 0) continue
      waits.push(new Promise((resolve) => void holding.alerted.push(resolve)))
    }
    if (waits.length === 0) return CHARGED
    return Promise.all(waits).then((crossed) => ({ charged: true, crossed: crossed.flat() }))
  }

  /** A request that has used more than its hold holds its usage. The store learns what it has used. */
  beat(id: string, used: Amount): void {
    for (let taken = this.#running.get(id)?.taken; taken; taken = taken.next) {
      const { holding } = taken
      holding.slice.beat(taken, countedIn(holding.scope, sane(used)))
      this.#claims.changed(holding, this.#now)
    }
  }

  async extend(extension: Extension): Promise<boolean> {
    const { id, estimate, isCount } = extension
    const wanted = sane(estimate)
    const raised: Promise<boolean>[] = []
    for (let taken = this.#running.get(id)?.taken; taken; taken = taken.next) {
      const counted = countedIn(taken.holding.scope, wanted)
      if (isCount) taken.holding.slice.lower(taken, counted)
      else raised.push(this.#growth.raise(taken, counted, ruleIn(taken, extension)))
    }
    return (await Promise.all(raised)).every((isRaised) => isRaised)
  }

  /** A request elsewhere needs amounts that slices hold of this account. */
  want(stateKey: string): void {
    const holding = this.#byStateKey.get(stateKey)
    if (holding === undefined) return
    holding.slice.want(this.#now)
    this.#claims.urgent(holding)
  }

  /** The same of all accounts of a request of this process. */
  wantIn(asked: Accounts): void {
    for (const account of accountsOf(asked)) this.want(stateKeyOf(account))
  }

  /** Resolves once the store has what was settled here, so that its figures include it; undefined if it has. */
  report(asked: Accounts): Promise<unknown> | undefined {
    const reports = accountsOf(asked).flatMap((account) => {
      const holding = this.#holdings.get(account)
      if (!holding?.hasSettled) return []
      this.#claims.urgent(holding)
      return [new Promise<void>((resolve) => void holding.reports.push(resolve))]
    })
    return reports.length === 0 ? undefined : Promise.all(reports)
  }

  /** The present figures of a tenant, if they came from the store in the last `ageMsMax`. */
  figures(rules: Rules, asked: Asked, ageMsMax: number): Figures | undefined {
    const now = this.#now
    const [own, ...others] = accountsOf(asked).map((account) =>
      this.#presentOf(account, asked.present),
    )
    const isYoung = (holding: Holding | undefined): holding is Holding =>
      now - (holding?.known?.at ?? Number.NEGATIVE_INFINITY) <= ageMsMax
    if (!isYoung(own) || !others.every(isYoung)) return undefined
    return others.length === 0 ? figuresOf(own, rules, now) : figuresOfAll(own, others, rules, now)
  }

  standings(): Standings {
    return standingsOf(this.#holdings.values(), this.#running.values(), this.#now)
  }

  held(): Held {
    return heldIn(this.#holdings.values(), this.#now)
  }

  close(): Promise<void> {
    return this.#claims.close()
  }

  get #now(): number {
    return this.#options.clock.now()
  }

  #admitOverAll(
    request: AdmitRequest,
    estimate: Amount,
    {
      own,
      others,
      present,
    }: Pick<Asked, 'present'> & {
      readonly own: Holding
      readonly others: readonly ScopeAccount[]
    },
  ): AdmitResult | undefined {
    const now = this.#now
    const { id, rules } = request
    const { scoped = [] } = rules
    const holdings: Holding[] = []
    for (const [index, { account }] of others.entries()) {
      const [holding, one] = [this.#presentOf(account, present), scoped[index]]
      if (holding === undefined || one === undefined) return undefined
      const need = scopedNeed(one, estimate, this.#need)
      if (!holding.coversScoped(need, one, now)) return undefined
      holdings.push(holding)
    }
    if (!this.#running.has(id)) {
      let taken: Taken | undefined
      for (const [index, one] of scoped.entries()) {
        const holding = holdings[index]
        if (holding === undefined) continue
        const need = scopedNeed(one, estimate, this.#need)
        taken = this.#take(holding, need, now, taken)
        if (one.rates?.tokensPerMinute !== undefined) taken.rated = need.rated
      }
      const need = tenantNeed(rules, estimate, this.#need)
      taken = this.#take(own, need, now, taken)
      if (rules.tokensPerMinute !== undefined) taken.rated = need.rated
      this.#running.set(id, { request, taken })
    }
    return { outcome: 'admitted', figures: figuresOfAll(own, holdings, rules, now) }
  }

  #charge(holding: Holding, now: number): void {
    const { slice } = holding
    slice.takeOfRate(now)
    holding.hasSettled = true
    this.#claims.changed(holding, now)
    if (slice.isLow) this.#claims.isLow(holding, now)
  }

  #take(holding: Holding, need: Readonly<Quantities>, now: number, next: Taken | undefined): Taken {
    const { slice } = holding
    slice.take(need, now)
    this.#claims.changed(holding, now)
    if (slice.isLow) this.#claims.isLow(holding, now)
    const { slots, tokens, nanos } = need
    return { holding, slots, tokens, nanos, rated: -1, unused: NOTHING, next }
  }

  #end(taken: Taken, spent: Amount, rule: BudgetRule | undefined, now: number): void {
    const { holding } = taken
    const { day, month } = holding
    day.add(spent.tokens)
    month.add(spent.nanos)
    holding.slice.end(taken, taken.slots, spent)
    holding.budget = rule
    holding.hasSettled = true
    this.#claims.changed(holding, now)
  }

  #presentOf(account: Account, present: Moment): Holding | undefined {
    const holding = this.#holdings.get(account)
    return holding?.isOf(present) ? holding : undefined
  }

  /** A holding of an earlier day stays until its requests have ended. */
  #open(share: Share, present: Moment): Holding {
    if (this.#holdings.size >= this.#sweptAt) this.#sweep()
    const holding = new Holding(share, present)
    // The book keeps the account as long as this does.
    if (!this.#holdings.has(share.account)) share.account.parts++
    this.#holdings.set(share.account, holding)
    this.#byStateKey.set(stateKeyOf(share.account), holding)
    return holding
  }

  #sweep(): void {
    const now = this.#now
    for (const [account, holding] of this.#holdings) {
      if (!holding.isOver || !holding.slice.isQuiet(now)) continue
      this.#holdings.delete(account)
      account.parts--
      this.#byStateKey.delete(stateKeyOf(account))
    }
    this.#sweptAt = Math.max(SWEPT_MIN, 2 * this.#holdings.size)
  }
}
