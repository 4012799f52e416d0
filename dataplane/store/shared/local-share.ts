/**
 * What one replica may admit while the shared store is away: its fraction of each limit, from the level that was last
 * known. It follows what this replica runs while the store is there, so that it knows its slots and holds the moment it
 * is not. Never more than the whole limit over all replicas, never nothing: at least one request.
 */

import type { Clock } from '../../base/clock.ts'
import { Present } from '../../budgets/windows.ts'
import { larger, NOTHING, sane } from '../amounts.ts'
import type { AdmitRequest, AdmitResult, Amount, Extension, Figures, Rules } from '../contract.ts'
import { Holds } from '../memory/holds.ts'
import {
  budgetInTheWay,
  limitInTheWay,
  longer,
  mayRaise,
  spentBudget,
} from '../memory/judgement.ts'
import { type Held, Tenant, take } from '../memory/tenant.ts'
import { cutBudget, cutRules, shownOf, takeOver } from './local-figures.ts'

/** Tenants that are remembered; beyond it those without a running request are forgotten. */
const TENANTS_MAX = 20_000

/** No bucket takes longer to empty, unless a limit says so that nobody means. */
const REMEMBERED_MS = 600_000

/** A tenant as this replica knows it. */
interface Standing {
  readonly tenant: Tenant
  /** What the store told last, and when. */
  figures: Figures | undefined
  at: number
  /** The outage whose beginning its buckets have taken over from the store. */
  outage: number
}

interface Share {
  readonly standing: Standing
  /** The tenant's rules, cut down to this replica's part. */
  readonly rules: Rules
  readonly now: number
  readonly wall: number
}

export class LocalShare {
  readonly #clock: Clock
  readonly #fraction: () => number
  readonly #present: Present
  readonly #standings = new Map<string, Standing>()
  readonly #held = new Holds()
  #outage = 0
  /** When the last outage ended; infinite while there is none to remember. */
  #endedAt = Number.POSITIVE_INFINITY

  constructor(clock: Clock, fraction: () => number) {
    this.#clock = clock
    this.#fraction = fraction
    this.#present = new Present(clock.wall())
  }

  /** The store is away: what it told last is where the shares begin. */
  begin(): void {
    this.#outage++
    this.#endedAt = Number.POSITIVE_INFINITY
  }

  /** The store is back. Its buckets have leaked meanwhile, and know nothing of what was admitted here. */
  end(): void {
    // The first connection of all ends no outage.
    if (this.#outage > 0) this.#endedAt = this.#now()
  }

  /**
   * After an outage, for as long as a full bucket takes to empty, requests have to fit this replica's share as well: else a
   * store that comes and goes would let through what leaked from its buckets in addition to what was admitted here.
   */
  restrain({ tenant: name, rules: whole, estimate }: AdmitRequest): AdmitResult | undefined {
    if (this.#endedAt === Number.POSITIVE_INFINITY) return undefined
    const standing = this.#standings.get(name)
    if (standing === undefined || !this.#isCareful(standing, whole)) return undefined
    const share = this.#share(name, whole)
    const { tenant } = standing
    const rates = { ...share.rules, concurrentRequests: Number.POSITIVE_INFINITY }
    const obstacle = limitInTheWay(tenant, rates, sane(estimate), share.now)
    if (obstacle === undefined) return undefined
    return { outcome: 'refused', ...obstacle, figures: shownOf(tenant, whole, share) }
  }

  /** The store has decided. */
  follow(
    { tenant, id, rules, estimate, downgradeEstimate }: AdmitRequest,
    made: AdmitResult,
  ): void {
    const standing = this.#enter(tenant, rules)
    this.#note(standing, made.figures)
    if (made.outcome === 'refused' || this.#held.get(id) !== undefined) return
    const reserved = sane((made.outcome === 'downgraded' ? downgradeEstimate : estimate) ?? NOTHING)
    this.#held.add(take(standing.tenant, id, reserved, by(made)))
    if (this.#endedAt === Number.POSITIVE_INFINITY || !this.#isCareful(standing, rules)) return
    standing.tenant.requests.charge(1, this.#now())
    standing.tenant.tokens?.charge(reserved.tokens, this.#now())
  }

  /** The store has told how a tenant stands. */
  learn(tenant: string, rules: Rules, figures: Figures): void {
    this.#note(this.#enter(tenant, rules), figures)
  }

  admit(request: AdmitRequest): AdmitResult {
    const share = this.#share(request.tenant, request.rules)
    const { rules, now, wall } = share
    const { tenant } = share.standing
    const spent = spentBudget(tenant, rules)
    const cheaper =
      spent !== undefined && rules.budget?.onExceeded === 'downgrade'
        ? request.downgradeEstimate
        : undefined
    const reserved = sane(cheaper ?? request.estimate)
    const downgradedBy = cheaper === undefined ? undefined : spent
    const obstacle = longer(
      limitInTheWay(tenant, rules, reserved, now),
      budgetInTheWay(tenant, rules, cheaper === undefined ? spent : undefined, wall),
    )
    if (obstacle !== undefined) {
      return { outcome: 'refused', ...obstacle, figures: shownOf(tenant, request.rules, share) }
    }
    tenant.requests.charge(1, now)
    if (rules.tokensPerMinute !== undefined) tenant.tokens?.charge(reserved.tokens, now)
    this.#held.add(take(tenant, request.id, reserved, downgradedBy))
    const figures = shownOf(tenant, request.rules, share)
    return downgradedBy === undefined
      ? { outcome: 'admitted', figures }
      : { outcome: 'downgraded', by: downgradedBy, figures }
  }

  /** The store has raised a hold. */
  raised(id: string, estimate: Amount): void {
    const held = this.#held.get(id)
    if (held !== undefined) raise(held, larger(held.reserved, sane(estimate)))
  }

  extend({ id, budget, estimate }: Extension): boolean {
    const held = this.#held.get(id)
    if (held === undefined) return false
    const wanted = larger(held.reserved, sane(estimate))
    const { tenant } = held
    const figures = this.#standings.get(tenant.name)?.figures
    const share = cutBudget(budget, tenant, { figures, part: this.#fraction() })
    if (!mayRaise(held, wanted, share)) return false
    raise(held, wanted)
    return true
  }

  settle(id: string, used: Amount): void {
    const held = this.#held.get(id)
    if (held === undefined) return
    this.#held.remove(held)
    const { tenant, day, month, reserved } = held
    const { tokens, nanos } = sane(used)
    tenant.running--
    day.release(reserved.tokens, 0)
    month.release(reserved.nanos, 0)
    day.charge(tokens)
    month.charge(nanos)
  }

  read(tenant: string, rules: Rules): Figures {
    const share = this.#share(tenant, rules)
    return shownOf(share.standing.tenant, rules, share)
  }

  /** What the store told last, if it is not older than that. */
  lastKnown(tenant: string, ageMsMax: number): Figures | undefined {
    const standing = this.#standings.get(tenant)
    if (standing === undefined || this.#clock.now() - standing.at > ageMsMax) return undefined
    return standing.figures
  }

  #note(standing: Standing, figures: Figures): void {
    standing.figures = figures
    standing.at = this.#clock.now()
    // What was settled so far is in the figures; what follows is counted here on top of them.
    standing.tenant.day.settled = 0
    standing.tenant.month.settled = 0
  }

  #enter(name: string, rules: Rules): Standing {
    const known = this.#standings.get(name)
    this.#present.moveTo(this.#clock.wall())
    if (known === undefined) {
      const tenant = new Tenant(name, rules, this.#present, [])
      const standing = { tenant, figures: undefined, at: 0, outage: 0 }
      this.#standings.set(name, standing)
      if (this.#standings.size > TENANTS_MAX) this.#forget()
      return standing
    }
    const { tenant } = known
    if (tenant.day.window.startsAt !== this.#present.day.startsAt) {
      tenant.enter(this.#cut(known, rules), this.#present, this.#now())
    }
    return known
  }

  #share(name: string, whole: Rules): Share {
    const standing = this.#enter(name, whole)
    const now = this.#now()
    const rules = this.#cut(standing, whole)
    standing.tenant.enter(rules, this.#present, now)
    if (standing.outage !== this.#outage) {
      standing.outage = this.#outage
      takeOver(standing.tenant, standing, { rules, part: this.#fraction(), now })
    }
    return { standing, rules, now, wall: this.#clock.wall() }
  }

  #cut({ tenant, figures }: Standing, whole: Rules): Rules {
    return cutRules(whole, tenant, { figures, part: this.#fraction() })
  }

  #isCareful({ outage }: Standing, rules: Rules): boolean {
    const { requestsPerMinute, burst, tokensPerMinute } = rules
    const emptyAfterMs = tokensPerMinute === undefined ? 0 : 60_000
    const passed = this.#now() - this.#endedAt
    if (passed >= REMEMBERED_MS) this.#endedAt = Number.POSITIVE_INFINITY
    if (outage !== this.#outage) return false
    return passed < Math.max(emptyAfterMs, (burst * 60_000) / requestsPerMinute)
  }

  #forget(): void {
    for (const [name, { tenant }] of this.#standings) {
      if (tenant.running > 0) continue
      this.#standings.delete(name)
      return
    }
  }

  /** Whole milliseconds, as the buckets count. */
  #now(): number {
    return Math.floor(this.#clock.now())
  }
}

function raise(held: Held, reserved: Amount): void {
  held.day.adjust(reserved.tokens - held.reserved.tokens, 0)
  held.month.adjust(reserved.nanos - held.reserved.nanos, 0)
  held.reserved = reserved
}

function by(made: AdmitResult): Held['downgradedBy'] {
  return made.outcome === 'downgraded' ? made.by : undefined
}
