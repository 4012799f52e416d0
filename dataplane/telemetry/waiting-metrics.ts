/** The metrics of requests that wait for an upstream. */
import { gauge, histogram } from './metric-row.ts'

export const WAITING_METRICS = {
  upstreamWaiting: gauge(
    'gw_upstream_waiting',
    'Requests that wait for an endpoint of the upstream; absent where cold_start is not written.',
    'upstream',
  ),
  fairnessWaiting: gauge(
    'gw_fairness_waiting',
    'Requests that wait for a place at the full upstream; absent where fairness is not written.',
    'upstream',
  ),
  fairnessSeconds: histogram(
    'gw_fairness_wait_seconds',
    'How long requests waited for a place at a full upstream, by how the wait ended.',
    'upstream',
    'outcome',
  ),
} as const
