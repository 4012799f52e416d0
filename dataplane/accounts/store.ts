/**
 * A store counts requests, tokens and money of tenants. Each of its five verbs is one atomic step on plain data, so that a
 * shared store can do it in one script call. A verb answers at once unless it has to ask over a network.
 */

export type Soon<T> = T | Promise<T>

/**
 * Tokens and integer nano-dollars (1 USD = 1e9). Both stay safe integers, so sums never drift and a script in Lua has the
 * same numbers; 2^53 nano-dollars bound the money of one window to 9,000,000 USD.
 */
export interface Amount {
  readonly tokens: number
  readonly nanos: number
}

/** The limits of a tenant, compiled once per configuration by limits/rules.ts. */
export interface Rules {
  readonly requestsPerMinute: number
  /** Requests that fit the bucket. */
  readonly burst: number
  readonly concurrentRequests: number
  readonly tokensPerMinute: number | undefined
  readonly budget: BudgetRule | undefined
  /** Budgets beside the tenant's own that hold for the request as well; absent where there are none. */
  readonly scoped?: readonly ScopedBudget[]
}

/** A counter that is not the tenant's: one that several tenants share, or that of one key. */
export interface BudgetScope {
  readonly kind: 'group' | 'key'
  /** The name of the group, or the id of the key. */
  readonly name: string
  /** Whether clients may read the name of the group: it is no list of other tenants. */
  readonly isNamed?: boolean
  /** Names the counter among all; no tenant has such a name. */
  readonly id: string
}

export interface ScopedBudget {
  readonly scope: BudgetScope
  /** Undefined for a running request whose budget is no longer configured: its counter is charged all the same. */
  readonly rule: BudgetRule | undefined
}

export interface BudgetRule {
  readonly tokensPerDay: number | undefined
  readonly nanosPerMonth: number | undefined
  readonly onExceeded: 'reject' | 'downgrade'
  /** The route that serves while it is spent. */
  readonly downgradeRoute?: string | undefined
  /** Fractions of a cap, rising. */
  readonly alertThresholds: readonly number[]
}

export interface AdmitRequest {
  readonly tenant: string
  /** Made by the gateway, never by a client. A second admission with the same id returns the first one and charges nothing. */
  readonly id: string
  readonly rules: Rules
  /** Upper bound of what the request may use. */
  readonly estimate: Amount
  /** The same on the downgrade route; absent without such a route, or if none of its upstreams is eligible. */
  readonly downgradeEstimate?: Amount | undefined
}

/** The same words as the metric's label `reason` and the error's member `reason`. */
export type Refusal =
  | 'rpm'
  | 'tpm'
  | 'concurrency'
  | 'budget_reserved'
  | 'budget_tokens'
  | 'budget_spend'

export type AdmitResult =
  | { readonly outcome: 'admitted'; readonly figures: Figures }
  /** The budget is spent and the downgrade route serves; what is reserved is the downgrade estimate. */
  | {
      readonly outcome: 'downgraded'
      readonly by: 'budget_tokens' | 'budget_spend'
      /** Absent where it is the tenant's own budget. */
      readonly scope?: BudgetScope | undefined
      readonly figures: Figures
    }
  /** Nothing was charged. If several limits refuse, this is the one with the longest wait. */
  | {
      readonly outcome: 'refused'
      readonly by: Refusal
      /** The budget that is in the way; absent where it is the tenant's own. */
      readonly scope?: BudgetScope | undefined
      /** A client that waits this long is admitted, unless another request of its tenant comes first. */
      readonly retryAfterMs: number
      readonly figures: Figures
    }

/** How a tenant stands just after the call. */
export interface Figures {
  readonly requests: BucketFigure
  /** Only with tokens_per_minute. */
  readonly tokenRate: BucketFigure | undefined
  readonly concurrency: { readonly limit: number; readonly used: number }
  /** Only with tokens_per_day. */
  readonly tokens: BudgetFigure | undefined
  /** Nano-dollars; only with spend_per_month_usd. */
  readonly spend: BudgetFigure | undefined
  /** The same of each of the `scoped` budgets, in their order; absent where there are none. */
  readonly scoped?: readonly ScopedFigures[]
  /** The store is away and nothing is admitted without it: these are its last figures. */
  readonly isOld?: boolean
}

export interface ScopedFigures extends Pick<Figures, 'tokens' | 'spend'> {
  readonly scope: BudgetScope
}

export interface BucketFigure {
  /** Per minute. */
  readonly limit: number
  /** Whole units that fit now. */
  readonly remaining: number
  /** Milliseconds until the bucket is full again. */
  readonly resetMs: number
}

export interface BudgetFigure {
  readonly limit: number
  /** Used by finished requests. */
  readonly settled: number
  /** Held by running requests, including this one. */
  readonly reserved: number
  /** Milliseconds since the epoch. */
  readonly resetsAt: number
}

/** Which running request is meant. */
export interface LeaseId {
  readonly tenant: string
  readonly id: string
}

export interface Extension extends LeaseId {
  readonly budget: BudgetRule | undefined
  /** As in the rules that it was admitted under. */
  readonly scoped?: readonly ScopedBudget[] | undefined
  /** The new whole, not the difference: the same call twice changes nothing. */
  readonly estimate: Amount
  /**
   * It is what the request would have held by the count of its prompt: it lowers the hold and what the token rate was
   * charged, never below what was used, and is not refused.
   */
  readonly isCount?: boolean
}

export interface Beat extends LeaseId {
  /** Used so far: charged if the lease is neither renewed nor settled any more. */
  readonly used: Amount
}

export interface Settling extends LeaseId {
  /** Sum over all attempts. */
  readonly used: Amount
  /** Caps and thresholds for alerts, as configured now. */
  readonly budget: BudgetRule | undefined
  /** The other budgets that it was admitted under, with caps and thresholds as configured now. */
  readonly scoped?: readonly ScopedBudget[] | undefined
  /**
   * Only for a request that was admitted without the store, in milliseconds since the epoch: it is charged to the windows
   * of that moment. Any other request is charged to the windows in which it was admitted.
   */
  readonly admittedAt?: number
}

export interface Settlement {
  /** False when this id had been settled before. */
  readonly charged: boolean
  /** Thresholds that this settlement was the first to reach in the window. */
  readonly crossed: readonly Crossing[]
}

export interface Crossing {
  /** The tenant of the request that crossed it. */
  readonly tenant: string
  /** Absent where it is the tenant's own budget. */
  readonly scope?: BudgetScope
  readonly kind: 'tokens' | 'spend'
  readonly window: 'day' | 'month'
  readonly threshold: number
  /** Tokens or nano-dollars. */
  readonly used: number
  readonly limit: number
  /** Milliseconds since the epoch. */
  readonly resetsAt: number
}

/** A lease that is not renewed for this time frees its slot, and the usage of its last beat is charged. */
export const LEASE_MS = 15_000

/** How often leases are renewed. */
export const BEAT_MS = 5_000

/** The wait for another request to end cannot be known, so a client of a full tenant is asked to wait this long. */
export const BUSY_RETRY_MS = 1_000

/**
 * The windows and the clock are the store's. All verbs are total: a number in an amount that is no safe integer from 0 on
 * is taken for the nearest one. `admit` of a store that is away throws ERR_GW_LIMITER_UNAVAILABLE; the others never do.
 */
export interface Store {
  /** Whether other processes count in it. */
  readonly isShared?: boolean
  /** Decides over rate, concurrency and budgets, and charges and holds in the same step, or nothing at all. */
  admit(request: AdmitRequest): Soon<AdmitResult>
  /**
   * Raises a hold, or lowers it to a count. False when budgets do not allow it, or the hold is gone: the request may finish
   * and is counted.
   */
  extend(extension: Extension): Soon<boolean>
  /** Keeps leases alive, all of a process in one call. Returns the ids that were lost before. */
  renew(beats: readonly Beat[]): Soon<readonly string[]>
  /** Ends a hold and charges its window, once per id however often it is called, even after the hold expired. */
  settle(settling: Settling): Soon<Settlement>
  /** How a tenant stands, or stood at most `ageMsMax` ago where a call needs a round trip. Charges nothing. */
  read(tenant: string, rules: Rules, ageMsMax?: number): Soon<Figures>
}
