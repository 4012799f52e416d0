/** Every metric of the data plane, one row each. Label values come from the configuration, never from clients. */
import { collectDefaultMetrics, Registry } from 'prom-client'
import { counter, createFamily, gauge, histogram, nanos } from './metric-row.ts'
import type { Histogram, Numbers } from './series.ts'
import { BUDGET_METRICS, LIMIT_METRICS, STORE_METRICS } from './store-metrics.ts'
import { CREDENTIAL_METRICS, ROLLOUT_METRICS, WAITING_METRICS } from './upstream-metrics.ts'

export const METRICS = {
  requests: counter('gw_requests_total', 'Answered requests.', 'route', 'upstream', 'status'),
  duration: histogram(
    'gw_request_duration_seconds',
    'From the headers of a request to the end of its answer.',
    'route',
    'upstream',
    'operation',
  ),
  firstToken: histogram(
    'gw_time_to_first_token_seconds',
    'From the headers of a request to its first content.',
    'route',
    'upstream',
  ),
  firstTokenP95: gauge(
    'gw_ttft_p95_seconds',
    "95th percentile of the time to first token in the window of the route's objective.",
    'route',
  ),
  sloBreached: gauge(
    'gw_ttft_slo_breached',
    '1 while the objective for the time to first token is missed.',
    'route',
  ),
  sloBreaches: counter(
    'gw_ttft_slo_breaches_total',
    'How often an objective for the time to first token began to be missed.',
    'route',
  ),
  sloRequests: counter(
    'gw_slo_requests_total',
    'Requests that met (good) or missed an objective: ttft, streams by their first token; errors, by status.',
    'route',
    'slo',
    'good',
  ),
  overhead: histogram(
    'gw_overhead_seconds',
    'From the headers of a request to its first attempt, less the wait for its body.',
  ),
  inFlight: gauge(
    'gw_requests_in_flight',
    'Requests that have been admitted and not settled.',
    'route',
  ),
  streamsOpen: gauge('gw_streams_open', 'Streams being relayed now.'),
  streamAborted: counter(
    'gw_stream_aborted_total',
    'Streams cut after they had begun, by who cut them.',
    'by',
  ),
  attempts: counter(
    'gw_upstream_attempts_total',
    'Attempts by how they ended.',
    'upstream',
    'outcome',
  ),
  retries: counter(
    'gw_upstream_retries_total',
    'Attempts that repeated one at the same upstream.',
    'upstream',
  ),
  resends: counter(
    'gw_upstream_resends_total',
    'Requests sent again because the upstream had closed the kept connection.',
    'upstream',
  ),
  semanticDecisions: counter(
    'gw_semantic_decisions_total',
    'Prompts of routes with the strategy semantic, by their classifier and side.',
    'route',
    'classifier',
    'side',
  ),
  overflow: counter('gw_overflow_total', 'Requests that spilled to a fallback.', 'route', 'reason'),
  breakerState: gauge(
    'gw_breaker_state',
    '1 for the state the breaker is in, else 0.',
    'upstream',
    'state',
  ),
  healthy: gauge(
    'gw_upstream_healthy',
    '1 while health probes keep the upstream in rotation, 0 while they do not; absent before the first probe.',
    'upstream',
  ),
  upstreamInFlight: gauge(
    'gw_upstream_in_flight',
    'Requests of this replica in flight to the upstream.',
    'upstream',
  ),
  ...WAITING_METRICS,
  endpoints: gauge(
    'gw_upstream_endpoints',
    'Endpoints of the upstream, by state; absent if it has only its name.',
    'upstream',
    'state',
  ),
  endpointFailures: counter(
    'gw_upstream_endpoint_failures_total',
    'Failures that removed an endpoint of the upstream for a while.',
    'upstream',
  ),
  queueDepth: gauge(
    'gw_upstream_queue_depth',
    'Waiting and running requests in the last report of the runtime.',
    'upstream',
  ),
  ...CREDENTIAL_METRICS,
  brokenEvents: counter(
    'gw_broken_events_total',
    'Stream events without valid JSON that were passed on.',
    'upstream',
  ),
  tokens: counter(
    'gw_tokens_total',
    'Tokens of answered requests; cache_read and cache_write are parts of prompt, reasoning of completion.',
    'route',
    'upstream',
    'kind',
  ),
  /** Cells hold nano-dollars. */
  cost: nanos('gw_cost_usd_total', 'USD settled, by the price list.', 'route', 'upstream'),
  tenantCost: nanos('gw_tenant_cost_usd_total', 'USD settled, by the price list.', 'tenant'),
  caches: nanos(
    'gw_cache_usd_total',
    'USD less (gain) or more (surcharge) than without prompt caches.',
    'route',
    'upstream',
    'kind',
  ),
  refused: counter('gw_refused_total', 'Requests the gateway refused, by error code.', 'code'),
  routeVerified: gauge(
    'gw_route_verified',
    "1 while a route with `verify: true` answers the gateway's own probes, 0 while it does not, or has not been probed yet.",
    'route',
  ),
  deprecated: counter(
    'gw_deprecated_requests_total',
    'Requests that named a deprecated route or alias.',
    'name',
    'tenant',
  ),
  admitted: counter(
    'gw_ratelimit_admitted_total',
    "Requests that a tenant's limits allowed.",
    'tenant',
  ),
  rejected: counter(
    'gw_ratelimit_rejected_total',
    'Requests refused with 429 at the gateway.',
    'tenant',
    'reason',
  ),
  ...LIMIT_METRICS,
  ...ROLLOUT_METRICS,
  downgrades: counter(
    'gw_budget_downgrades_total',
    'Requests served by a downgrade route.',
    'tenant',
    'route',
  ),
  ...BUDGET_METRICS,
  alertsDropped: counter('gw_alerts_dropped_total', 'Alerts no webhook took.', 'reason'),
  infraCost: counter(
    'gw_infra_cost_usd_total',
    'Infrastructure cost, by the tokens used in each hour.',
    'tenant',
  ),
  ...STORE_METRICS,
  tokenizerDrift: gauge(
    'gw_tokenizer_drift_ratio',
    "Difference between the gateway's counts of prompts and the upstream's at the last verification; 0.01 is one percent.",
    'upstream',
  ),
  tokenizerMismatch: gauge(
    'gw_tokenizer_mismatch',
    '1 while the upstream serves another revision than tokenizer_revision pins; absent without a pin.',
    'upstream',
  ),
  jwksFetches: counter(
    'gw_jwks_fetches_total',
    'Fetches of the public keys of issuers, by their result.',
    'issuer',
    'result',
  ),
  jwksKeys: gauge('gw_jwks_keys', 'Public keys of the issuer for checking tokens.', 'issuer'),
  auxiliaryRequests: counter(
    'gw_auxiliary_requests_total',
    'Calls to services beside the models, by outcome.',
    'kind',
    'name',
    'outcome',
  ),
  auxiliarySeconds: histogram(
    'gw_auxiliary_duration_seconds',
    'Time until services beside the models answered.',
    'kind',
    'name',
  ),
  consoleViewers: gauge('gw_console_viewers', 'Pages of the console that get live samples.'),
  workerEnds: counter(
    'gw_worker_ends_total',
    'Ends of processes of gateway.workers that were not asked to end; each is started again.',
  ),
  usageRows: gauge('gw_usage_rows', 'Rows of usage that the process keeps in memory.'),
  usageFolded: counter(
    'gw_usage_folded_total',
    'Attempts, or rows of the shared store, that count as other because their hour has too many rows.',
    'reason',
  ),
  usageEvents: counter(
    'gw_usage_events_total',
    'Usage events by result: delivered, or dropped for a reason.',
    'sink',
    'result',
  ),
  usageEventsWaiting: gauge(
    'gw_usage_events_waiting',
    'Usage events that no sink has accepted yet.',
  ),
  spansExported: counter('gw_spans_exported_total', 'Spans that the collector accepted.'),
  spansDropped: counter('gw_spans_dropped_total', 'Spans that no collector accepted.', 'reason'),
  otlpItems: counter(
    'gw_otlp_items_total',
    'Points of metrics and log records for the collector by result: delivered, or dropped for a reason.',
    'signal',
    'result',
  ),
  spanExports: counter('gw_span_exports_total', 'Batches of spans, by result.', 'result'),
  reloads: counter('gw_config_reload_total', 'Attempts to activate a new configuration.', 'result'),
  reloadedAt: gauge(
    'gw_config_last_reload_timestamp_seconds',
    'When the active configuration was activated.',
  ),
  listenerExpiry: gauge(
    'gw_listener_certificate_expiry_seconds',
    'Seconds until the certificate of the client listener expires; absent without TLS.',
    'name',
  ),
  listenerLifetime: gauge(
    'gw_listener_certificate_lifetime_seconds',
    "Total validity of the client listener's certificate; absent without TLS.",
    'name',
  ),
  handshakeFailures: counter(
    'gw_listener_handshake_failures_total',
    'TLS connections of clients that failed before their first request.',
    'reason',
  ),
  logLinesDropped: counter(
    'gw_log_lines_dropped_total',
    'Log lines dropped because the sink was too slow.',
  ),
  build: gauge('gw_build_info', 'Always 1.', 'version'),
} as const

export type Metrics = {
  readonly [Key in keyof typeof METRICS]: (typeof METRICS)[Key]['kind'] extends 'histogram'
    ? Histogram
    : Numbers
}

export function createMetrics(): Metrics {
  const families = Object.entries(METRICS).map(([key, row]) => [key, createFamily(row)])
  // The mapped type matches the decision of createFamily for each row.
  return Object.fromEntries(families) as Metrics
}

/** Renders the exposition text; process metrics (memory, event loop, garbage collection) are prom-client's. */
export function createRegistry(metrics: Metrics): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 })
  // prom-client renders any object with a name and get(); its types require its own classes.
  for (const family of Object.values(metrics)) registry.registerMetric(family as never)
  return registry
}
