/** The metrics of rollouts and of shadows. */
import { counter, gauge, histogram } from './metric-row.ts'

export const ROLLOUT_METRICS = {
  rolloutShare: gauge(
    'gw_rollout_share_percent',
    'Share of the requests that the new upstream of a rollout gets.',
    'route',
  ),
  rolloutRequests: counter(
    'gw_rollout_requests_total',
    'Finished requests of a route with a rollout, by side (new, old) and result.',
    'route',
    'side',
    'result',
  ),
  rolloutBacks: counter(
    'gw_rollout_backs_total',
    'Rollouts that went back by themselves, by the measure that was worse.',
    'route',
    'why',
  ),
  shadowRequests: counter(
    'gw_shadow_requests_total',
    'Requests chosen for a copy, by what became of the copy.',
    'route',
    'result',
  ),
  shadowDifferences: counter(
    'gw_shadow_differences_total',
    'Copies whose answer differs from that of the client, by what differs.',
    'route',
    'what',
  ),
  shadowDuration: histogram(
    'gw_shadow_duration_seconds',
    'From the start of a copy to the end of its answer.',
    'route',
    'upstream',
  ),
} as const
