/** One simulated request, as its gateway and the store know it. */
import { type Amount, LEASE_MS, type Rules } from '../../dataplane/accounts/store.ts'
import type { PlannedRequest } from './plan.ts'

/** The price of a token; an integer, so that sums are exact. */
export const NANOS_PER_TOKEN = 1000

export class Life {
  readonly id: string
  readonly plan: PlannedRequest
  readonly rules: Rules
  readonly askedAt: number
  answeredAt: number | undefined
  state: 'asked' | 'unavailable' | 'refused' | 'running' | 'ended' | 'crashed' = 'asked'
  runsFrom = 0
  /** Its gateway crashed before it ended. */
  isForgotten = false
  /** The amounts of its settlement. */
  used = 0
  /** The store has the request, and its answer has not arrived. */
  isUnanswered = false
  /** Slices of its gateway covered it. */
  isHere = false
  /** The times of the store's actions, by the store's clock; undefined if it never acted. */
  admittedAt: number | undefined
  renewedAt: number | undefined
  settledAt: number | undefined
  /** The times of the last actions in an account that is not the tenant's. */
  settledLastAt: number | undefined
  /** The amount in the last heartbeat that arrived in time. */
  beaten = 0
  /** The amount that its gateway named first in a heartbeat, whether or not that arrived. */
  namedFirst: number | undefined

  constructor(id: string, plan: PlannedRequest, rules: Rules, askedAt: number) {
    this.id = id
    this.plan = plan
    this.rules = rules
    this.askedAt = askedAt
  }

  /** Tokens grow at a constant rate while it runs. */
  usedAt(moment: number): number {
    const { durationMs, usage } = this.plan
    const share = durationMs === 0 ? 1 : Math.min(1, (moment - this.runsFrom) / durationMs)
    return Math.floor(usage * share)
  }

  beats(moment: number): void {
    if (this.state === 'running') this.namedFirst ??= this.usedAt(moment) || undefined
  }

  /** Whether it is charged to the rates alone. */
  get isCharge(): boolean {
    return this.plan.ratesOnly === true
  }

  /** Whether its gateway learned that it may run. */
  get isAdmitted(): boolean {
    return this.state === 'running' || this.state === 'ended' || this.state === 'crashed'
  }

  /** Whether its gateway let it run without the store, regardless of the store's decision. */
  get isLocal(): boolean {
    return this.isAdmitted && (this.isUnanswered || this.admittedAt === undefined)
  }

  /** The charge that the store must have made: all, or the last amount that it could know. */
  get charged(): number {
    return this.settledAt === undefined ? this.beaten : this.used
  }

  /** A crashed gateway's sums may have reached the store although the settlement never arrived. */
  get chargedMost(): number {
    return this.state === 'ended' ? Math.max(this.used, this.beaten) : this.charged
  }

  /**
   * The same for an account that is not the tenant's: its calls get lost independently of the
   * tenant's. From a crashed gateway the store may have received any used amount.
   */
  get chargedBeside(): { readonly least: number; readonly most: number; readonly excess: number } {
    const { chargedMost: most, excess, charged: least, admittedAt, settledLastAt } = this
    if (this.isForgotten || settledLastAt === undefined) {
      const usage = this.isAdmitted ? this.plan.usage : 0
      return { least: 0, most: usage, excess: usage }
    }
    const isLate = settledLastAt - (admittedAt ?? 0) >= LEASE_MS
    return { least, most, excess: isLate ? this.used : excess }
  }

  /**
   * The charge without reserved room in the store: after the hold had expired, or without a hold.
   */
  get excess(): number {
    if (this.isLocal || this.admittedAt === undefined) return this.charged
    const heardAt = this.renewedAt ?? this.admittedAt
    const isLate = this.settledAt !== undefined && this.settledAt >= heardAt + LEASE_MS
    return isLate ? this.used - this.beaten : 0
  }
}

export function amount(tokens: number): Amount {
  return { tokens, nanos: tokens * NANOS_PER_TOKEN }
}
