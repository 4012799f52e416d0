/** `gw.upstreams[]`: the model servers and hosted APIs that answer requests. */
import { z } from 'zod'
import { PROVIDER_NAMES } from '../providers/index.ts'
import { EXTRAS } from '../wire/extras.ts'
import { ENCODINGS } from '../wire/models/encodings.ts'
import { NATIVE_APIS } from '../wire/provider-facts.ts'
import { Capabilities, Parameters } from './capabilities.ts'
import { ColdStart, Fairness } from './fairness.ts'
import { count, headers, labels, name, seconds, text, time, tlsVersion, url } from './fields.ts'

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
    .describe('Seconds that an open breaker refuses requests.'),
  half_open_probes: count(100)
    .default(1)
    .describe('Trial requests that must succeed before the breaker closes again.'),
})

const Tokenizer = z.strictObject({
  encoding: z
    .enum(ENCODINGS)
    .optional()
    .describe(
      'A bundled encoding; prompts are counted exactly if a budget or a context window needs it.',
    ),
  file: text()
    .optional()
    .describe('Path of a tokenizer.json, to count prompts exactly as its model does.'),
  upstream: z
    .boolean()
    .optional()
    .describe("Count with the runtime's own tokenizer, over its API."),
})

const Embeddings = z.strictObject({
  model: text()
    .optional()
    .describe(
      'Common name of the embedding model if upstreams name it differently. Default: model.',
    ),
  dimensions: count(65_536)
    .optional()
    .describe('Length of the vectors; answers with another length are refused.'),
  input_type: z
    .enum(['search_document', 'search_query', 'classification', 'clustering'])
    .optional()
    .describe('Purpose of the vectors, for an API that requires one. Default: search_document.'),
})

const QueueMetrics = z.strictObject({
  enabled: z
    .boolean()
    .default(true)
    .describe("Scrape the runtime's waiting and running gauges for least_queue."),
  interval_seconds: seconds(600).default(2).describe('Seconds between scrapes.'),
})

const ENDPOINTS = ['url', 'dns', 'pods', 'pool'] as const
const BALANCES = ['least', 'affinity'] as const

const label = () =>
  text().regex(/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/, 'must be a valid Kubernetes name')

const Pool = z.strictObject({
  name: label().describe('Name of the InferencePool.'),
  namespace: label()
    .optional()
    .describe('Namespace of the pool. Default: the namespace of the gateway.'),
})

/** Characters of names of models, and * for any of them. */
const modelPattern = () =>
  z
    .string()
    .min(1)
    .max(255)
    .regex(
      /^[A-Za-z0-9@*][A-Za-z0-9._:/@+~*-]*$/,
      'must hold only letters, digits and . _ : / @ + ~ - *',
    )

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
      'Where requests go. url: the endpoint itself. dns: each address of its host name, with separate connections. ' +
        'pods: each ready pod of the Service that the endpoint names, which needs the operator. pool: each ready pod of ' +
        'an InferencePool. Default: url.',
    ),
  pool: Pool.optional().describe('The InferencePool of endpoints: pool, which needs no endpoint.'),
  balance: z
    .enum(BALANCES)
    .optional()
    .describe(
      'How one of several endpoints is chosen. least: the less loaded of two. affinity: the same endpoint for all ' +
        'requests of a conversation. Default: least.',
    ),
  cache_salt: z
    .enum(['tenant'])
    .optional()
    .describe(
      'tenant: each tenant has a separate prefix cache in the runtime. Absent: all tenants share one.',
    ),
  cache: z
    .enum(['auto'])
    .optional()
    .describe(
      'auto: put cache marks into requests of clients that set none, so that the API reads repeated prompts from its ' +
        'cache; the cache of a route wins. Absent: add none.',
    ),
  caller_headers: headers()
    .optional()
    .describe('Headers that carry the tenant, the key (its id) or the route of each request.'),
  prefer_zone: z
    .boolean()
    .optional()
    .describe(
      "Prefer endpoints in the zone of the gateway's pod, unless their load is far above that of the others. " +
        'Default: false.',
    ),
  balance_header: text()
    .max(128)
    .optional()
    .describe(
      'Request header that identifies a conversation for balance: affinity. Default: x-session-id.',
    ),
  model: text().describe(
    'Model name that requests to this upstream carry. "*": the name that the client sends, after the prefix of its alias. ' +
      'A list of names and patterns: the same, for these models.',
  ),
  models: z
    .array(modelPattern())
    .min(1)
    .max(256)
    .optional()
    .describe(
      'The names and patterns that model: "*" takes. Absent: all. A list as model means the same.',
    ),
  list_models: z
    .boolean()
    .optional()
    .describe(
      'Whether GET /v1/models lists the models that the upstream lists, for model: "*". Default: false.',
    ),
  context_windows: z
    .record(modelPattern(), count())
    .optional()
    .describe(
      'The context_window of models by name or pattern, for model: "*". An exact name wins, then the longest pattern.',
    ),
  weight: z
    .number()
    .min(0)
    .max(1_000_000)
    .optional()
    .describe('Share under the weighted strategy.'),
  drained_until: time()
    .optional()
    .describe(
      'Day or time until which the upstream gets no new requests; running ones end. gw upstream drain writes it.',
    ),
  labels: labels()
    .optional()
    .describe('Labels such as {region: eu, class: on-prem}, which tenants may require.'),
  timeout_seconds: seconds()
    .optional()
    .describe(
      'Seconds from sending a request to the first content of a stream, or to the head of another answer. ' +
        'Absent: 30 for a stream; other answers have the whole timeout of the request.',
    ),
  connect_timeout_seconds: seconds(60)
    .default(2)
    .describe('Seconds to connect, as a part of timeout_seconds.'),
  idle_timeout_seconds: seconds()
    .default(60)
    .describe('Most seconds between two bytes of an answer that has begun.'),
  max_queue_depth: count(1_000_000)
    .optional()
    .describe(
      'Most requests in flight from one replica to this upstream, or to each of its endpoints; then the upstream is full.',
    ),
  max_connections: count(100_000)
    .optional()
    .describe('Most connections of one replica to this upstream, or to each of its endpoints.'),
  fairness: Fairness.optional().describe(
    'While the upstream is full, requests wait in one queue for each tenant and share it by weights. Absent: they get 503.',
  ),
  api_key: text()
    .optional()
    .describe(
      'Credential as ${env:NAME}, ${secret:NAME/KEY} or ${file:PATH}; never a literal. In a file also a list of several.',
    ),
  further_api_keys: z
    .array(text())
    .min(1)
    .max(15)
    .optional()
    .describe(
      'Further credentials of the same provider. Requests take them in turn, and one that is refused or out of quota rests.',
    ),
  headers: headers().optional().describe('Headers added to every request to this upstream.'),
  region: text().optional().describe('Cloud region, if the provider has one.'),
  api_version: text().optional().describe('API version, if the provider has one.'),
  deployment: text().optional().describe('Deployment name, if the provider has one.'),
  project: text().optional().describe('Project or organisation, if the provider has one.'),
  context_window: count()
    .optional()
    .describe(
      'Most tokens of prompt and answer together. Default: as the runtime reports, or as the hosted model is known to have.',
    ),
  capabilities: Capabilities.optional().describe(
    'Facts about the model that the gateway does not know, or knows otherwise. Default: the table of models.',
  ),
  parameters: Parameters.optional().describe(
    'Parameters of the model that the gateway sets, such as temperature or reasoning_effort.',
  ),
  native: z
    .array(z.enum(NATIVE_APIS))
    .max(16)
    .optional()
    .describe(
      'APIs of clients that the upstream supports itself: their requests pass unchanged. Others are translated. ' +
        'Default: responses for openai and azure_openai.',
    ),
  allow: z
    .array(z.enum(EXTRAS))
    .max(EXTRAS.length)
    .optional()
    .describe(
      'Extras that clients may use besides tokens: each costs extra, or refers to data that the account stores. ' +
        'Default: none.',
    ),
  tokenizer_revision: text()
    .optional()
    .describe(
      'Pins the tokenizer to the served model revision; an upstream that serves another one gets no requests.',
    ),
  tokenizer_autodetect: z
    .boolean()
    .optional()
    .describe('Ask the upstream for its revision at start.'),
  tokenizer: Tokenizer.optional().describe(
    'How prompt tokens are counted; default by provider and model.',
  ),
  embeddings: Embeddings.optional().describe(
    'Facts about the vectors, which must be the same for all upstreams of a route.',
  ),
  queue_metrics: QueueMetrics.optional().describe('Queue gauges for least_queue.'),
  health_check: HealthCheck.optional().describe('Active health probes.'),
  cold_start: ColdStart.optional().describe(
    'Hold requests while nothing listens at the endpoint, as with a model scaled to zero. Absent: the requests fail.',
  ),
  circuit_breaker: CircuitBreaker.optional().describe(
    'When failing attempts take the upstream out.',
  ),
  tls: Tls.optional().describe('Overrides the global tls for this upstream.'),
})
