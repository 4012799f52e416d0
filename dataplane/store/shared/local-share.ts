/**
 * Admits requests while the shared store is unreachable: this replica's fraction of each limit, from the last known
 * level. It is a memory store with scaled rules. While the shared store answers, it follows the running requests of
 * this replica, so that it knows slots and holds at the start of an outage. The shares of all replicas add up to at
 * most the limit, except that each replica may always admit one request.
 */

import { NOTHING, sane } from '../../accounts/amounts.ts'
import {
  type AdmitRequest,
  type AdmitResult,
  BEAT_MS,
  type Beat,
  type Extension,
  type Figures,
  LEASE_MS,
  type Rules,
  type ScopedBudget,
  type ScopedFigures,
  type Settling,
} from '../../accounts/store.ts'
import type { Clock } from '../../base/clock.ts'
import type { Standings } from '../escrow/standings.ts'
import type { Account } from '../memory/account.ts'
import { limitInTheWay } from '../memory/judgement.ts'
import { MemoryStore } from '../memory/memory.ts'
import type { Tenant } from '../memory/tenant.ts'
import {
  type LastKnown,
  scaledBudget,
  scaledMeasures,
  scaledRules,
  shown,
  takeOver,
} from './local-figures.ts'

/** All replicas detect the return of the store within this time, and deliver their usage then. */
const RETURNS_MS = 1000

/** Shortest life of leases, from the last beat before an outage. */
const LEASES_LAST_MS = LEASE_MS - BEAT_MS

/** Longest time to empty a bucket, except with absurd limits. */
const REMEMBERED_MS = 600_000

/** The shared store has the counters that are dropped; one that is used again is known with its next answer. */
const SCOPES_MAX = 50_000

interface TenantKnown extends LastKnown {
  figures: Figures | undefined
  at: number
  /** The outage whose beginning the tenant's buckets have taken over from the shared store. */
  outage: number
}

interface ScopeKnown {
  readonly figures: ScopedFigures
  readonly at: number
  outage: number
}

export class LocalShare {
  readonly #clock: Clock
  readonly #fraction: () => number
  readonly #memory: MemoryStore
  /** Weak, so that entries go with the tenants of the memory store. */
  readonly #known = new WeakMap<Tenant, TenantKnown>()
  /** The same for groups, keys and limits. */
  readonly #knownScopes = new WeakMap<Account, ScopeKnown>()
  #outage = 0
  #isAway = false
  #beganAt = Number.POSITIVE_INFINITY
  /** When the last outage ended; infinite while no outage is remembered. */
  #endedAt = Number.POSITIVE_INFINITY

  constructor(clock: Clock, fraction: () => number) {
    this.#clock = clock
    this.#fraction = fraction
    this.#memory = new MemoryStore({ clock, scopesMax: SCOPES_MAX })
  }

  /** Starts an outage: the shares start at the last known figures. */
  begin(): void {
    this.#outage++
    this.#isAway = true
    this.#beganAt = this.#now()
    this.#endedAt = Number.POSITIVE_INFINITY
  }

  /**
   * Ends an outage. The buckets of the shared store have leaked meanwhile, and do not include requests that were
   * admitted here.
   */
  end(): void {
    this.#isAway = false
    // The first connection of all ends no outage.
    if (this.#outage > 0) this.#endedAt = this.#now()
  }

  /**
   * Whether leases in the shared store may have expired in the last outage, so that they hold nothing for requests of
   * this replica.
   */
  get outlastedLeases(): boolean {
    return this.#endedAt - this.#beganAt >= LEASES_LAST_MS
  }

  /** Whether the shared store may not know yet what other replicas used without it. */
  get hasJustEnded(): boolean {
    const passed = this.#now() - this.#endedAt
    return passed >= 0 && passed < RETURNS_MS
  }

  /**
   * After an outage, until a full bucket would be empty, requests must also fit this replica's share. Otherwise an
   * unstable store would admit the leak of its buckets in addition to the requests admitted here.
   */
  restrain({ tenant: name, rules, estimate }: AdmitRequest): AdmitResult | undefined {
    if (this.#endedAt === Number.POSITIVE_INFINITY) return undefined
    const tenant = this.#memory.tenant(name)
    if (!this.#isCareful(tenant, rules)) return undefined
    const share = this.#share(tenant, rules)
    const now = this.#now()
    const rates = { ...share, concurrentRequests: Number.POSITIVE_INFINITY }
    const obstacle = limitInTheWay(tenant, rates, sane(estimate).tokens, now)
    if (obstacle === undefined) return undefined
    return { outcome: 'refused', ...obstacle, figures: shown(tenant.figures(share, now), rules) }
  }

  /** Whether an outage lasts, or requests may have to fit this replica's share after one. */
  get remembers(): boolean {
    if (this.#isAway) return true
    return this.#endedAt < Number.POSITIVE_INFINITY && this.#now() - this.#endedAt < REMEMBERED_MS
  }

  /** Takes over what was decided without a call until an outage began. */
  learnAll({ tenants, scopes, running }: Standings): void {
    for (const [tenant, figures] of tenants) this.#learn(tenant, figures)
    for (const one of scopes) this.#learnScope(one)
    for (const request of running) {
      const adopted = { reserved: request.estimate, downgradedBy: undefined, isRated: false }
      this.#memory.adopt(request, adopted)
    }
  }

  /** Follows a decision of the shared store. */
  follow(request: AdmitRequest, made: AdmitResult): void {
    const tenant = this.#learn(request.tenant, made.figures)
    if (made.outcome === 'refused') return
    const isDowngraded = made.outcome === 'downgraded'
    this.#memory.adopt(request, {
      reserved: (isDowngraded ? request.downgradeEstimate : request.estimate) ?? NOTHING,
      downgradedBy: isDowngraded ? made.by : undefined,
      isRated: this.#isCareful(tenant, request.rules),
    })
  }

  /** Notes figures of a tenant from the shared store. */
  learn(tenant: string, figures: Figures): void {
    this.#learn(tenant, figures)
  }

  admit(request: AdmitRequest): AdmitResult {
    const rules = this.#share(this.#memory.tenant(request.tenant), request.rules)
    const result = this.#memory.admit({ ...request, rules })
    return { ...result, figures: shown(result.figures, request.rules) }
  }

  /** Follows a raised hold. */
  raised(extension: Extension): void {
    this.#memory.extend({ ...extension, budget: undefined, scoped: undefined })
  }

  extend(extension: Extension): boolean {
    const tenant = this.#memory.tenant(extension.tenant)
    const { figures } = this.#lastKnownOf(tenant)
    const part = this.#fraction()
    const budget = scaledBudget(extension.budget, tenant, { figures, part })
    const scoped = this.#scaledScopes(extension.scoped, part)
    return this.#memory.extend({ ...extension, budget, scoped })
  }

  /** Renews the slots and holds of running requests, as the shared store does. */
  renew(beats: readonly Beat[]): void {
    this.#memory.renew(beats)
  }

  settle(settling: Settling): void {
    // Only the shared store reports alerts.
    this.#memory.settle({ ...settling, budget: undefined, scoped: undefined })
  }

  read(tenant: string, whole: Rules): Figures {
    const rules = this.#share(this.#memory.tenant(tenant), whole)
    return shown(this.#memory.read(tenant, rules), whole)
  }

  /** The last figures of the shared store, if they are not older than `ageMsMax`. */
  lastKnown(tenant: string, ageMsMax: number): Figures | undefined {
    const { figures, at } = this.#lastKnownOf(this.#memory.tenant(tenant))
    return this.#clock.now() - at > ageMsMax ? undefined : figures
  }

  #learn(name: string, figures: Figures): Tenant {
    const tenant = this.#memory.tenant(name)
    const known = this.#lastKnownOf(tenant)
    known.figures = figures
    known.at = this.#clock.now()
    // The figures include the settled amount so far; later amounts are counted on top.
    tenant.day.settled = 0
    tenant.month.settled = 0
    for (const one of figures.scoped ?? []) this.#learnScope(one)
    return tenant
  }

  #learnScope(one: ScopedFigures): void {
    const account = this.#memory.account(one.scope)
    const outage = this.#outageOf(account)
    this.#knownScopes.set(account, { figures: one, at: this.#clock.now(), outage })
    account.day.settled = 0
    account.month.settled = 0
  }

  #scaledScopes(scoped: Rules['scoped'], part: number): readonly ScopedBudget[] | undefined {
    const now = this.#now()
    return scoped?.map(({ scope, rule, rates }) => {
      const account = this.#memory.account(scope)
      const known = this.#knownScopes.get(account)
      const scaled = { scope, rule: scaledBudget(rule, account, { figures: known?.figures, part }) }
      if (rates === undefined) return scaled
      const mine = scaledMeasures(rates, part)
      account.obey(mine, now)
      if (known !== undefined && known.outage !== this.#outage) {
        known.outage = this.#outage
        takeOver(account, known, { rules: mine, part, now })
      }
      return { ...scaled, rates: mine }
    })
  }

  #outageOf(account: Account): number {
    return this.#knownScopes.get(account)?.outage ?? 0
  }

  #lastKnownOf(tenant: Tenant): TenantKnown {
    let known = this.#known.get(tenant)
    if (known === undefined) {
      known = { figures: undefined, at: 0, outage: 0 }
      this.#known.set(tenant, known)
    }
    return known
  }

  /** The tenant's rules scaled to this replica's part; its buckets obey them, from the level that was last known. */
  #share(tenant: Tenant, whole: Rules): Rules {
    const known = this.#lastKnownOf(tenant)
    const now = this.#now()
    const part = this.#fraction()
    const scoped = this.#scaledScopes(whole.scoped, part)
    const own = scaledRules(whole, tenant, { figures: known.figures, part })
    const rules = scoped === undefined ? own : { ...own, scoped }
    tenant.obey(rules, now)
    if (known.outage !== this.#outage) {
      known.outage = this.#outage
      takeOver(tenant, known, { rules, part, now })
    }
    return rules
  }

  /** Whether the local share admitted requests of the tenant in the last outage that may still be in its bucket. */
  #isCareful(tenant: Tenant, { requestsPerMinute, burst, tokensPerMinute }: Rules): boolean {
    if (this.#endedAt === Number.POSITIVE_INFINITY) return false
    const passed = this.#now() - this.#endedAt
    if (passed >= REMEMBERED_MS) this.#endedAt = Number.POSITIVE_INFINITY
    if (this.#lastKnownOf(tenant).outage !== this.#outage) return false
    const emptyAfterMs = tokensPerMinute === undefined ? 0 : 60_000
    return passed < Math.max(emptyAfterMs, (burst * 60_000) / requestsPerMinute)
  }

  /** Whole milliseconds, as the buckets count. */
  #now(): number {
    return Math.floor(this.#clock.now())
  }
}
