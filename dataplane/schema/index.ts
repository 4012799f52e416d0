/** The whole document: one schema for the file, the resource, the JSON schema and the docs. */
import { z } from 'zod'
import { Auth } from './auth.ts'
import { Context, Guardrail, Retrieval, VectorStore } from './auxiliaries.ts'
import { count, headers, name, seconds, text, url } from './fields.ts'
import { FurtherLimit } from './further-limits.ts'
import { ApiKey, TAGS_MAX } from './keys.ts'
import { Budget, Pricing, RateLimits, Tenant } from './limits.ts'
import { Listener } from './listener.ts'
import { Aliases, DeprecatedAliases, Route, Slo } from './routes.ts'
import { Tls, Upstream } from './upstreams.ts'

export const API_VERSION = 'inference.gw/v1'
export const KIND = 'GatewayConfig'

const Alerts = z.strictObject({
  webhook_url: url().optional().describe('URL that gets the alerts of budgets and objectives.'),
  headers: headers().optional().describe('Headers sent with the alerts.'),
})

/** The kinds of data that a collector can get. */
export const SIGNALS = ['traces', 'metrics', 'logs'] as const
export type Signal = (typeof SIGNALS)[number]

const Telemetry = z.strictObject({
  otlp_endpoint: url()
    .optional()
    .describe(
      'OpenTelemetry collector, over HTTP: http://host:4318; /v1/traces, /v1/metrics or /v1/logs is appended.',
    ),
  otlp_signals: z
    .array(z.enum(SIGNALS))
    .max(3)
    .default(['traces'])
    .describe('Data for the collector: traces, metrics (as at /metrics), logs (as on stdout).'),
  otlp_protocol: z
    .enum(['http/protobuf', 'http/json'])
    .default('http/protobuf')
    .describe('Encoding of the batches.'),
  otlp_compression: z
    .enum(['none', 'gzip'])
    .default('none')
    .describe('Compression of the batches; gzip costs CPU.'),
  otlp_metrics_seconds: seconds(3600)
    .default(60)
    .describe('Seconds between two exports of the metrics.'),
  otlp_headers: headers().optional().describe('Headers sent to the collector.'),
  otlp_timeout_ms: count(60_000)
    .default(10_000)
    .describe('Deadline for one batch in milliseconds.'),
  sample_ratio: z
    .number()
    .min(0)
    .max(1)
    .default(0.01)
    .describe(
      'Share of traces to keep if the client has not decided; errors and slow requests are always kept.',
    ),
  slow_ms: count(86_400_000)
    .default(10_000)
    .describe('Requests that take this many milliseconds or more are always kept as traces.'),
  service_name: name().default('gw').describe('service.name of the exported data.'),
  trace_ring: z
    .int()
    .min(0)
    .max(1_000_000)
    .default(2000)
    .describe('Decision traces kept in memory.'),
  access_log: z.boolean().default(true).describe('One JSON line a request.'),
})

export const TELEMETRY_DEFAULTS = Telemetry.parse({})

const UsageSinks = z.strictObject({
  file: z
    .strictObject({
      path: text().describe('File that events are appended to; relative to this file.'),
      max_bytes: count(1_099_511_627_776)
        .default(67_108_864)
        .describe('Size in bytes at which the file is renamed to path.1.'),
      keep: count(1_000).default(10).describe('Number of full segments to keep.'),
    })
    .optional()
    .describe('Events as lines of JSON.'),
  webhook: z
    .strictObject({
      webhook_url: url().describe('URL that gets batches of CloudEvents.'),
      headers: headers().optional().describe('Headers sent with the batches.'),
      signing_key: text()
        .optional()
        .describe('Key of the HMAC-SHA256 of the body in X-Gw-Signature, as a reference.'),
      timeout_ms: count(60_000).default(10_000).describe('Deadline for one batch in milliseconds.'),
    })
    .optional()
    .describe('Batches of up to 100 events.'),
  otlp: z
    .strictObject({
      otlp_endpoint: url()
        .optional()
        .describe(
          "Collector of log records; /v1/logs is appended. Default: telemetry's otlp_endpoint, with its headers.",
        ),
      otlp_headers: headers().optional().describe('Headers sent to the collector.'),
    })
    .optional()
    .describe('Events as log records of OpenTelemetry.'),
})

const headerName = () =>
  z
    .string()
    .min(1)
    .max(128)
    .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'must be the name of a header')

const TagHeader = z.strictObject({
  header: headerName().describe('Name of the header, such as cf-aig-metadata.'),
  tag: name()
    .optional()
    .describe('Tag whose value is the first entry of a list that names no tag, as in a,b.'),
})

export type TagHeader = z.output<typeof TagHeader>

const Usage = z.strictObject({
  tags: z
    .array(name())
    .max(TAGS_MAX)
    .default([])
    .describe(
      'Names of tags, such as team, that a key, X-Gw-Tags or metadata of the request may set; usage is counted by tag.',
    ),
  required_tags: z
    .array(name())
    .max(TAGS_MAX)
    .default([])
    .describe('Tags without which a request gets 400, before it costs anything; some of tags.'),
  tag_headers: z
    .array(TagHeader)
    .max(TAGS_MAX)
    .default([])
    .describe(
      'Headers of other gateways that set tags: a JSON object, or a list of NAME:VALUE or NAME=VALUE. X-Gw-Tags wins.',
    ),
  in_answers: z
    .boolean()
    .default(false)
    .describe('true: the last usage event of a stream also states the cost of the request.'),
  end_user_header: headerName()
    .optional()
    .describe(
      'Header that names the end user, for limits of each user and usage events; without it user, ' +
        'safety_identifier or metadata.user_id of the body does. X-Gw-User if end_user is set.',
    ),
  end_user: z
    .enum(['off', 'hash', 'plain'])
    .default('off')
    .describe(
      'End users in usage events, never in rows or metrics: hash is the beginning of their SHA-256, plain their name.',
    ),
  sinks: UsageSinks.optional().describe(
    'Where usage events are sent: one for each attempt that used tokens, with an id that is the same in repeats.',
  ),
})

export const GatewaySection = z.strictObject({
  gateway: Listener.prefault({}).describe('Listeners, and the bounds of every request.'),
  upstreams: z.array(Upstream).min(1).max(1024).describe('Model servers and hosted APIs.'),
  routes: z.array(Route).min(1).max(1024).describe('Names clients send in `model`.'),
  aliases: Aliases.default({}).describe(
    'Model name to route name. A name that ends with * matches every name with that prefix; exact names win, then the longest.',
  ),
  deprecated_aliases: DeprecatedAliases.default({}).describe(
    'When aliases end, by alias; the same as deprecated in the value of the alias.',
  ),
  api_keys: z.array(ApiKey).max(100_000).default([]).describe('Keys that may call, as hashes.'),
  api_keys_file: text().optional().describe('File with more keys, reloaded on change.'),
  auth: Auth.prefault({}).describe(
    'Callers without a key: tokens of issuers, certificates of clients.',
  ),
  tenants: z
    .array(Tenant)
    .max(10_000)
    .default([])
    .describe('Tenants whose requests may go only to upstreams with certain labels.'),
  rate_limits: RateLimits.optional().describe(
    'Request, token and concurrency limits by tenant; 120 / 30 / 16 for each if absent.',
  ),
  budgets: z
    .array(Budget)
    .max(10_000)
    .default([])
    .describe('Token and money budgets by tenant, group of tenants, or key.'),
  limits: z
    .array(FurtherLimit)
    .max(10_000)
    .default([])
    .describe('Further limits by tenant, key, route, model, operation or tag.'),
  pricing: Pricing.optional().describe('Prices of tokens.'),
  tls: Tls.optional().describe('TLS settings of the connections to upstreams.'),
  http_proxy: url().optional().describe('Egress proxy.'),
  no_proxy: z
    .array(text())
    .max(1024)
    .default([])
    .describe('Hosts, .suffixes, addresses or CIDRs that bypass the proxy.'),
  context: Context.optional().describe('How retrieved context is assembled.'),
  vector_stores: z
    .array(VectorStore)
    .max(64)
    .default([])
    .describe('Stores that retrieval searches.'),
  retrieval: z
    .array(Retrieval)
    .max(64)
    .default([])
    .describe('Searches for passages that a prompt gets as context.'),
  guardrails: z
    .array(Guardrail)
    .max(64)
    .default([])
    .describe('Sidecars that judge requests and answers.'),
  slo: Slo.optional().describe('Objective for the time to first token.'),
  alerts: Alerts.optional().describe('Where alerts are sent, besides log and metric.'),
  state_dir: text()
    .optional()
    .describe(
      'Folder where a stand-alone gateway keeps its budgets across restarts; relative to this file.',
    ),
  usage: Usage.prefault({}).describe('How usage is counted.'),
  telemetry: Telemetry.prefault({}).describe('Log and traces.'),
})

const Metadata = z.looseObject({
  name: name().optional(),
  namespace: name().optional(),
})

export const GatewayConfig = z.strictObject({
  apiVersion: z.literal(API_VERSION).describe('API group and version.'),
  kind: z.literal(KIND).describe('Always GatewayConfig.'),
  metadata: Metadata.optional().describe('Kubernetes metadata; optional in a file.'),
  spec: z
    .looseObject({})
    .optional()
    .describe('Kubernetes shape of the data plane; has no effect outside a cluster.'),
  gw: GatewaySection.describe('The configuration of the gateway.'),
  status: z.looseObject({}).optional().describe('Written by the operator.'),
})

export type Configuration = z.output<typeof GatewayConfig>
export type Section = z.output<typeof GatewaySection>
export type UpstreamSection = Section['upstreams'][number]
export type RouteSection = Section['routes'][number]
export type DeprecationSection = NonNullable<RouteSection['deprecated']>
export type ShadowSection = NonNullable<RouteSection['shadow']>
export type RolloutSection = NonNullable<RouteSection['rollout']>
