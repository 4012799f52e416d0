/** A gateway with everything that calls other services, in each combination that differs in its stages. */
import { type Front, startFront } from '../../helpers/fake-upstream.ts'
import { PLENTY } from '../../helpers/gateway-process.ts'

interface Features {
  readonly strategy?: string
  readonly guardrails?: readonly string[]
  readonly retrieval?: readonly string[]
  readonly [more: string]: unknown
}

/** The gateway leaves a service that keeps failing alone for a while, so there are some of each. */
const COPIES = [0, 1, 2, 3]
const TIMEOUT_MS = 300

const SHADOW = { upstream: 'shadow', percent: 100, tenant: 'shadow' }
const EMBEDDING = { upstream: 'vectors', model: 'v' }
const MEANING = {
  strategy: 'semantic',
  semantic: {
    ...{ easy: 'up', hard: 'other', classifier: 'embedding' },
    embedding: { ...EMBEDDING, exemplars: { easy: ['sun'], hard: ['rain'] } },
  },
}

const FEATURES: Readonly<Record<string, Features>> = {
  plain: {},
  input: { guardrails: ['input'] },
  output: { guardrails: ['output'] },
  both: { guardrails: ['both'], shadow: SHADOW },
  parallel: { guardrails: ['parallel', 'output'] },
  allowing: { guardrails: ['allowing', 'parallel'], retrieval: ['skipped'] },
  retrieval: { guardrails: ['output'], retrieval: ['needed'] },
  meaning: { ...MEANING, guardrails: ['parallel'] },
  all: {
    ...MEANING,
    ...{ guardrails: ['both', 'parallel'], retrieval: ['needed'] },
    ...{ shadow: SHADOW, verify: true, trace: { keep_texts: true } },
  },
  copied: { shadow: { ...SHADOW, keep_texts: true }, verify: true },
  repeated: { strategy: 'primary_with_fallback', fallback: ['other'], guardrails: ['output'] },
}

const GUARDRAILS: Readonly<Record<string, object>> = {
  input: { stage: 'input', redact: true },
  output: { stage: 'output', redact: true },
  both: { stage: 'both', redact: true },
  parallel: { stage: 'input', parallel: true },
  allowing: { stage: 'both', on_error: 'allow' },
}

const routes = COPIES.flatMap((copy) =>
  Object.entries(FEATURES).map(([name, { guardrails = [], retrieval = [], ...more }]) => ({
    ...{ name: `${name}-${copy}`, strategy: 'single' },
    ...('semantic' in more ? {} : { primary: 'up' }),
    ...more,
    guardrails: guardrails.map((one) => `${one}-${copy}`),
    retrieval: retrieval.map((one) => `${one}-${copy}`),
  })),
)

export const ROUTES: readonly string[] = routes.map(({ name }) => name)

/** `services`: the address of all services. */
export async function startTried(services: string): Promise<Front> {
  const upstream = (name: string, place: string) => ({
    ...{ name, endpoint: `${services}/${place}`, context_window: 100_000 },
    ...{ timeout_seconds: 1, idle_timeout_seconds: 1 },
  })
  const store = {
    ...{ provider: 'qdrant', endpoint: `${services}/store`, collection: 'c' },
    ...{ tenant_field: 'tenant', timeout_ms: TIMEOUT_MS, embedding: EMBEDDING },
  }
  return await startFront({
    gateway: { request_timeout_seconds: 2, sse: { heartbeat_seconds: 1 } },
    upstreams: [
      upstream('up', 'model'),
      upstream('other', 'model'),
      upstream('vectors', 'vectors'),
      upstream('shadow', 'shadow'),
    ],
    routes,
    guardrails: COPIES.flatMap((copy) =>
      Object.entries(GUARDRAILS).map(([name, more]) => ({
        ...{ name: `${name}-${copy}`, endpoint: `${services}/sidecar`, timeout_ms: TIMEOUT_MS },
        ...more,
      })),
    ),
    vector_stores: COPIES.map((copy) => ({ ...store, name: `store-${copy}` })),
    retrieval: COPIES.flatMap((copy) => [
      { name: `needed-${copy}`, store: `store-${copy}` },
      { name: `skipped-${copy}`, store: `store-${copy}`, on_error: 'skip' },
    ]),
    rate_limits: { default: PLENTY },
    budgets: [{ tenant: '*', tokens_per_day: 1_000_000_000 }],
    usage: { sinks: { webhook: { webhook_url: `${services}/sink`, timeout_ms: TIMEOUT_MS } } },
    telemetry: {
      ...{ otlp_endpoint: `${services}/sink`, otlp_signals: ['traces', 'logs'] },
      ...{ sample_ratio: 1, otlp_timeout_ms: TIMEOUT_MS },
    },
  })
}

const GAUGES = /^gw_(requests_in_flight|streams_open|upstream_in_flight|upstream_waiting)\b/

/** The gauges and limits in which the gateway still holds something. */
export async function heldBy(front: Front): Promise<readonly string[]> {
  const series = [...(await front.series())]
  const held = series.filter(([name, value]) => GAUGES.test(name) && value !== 0)
  const { concurrent_requests, tokens_per_day } = await front.admin('/limits/acme')
  return [
    ...held.map(([name]) => name),
    ...(concurrent_requests.used === 0 ? [] : ['concurrent_requests']),
    ...(tokens_per_day.reserved === 0 ? [] : ['tokens_per_day']),
  ]
}
