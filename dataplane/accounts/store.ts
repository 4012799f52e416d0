/**
 * A store counts requests, tokens and money of tenants. Each of its five verbs is one atomic step on plain data, so that a
 * shared store can do it in one script call. A verb returns at once unless it needs the network.
 */

import type { Per, Period } from './period.ts'

export type Soon<T> = T | Promise<T>

/**
 * Tokens and integer nano-dollars (1 USD = 1e9). Both stay safe integers, so sums are exact in JavaScript and in Lua;
 * 2^53 nano-dollars limit the money of one window to 9,000,000 USD.
 */
export interface Amount {
  readonly tokens: number
  readonly nanos: number
  /** The tokens of the prompt among them; none if absent. */
  readonly input?: number
}

/** The tokens that a rate counts. */
export type CountedTokens = 'all' | 'input' | 'output'

/** The rates and slots of one counter; an absent one has no limit. */
export interface Measures {
  readonly requestsPerMinute?: number | undefined
  /** Requests that fit the bucket; present with `requestsPerMinute`. */
  readonly burst?: number | undefined
  readonly concurrentRequests?: number | undefined
  readonly tokensPerMinute?: number | undefined
}

/** The limits of a tenant, compiled once per configuration by accounts/rules.ts. */
export interface Rules extends Measures {
  readonly requestsPerMinute: number
  /** Requests that fit the bucket. */
  readonly burst: number
  readonly concurrentRequests: number
  readonly tokensPerMinute: number | undefined
  readonly budget: BudgetRule | undefined
  /** Further counters that apply to the request besides the tenant's own; absent if there are none. */
  readonly scoped?: readonly ScopedBudget[]
  /** The rules without the counters of `limits[]`, if there are any: all that is known before the body is read. */
  readonly base?: Rules
}

/** A counter other than the tenant's: of several tenants, of one key, or of an entry of `limits[]`. */
export interface BudgetScope {
  readonly kind: 'group' | 'key' | 'limit'
  /** The name of the group or the limit, or the id of the key. */
  readonly name: string
  /** Whether clients may read the name of the group; false if the name lists other tenants. */
  readonly isNamed?: boolean
  /** Unique id of the counter, different from the names of tenants. */
  readonly id: string
  /** Only for a limit. */
  readonly limit?: LimitCounter
}

/** The facts of a counter of `limits[]`. */
export interface LimitCounter {
  /** The callers that it counts, as they may read it: `key "batch-1"`. */
  readonly holder: string
  /** Whether only one tenant, or one upstream, can use it, so that it is kept beside the counters of that one. */
  readonly isOfTenant: boolean
  /** The windows of its budget. */
  readonly period: Period
  /** The tokens that its rate counts, and that a request holds of it. */
  readonly counts: CountedTokens
}

export interface ScopedBudget {
  readonly scope: BudgetScope
  /** Undefined for a running request whose budget was removed from the configuration; its counter is still charged. */
  readonly rule: BudgetRule | undefined
  /** Only for a limit; absent if it has no rates and slots. */
  readonly rates?: Measures | undefined
}

/** Both caps are those of windows: of the day and the month, or for a limit of its period. */
export interface BudgetRule {
  readonly tokensPerDay: number | undefined
  readonly nanosPerMonth: number | undefined
  readonly onExceeded: 'reject' | 'downgrade'
  /** The route that serves while the budget is spent. */
  readonly downgradeRoute?: string | undefined
  /** Fractions of a cap, in rising order. */
  readonly alertThresholds: readonly number[]
}

export interface AdmitRequest {
  readonly tenant: string
  /** The gateway makes this id, never a client. A second admission with the same id returns the first one and charges nothing. */
  readonly id: string
  readonly rules: Rules
  /** Upper bound of the request's usage. */
  readonly estimate: Amount
  /** Upper bound on the downgrade route; absent if there is no such route, or none of its upstreams is eligible. */
  readonly downgradeEstimate?: Amount | undefined
  /**
   * Only the tenant's rates decide, and are charged one request: no slot, no hold, no budget and no other counter. Nothing runs
   * afterwards, so there is nothing to settle, and a second charge with the same id is another one. The rules are the
   * tenant's as for every other request, because slices belong to rules.
   */
  readonly ratesOnly?: boolean
}

/** Values of the metric's label `reason` and of the error's member `reason`. */
export type Refusal =
  | 'rpm'
  | 'tpm'
  | 'concurrency'
  | 'budget_reserved'
  | 'budget_tokens'
  | 'budget_spend'

export type AdmitResult =
  | { readonly outcome: 'admitted'; readonly figures: Figures }
  /** The budget is spent, so the downgrade route serves and its estimate is reserved. */
  | {
      readonly outcome: 'downgraded'
      readonly by: 'budget_tokens' | 'budget_spend'
      /** Absent for the tenant's own budget. */
      readonly scope?: BudgetScope | undefined
      readonly figures: Figures
    }
  /** Nothing was charged. If several limits refuse, this is the one with the longest wait. */
  | {
      readonly outcome: 'refused'
      readonly by: Refusal
      /** The counter that refuses; absent for the tenant's own. */
      readonly scope?: BudgetScope | undefined
      /** A client that waits this long is admitted, unless another request of its tenant comes first. */
      readonly retryAfterMs: number
      readonly figures: Figures
    }

/** The figures of a tenant just after the call. */
export interface Figures {
  readonly requests: BucketFigure
  /** Only with tokens_per_minute. */
  readonly tokenRate: BucketFigure | undefined
  readonly concurrency: { readonly limit: number; readonly used: number }
  /** Only with tokens_per_day. */
  readonly tokens: BudgetFigure | undefined
  /** Nano-dollars; only with spend_per_month_usd. */
  readonly spend: BudgetFigure | undefined
  /** The figures of each of the `scoped` budgets, in their order; absent if there are none. */
  readonly scoped?: readonly ScopedFigures[]
  /** The last known figures of an unreachable store, without which nothing is admitted. */
  readonly isOld?: boolean
}

/** Rates and slots only where the counter has limits of them. */
export interface ScopedFigures extends Pick<Figures, 'tokens' | 'spend'>, RateFigures {
  readonly scope: BudgetScope
}

export interface RateFigures {
  readonly requests?: BucketFigure | undefined
  readonly tokenRate?: BucketFigure | undefined
  readonly concurrency?: Figures['concurrency'] | undefined
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

/** Identifies a running request. */
export interface LeaseId {
  readonly tenant: string
  readonly id: string
}

export interface Extension extends LeaseId {
  readonly budget: BudgetRule | undefined
  /** As in the rules under which the request was admitted. */
  readonly scoped?: readonly ScopedBudget[] | undefined
  /** The new total, not the difference, so that repeating the call changes nothing. */
  readonly estimate: Amount
  /**
   * The new hold follows from a count of the prompt. The store lowers the hold and the charge of the token rate, never
   * below the used amount, and does not refuse.
   */
  readonly isCount?: boolean
}

export interface Beat extends LeaseId {
  /** Usage so far, which the store charges if the lease is never renewed or settled again. */
  readonly used: Amount
}

export interface Settling extends LeaseId {
  /** Sum over all attempts. */
  readonly used: Amount
  /** Caps and thresholds for alerts, as configured now. */
  readonly budget: BudgetRule | undefined
  /** The other counters of the admission, with caps and thresholds as configured now. */
  readonly scoped?: readonly ScopedBudget[] | undefined
  /**
   * Only for a request that was admitted without the store: the time, in milliseconds since the epoch, whose windows
   * are charged. Other requests are charged to the windows of their admission.
   */
  readonly admittedAt?: number
}

export interface Settlement {
  /** False if this id was settled before. */
  readonly charged: boolean
  /** Thresholds that this settlement reached first in the window. */
  readonly crossed: readonly Crossing[]
}

export interface Crossing {
  /** Tenant of the request that crossed the threshold. */
  readonly tenant: string
  /** Absent for the tenant's own budget. */
  readonly scope?: BudgetScope
  readonly kind: 'tokens' | 'spend'
  readonly window: Per
  readonly threshold: number
  /** Tokens or nano-dollars. */
  readonly used: number
  readonly limit: number
  /** Milliseconds since the epoch. */
  readonly resetsAt: number
}

/** A lease that is not renewed for this time ends: the store frees its slot and charges the usage of its last beat. */
export const LEASE_MS = 15_000

/** How often leases are renewed. */
export const BEAT_MS = 5_000

/** Suggested wait for a client whose tenant has no free slot, because the end of running requests is unknown. */
export const BUSY_RETRY_MS = 1_000

/**
 * The windows and the clock are those of the store. All verbs accept any number: an amount that is not a safe integer
 * of at least 0 is replaced by the nearest one. `admit` throws ERR_GW_LIMITER_UNAVAILABLE if the store is unreachable;
 * the other verbs never throw.
 */
export interface Store {
  /** Whether other processes use the same store. */
  readonly isShared?: boolean
  /** Decides over rate, concurrency and budgets; charges and holds in the same step, or not at all. */
  admit(request: AdmitRequest): Soon<AdmitResult>
  /**
   * Raises a hold, or lowers it to a count. False if budgets do not allow the raise or the hold has ended; the request
   * may still finish and is counted.
   */
  extend(extension: Extension): Soon<boolean>
  /** Renews all leases of a process in one call. Returns the ids of leases that had expired. */
  renew(beats: readonly Beat[]): Soon<readonly string[]>
  /** Ends a hold and charges its window. Repeated calls for an id charge once; a call also charges after the hold has expired. */
  settle(settling: Settling): Soon<Settlement>
  /** The figures of a tenant; at most `ageMsMax` old if reading needs a round trip. Charges nothing. */
  read(tenant: string, rules: Rules, ageMsMax?: number): Soon<Figures>
}
