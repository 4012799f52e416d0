/** The metrics of the shared store. */
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
  localAdmissions: counter(
    'gw_store_local_admissions_total',
    'Requests admitted from the local share while the shared store was unavailable.',
  ),
} as const
