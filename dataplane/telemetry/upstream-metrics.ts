/** The metrics of requests that wait for an upstream, and of the credentials of upstreams. */
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
