/** `gw.upstreams[]`: the model servers and hosted APIs that answer requests. */
import { z } from 'zod'
import { PROVIDER_NAMES } from '../providers/index.ts'
import { ENCODINGS } from '../wire/encodings.ts'
import { EXTRAS } from '../wire/extras.ts'
import { NATIVE_APIS } from '../wire/provider-facts.ts'
import { count, headers, name, seconds, text, tlsVersion, url } from './fields.ts'

export const Tls = z.strictObject({
  ca_bundle_path: text().optional().describe('PEM file of CAs added to the trust store.'),
  min_version: tlsVersion(),
  client_cert_path: text().optional().describe('PEM certificate for mutual TLS.'),
  client_key_path: text().optional().describe('PEM key for mutual TLS.'),
})

export const HealthCheck = z.strictObject({
  path: text()
    .regex(/^\//, 'must start with /')
    .optional()
    .describe(
      'Path on the origin of the endpoint that answers 200 without authentication. Default by provider, mostly /health.',
    ),
  interval_seconds: seconds(3600).default(10).describe('Seconds between probes.'),
  timeout_seconds: seconds(600)
    .default(2)
    .describe('Seconds a probe may take; well under interval_seconds.'),
  healthy_threshold: count(100)
    .default(2)
    .describe('Consecutive successes before returning to rotation.'),
  unhealthy_threshold: count(100).default(3).describe('Consecutive failures before eviction.'),
})

export const CircuitBreaker = z.strictObject({
  failure_threshold: count(10_000)
    .default(5)
    .describe('Consecutive failed attempts before the breaker opens.'),
  open_duration_seconds: seconds(3600)
    .default(30)
    .describe('Seconds the open breaker refuses at once.'),
  half_open_probes: count(100)
    .default(1)
    .describe('Trial requests that must succeed before it closes again.'),
})

const Tokenizer = z.strictObject({
  encoding: z
    .enum(ENCODINGS)
    .optional()
    .describe(
      'A bundled encoding; prompts are counted exactly where a budget or a window needs it.',
    ),
  file: text()
    .optional()
    .describe('Path of a tokenizer.json, by which prompts are counted as its model does.'),
  upstream: z
    .boolean()
    .optional()
    .describe("Count with the runtime's own tokenizer, over its API."),
})

const Embeddings = z.strictObject({
  model: text()
    .optional()
    .describe(
      'Name of the embedding model where upstreams call the same one by several names. Default: model.',
    ),
  dimensions: count(65_536)
    .optional()
    .describe('Length of its vectors; answers of another length are refused.'),
  input_type: z
    .enum(['search_document', 'search_query', 'classification', 'clustering'])
    .optional()
    .describe('The purpose of its vectors, for an API that demands one. Default: search_document.'),
})

const QueueMetrics = z.strictObject({
  enabled: z
    .boolean()
    .default(true)
    .describe("Scrape the runtime's waiting and running gauges for least_queue."),
  interval_seconds: seconds(600).default(2).describe('Seconds between scrapes.'),
})

const ColdStart = z.strictObject({
  max_wait_seconds: seconds(600)
    .default(300)
    .describe('Seconds a request waits for an endpoint, within its own time.'),
  max_waiting: count(1000)
    .default(100)
    .describe('Requests of one replica that wait; a further one is refused with 503.'),
  prefer_wait: z
    .boolean()
    .default(false)
    .describe('As a primary: wait for it although a fallback could answer.'),
})

/** `timeout_seconds` of a stream, if it is absent. Another answer is silent until it is whole, so it has no such limit. */
export const FIRST_CONTENT_SECONDS = 30

/** Bounds of one upstream, and of all of a gateway. */
export const ENDPOINTS_MAX = 256
export const ENDPOINTS_OF_ALL_MAX = 2000
const ENDPOINTS = ['url', 'dns', 'pods', 'pool'] as const
const BALANCES = ['least', 'affinity'] as const

/** Ends the host of an upstream that is a pool: shown, and never dialled. */
export const POOL_DOMAIN = '.inferencepool'

const label = () =>
  text().regex(/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/, 'must be a name as Kubernetes takes it')

const Pool = z.strictObject({
  name: label().describe('Name of the InferencePool.'),
  namespace: label().optional().describe('Its namespace. Default: that of the gateway.'),
})

export const Upstream = z.strictObject({
  name: name().describe('Unique; routes refer to it.'),
  provider: z.enum(PROVIDER_NAMES).describe('Software or API at the endpoint.'),
  endpoint: url()
    .optional()
    .describe('Base URL, with or without /v1. Required for self-hosted runtimes.'),
  endpoints: z
    .enum(ENDPOINTS)
    .optional()
    .describe(
      'Where requests go: url is the endpoint itself; dns is each address of its name, with connections apart; ' +
        'pods is each ready pod of the Service that it names, as the operator sends them; pool is the same for the ' +
        'pods of an InferencePool. Default: url.',
    ),
  pool: Pool.optional().describe('The InferencePool of endpoints: pool, which needs no endpoint.'),
  balance: z
    .enum(BALANCES)
    .optional()
    .describe(
      'How one of several endpoints is chosen: least takes the less loaded of two; affinity sends the requests of a ' +
        'conversation to the same one. Default: least.',
    ),
  cache_salt: z
    .enum(['tenant'])
    .optional()
    .describe(
      'tenant: no tenant finds prompts of another one in the prefix cache of the runtime. Absent: all tenants share it.',
    ),
  caller_headers: headers()
    .optional()
    .describe('Headers that carry the tenant, the key (its id) or the route of each request.'),
  prefer_zone: z
    .boolean()
    .optional()
    .describe(
      "Endpoints in the zone of the gateway's own pod come first, while they are not loaded far above the others. " +
        'Default: false.',
    ),
  balance_header: text()
    .max(128)
    .optional()
    .describe(
      'Header of the client that names a conversation for balance: affinity. Default: x-session-id.',
    ),
  model: text().describe('The model served there or asked for.'),
  weight: z
    .number()
    .min(0)
    .max(1_000_000)
    .optional()
    .describe('Share under the weighted strategy.'),
  timeout_seconds: seconds()
    .optional()
    .describe(
      'Seconds from sending a request to the first content of a stream, or to the head of another answer. ' +
        'Absent: 30 for a stream; another answer has the whole time of the request.',
    ),
  connect_timeout_seconds: seconds(60)
    .default(2)
    .describe('Seconds a connection may take, inside timeout_seconds.'),
  idle_timeout_seconds: seconds()
    .default(60)
    .describe('Seconds between bytes once the answer has begun.'),
  max_queue_depth: count(1_000_000)
    .optional()
    .describe(
      'Requests in flight to this upstream from one replica, or to each of its endpoints; above it the upstream is full.',
    ),
  max_connections: count(100_000)
    .optional()
    .describe('Connections of one replica to this upstream, or to each of its endpoints.'),
  api_key: text()
    .optional()
    .describe('Credential as ${env:NAME}, ${secret:NAME/KEY} or ${file:PATH}; never a literal.'),
  headers: headers().optional().describe('Headers added to every request to this upstream.'),
  region: text().optional().describe('Cloud region, where the provider has one.'),
  api_version: text().optional().describe('API version, where the provider has one.'),
  deployment: text().optional().describe('Deployment name, where the provider has one.'),
  project: text().optional().describe('Project or organisation, where the provider has one.'),
  context_window: count()
    .optional()
    .describe(
      "Tokens that prompt and answer may hold together. Default: what the runtime's models tell, or the hosted model has.",
    ),
  native: z
    .array(z.enum(NATIVE_APIS))
    .max(16)
    .optional()
    .describe(
      "Clients' APIs that the upstream speaks itself: their bytes pass. Others are translated. " +
        'Default: responses for openai and azure_openai.',
    ),
  allow: z
    .array(z.enum(EXTRAS))
    .max(EXTRAS.length)
    .optional()
    .describe(
      "Extras that clients may ask for beside the model's tokens: they cost extra, or name what the account keeps. " +
        'Default: none.',
    ),
  tokenizer_revision: text()
    .optional()
    .describe(
      'Pins the tokenizer to the served model revision; an upstream that serves another one is not asked.',
    ),
  tokenizer_autodetect: z
    .boolean()
    .optional()
    .describe('Ask the upstream for its revision at start.'),
  tokenizer: Tokenizer.optional().describe(
    'How prompt tokens are counted; default by provider and model.',
  ),
  embeddings: Embeddings.optional().describe(
    'Vectors of upstreams in a route compare only where these are the same.',
  ),
  queue_metrics: QueueMetrics.optional().describe('Queue gauges for least_queue.'),
  health_check: HealthCheck.optional().describe('Active health probes.'),
  cold_start: ColdStart.optional().describe(
    'Hold requests while nothing listens at the endpoint, as with a model scaled to zero. Absent: they fail.',
  ),
  circuit_breaker: CircuitBreaker.optional().describe(
    'When failing attempts take the upstream out.',
  ),
  tls: Tls.optional().describe('Overrides the global tls for this upstream.'),
})
