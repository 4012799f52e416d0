/** The metrics of requests that wait for an upstream, of the credentials of upstreams, and of upstreams that are tried. */
import { counter, gauge, histogram } from './metric-row.ts'

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

export const CREDENTIAL_METRICS = {
  credentialValid: gauge(
    'gw_upstream_credential_valid',
    '1 while a fetched credential of the upstream is valid; absent if the credential is written.',
    'upstream',
  ),
  keyRequests: counter(
    'gw_upstream_key_requests_total',
    'Attempts by the key that they carried, for upstreams with several; `key` is its index.',
    'upstream',
    'key',
  ),
  keyResting: gauge(
    'gw_upstream_key_resting',
    '1 while a key of the upstream rests because it was refused or is out of quota.',
    'upstream',
    'key',
  ),
  credentialFetches: counter(
    'gw_upstream_credential_fetches_total',
    "Fetches of the upstream's credential from an identity service, by result.",
    'upstream',
    'result',
  ),
} as const

/** The metrics of rollouts and shadows. */
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
