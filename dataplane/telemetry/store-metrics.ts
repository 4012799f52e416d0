/** The metrics of the shared store, of its slices, of budgets, and of `limits[]`. */
import { counter, gauge } from './metric-row.ts'

export const STORE_METRICS = {
  storeFailing: gauge('gw_store_failing', '1 while counters cannot be written to state_dir.'),
  storeUp: gauge('gw_store_up', '1 while the shared store answers; absent without one.', 'backend'),
  storeFailures: counter(
    'gw_store_failures_total',
    'Calls and probes without an answer of the shared store.',
    'reason',
  ),
  storeReplicas: gauge('gw_store_replicas', 'Replicas sharing the store, as last reported.'),
  storeWaiting: gauge(
    'gw_store_settlements_waiting',
    'Settlements that the shared store has not taken yet.',
  ),
  storeDecisions: counter(
    'gw_store_decisions_total',
    'Requests decided with the shared store: by a slice, without a call, or by the store.',
    'by',
  ),
  storeSlices: gauge(
    'gw_store_slices',
    'Idle amounts of this replica in the shared store: requests, tokens of the rate, slots, tokens and USD of budgets.',
    'kind',
  ),
  storeSliceAccounts: gauge(
    'gw_store_slice_accounts',
    'Tenants, groups, keys and counters of limits with a slice for this replica.',
  ),
  localAdmissions: counter(
    'gw_store_local_admissions_total',
    'Requests admitted from the local share while the shared store was unavailable.',
  ),
} as const

const OF_COUNTERS =
  'of a budget of limits[]; `counter` is the tenant, key, route or model, and empty if all share one.'

/** They are counted in a store, shared or not. */
export const LIMIT_METRICS = {
  limitRefused: counter('gw_limit_refused_total', 'Refusals by limits[].', 'limit', 'reason'),
  quotaPassedOver: counter(
    'gw_upstream_quota_passed_over_total',
    'Attempts that were not made because a limit of limits[] for the upstream had no room.',
    'upstream',
    'limit',
    'reason',
  ),
  limitTokens: gauge(
    'gw_limit_budget_tokens_used',
    `Tokens settled in the window, ${OF_COUNTERS}`,
    'limit',
    'counter',
    'window',
  ),
  limitSpend: gauge(
    'gw_limit_budget_spend_usd',
    `USD settled in the window, ${OF_COUNTERS}`,
    'limit',
    'counter',
    'window',
  ),
  limitUsed: gauge(
    'gw_limit_budget_used_ratio',
    `Used fraction of the cap, with its raise, ${OF_COUNTERS}`,
    'limit',
    'counter',
    'window',
  ),
} as const

const OF_GROUPS = 'Settled in the window, of a group or a key.'
const OF_TENANTS = ['tenant', 'window'] as const

/** Every replica shows the same values, because they are those of the store. */
export const BUDGET_METRICS = {
  budgetTokens: gauge('gw_budget_tokens_used', 'Tokens settled in the window.', ...OF_TENANTS),
  budgetSpend: gauge('gw_budget_spend_usd', 'USD settled in the window.', ...OF_TENANTS),
  budgetTokensLimit: gauge(
    'gw_budget_limit_tokens',
    'Tokens that the budget allows in the window.',
    ...OF_TENANTS,
  ),
  budgetSpendLimit: gauge(
    'gw_budget_limit_usd',
    'USD that the budget allows in the window.',
    ...OF_TENANTS,
  ),
  budgetStart: gauge(
    'gw_budget_window_start_timestamp_seconds',
    'When the window of the budget began.',
    ...OF_TENANTS,
  ),
  budgetEnd: gauge(
    'gw_budget_window_end_timestamp_seconds',
    'When the window of the budget ends.',
    ...OF_TENANTS,
  ),
  budgetAlerts: counter(
    'gw_budget_alerts_total',
    'Thresholds reached.',
    'tenant',
    'window',
    'threshold',
  ),
  scopedBudgetTokens: gauge('gw_scoped_budget_tokens_used', OF_GROUPS, 'budget', 'window'),
  scopedBudgetSpend: gauge('gw_scoped_budget_spend_usd', OF_GROUPS, 'budget', 'window'),
  scopedBudgetAlerts: counter(
    'gw_scoped_budget_alerts_total',
    'Thresholds reached, of a group, a key or a limit.',
    'budget',
    'window',
    'threshold',
  ),
} as const
