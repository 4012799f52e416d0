/** The measured gateway: its configuration and its start. */
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import '../helpers/runtime-folder.ts'
import { MEASURED_CORE, type Process, startProcess, untilReady } from './processes.ts'
import type { BenchRedis } from './redis.ts'

/** The key and the route that the load generator uses, for every target alike. */
export const KEY = 'gw_bench_k1_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG'
export const ROUTE = 'bench'
/** A route whose upstream also serves Anthropic's messages. */
export const NATIVE = 'native'

/** Every request is counted against these, and none is refused. */
export const PLENTY = {
  requests_per_minute: 100_000_000,
  burst: 100_000_000,
  concurrent_requests: 1_000_000,
}

/**
 * Each entry is a column of the table. The result of its function joins the `gw` section of the configuration, so that
 * limits and budgets can be measured next to the bare gateway.
 */
export const VARIANTS: Readonly<Record<string, (redis: BenchRedis) => object>> = {
  gw: () => ({ rate_limits: { default: PLENTY } }),
  governed: () => governed(),
  'governed, counted exactly': () => governed(COUNTED),
  'governed, Redis': ({ urls }) => ({ ...governed(), ...shared(urls.tcp) }),
  'governed, Redis TLS': ({ urls, caFile }) => ({
    ...governed(),
    ...shared(urls.tls),
    tls: { ca_bundle_path: caFile },
  }),
  'governed, Redis socket': ({ urls }) => ({ ...governed(), ...shared(urls.socket) }),
  'governed, 10,000 tenants': () => ({ ...governed(), ...crowd(TENANTS) }),
}

const TENANTS = 10_000
const RICH = { tokens_per_day: 1e12, spend_per_month_usd: 8e6, alert_thresholds: [0.5, 0.8, 0.95] }

/** A hosted model with a published encoding: a budget needs the exact tokens of its prompts if they matter. */
const COUNTED = 'gpt-4o-mini'
const ESTIMATED = 'bench-model'

/** Rate, concurrency and both budgets, at a price. */
export function governed(model = ESTIMATED) {
  return {
    rate_limits: { default: PLENTY },
    budgets: [{ tenant: 't1', ...RICH }],
    pricing: [{ model, input: 1, output: 2 }],
  }
}

interface Priced {
  readonly pricing?: readonly { readonly model: string }[]
}

/** The upstream has the model that the settings price. */
function upstreamOf({ pricing = [] }: Priced) {
  return pricing[0]?.model === COUNTED
    ? { provider: 'openai', model: COUNTED, context_window: 128_000 }
    : { provider: 'vllm', model: ESTIMATED, context_window: 32_768 }
}

/** Over all replicas. The gateway tolerates delays of a busy machine, because a refusal would end the run. */
function shared(url: string) {
  return {
    rate_limits: { default: PLENTY, backend: 'redis', redis: { url, timeout_ms: 5_000 } },
  }
}

/** The key of a tenant of a crowd. */
export function keyOf(tenant: string): string {
  return tenant === 't1' ? KEY : KEY.replace('_k1_', `_${tenant}_`)
}

/** The sending tenant, among many with a key, limits and a budget each. */
export function crowd(count: number) {
  const names = Array.from({ length: count }, (_, index) => `t${index + 1}`)
  return {
    rate_limits: { default: PLENTY, tenants: names.map((tenant) => ({ tenant, ...PLENTY })) },
    budgets: names.map((tenant) => ({ tenant, ...RICH })),
    api_keys: names.map((tenant) => record(tenant, keyOf(tenant))),
  }
}

export function record(tenant: string, key: string, id = `k-${tenant}`) {
  const hash = createHash('sha256').update(key).digest('hex')
  return { id, tenant, hash: `sha256:${hash}`, routes: ['*'] }
}

export interface GatewayOptions {
  readonly name: string
  readonly main: string
  readonly root: string
  readonly directory: string
  readonly port: number
  readonly metricsPort: number
  readonly adminPort: number
  readonly upstreamPort: number
  readonly settings: object
  /** Whether there is a second upstream and route, which also serve Anthropic's messages. */
  readonly hasNative?: boolean
  /** Absent: that of the measured process. */
  readonly core?: string
  /** Passed to Node itself. */
  readonly flags?: readonly string[]
}

export interface StartedGateway extends Process {
  /** Time from its start until it was ready, to 50 ms. */
  readonly startMs: number
}

/** Output goes to a file as in production: the access log is part of the cost. */
export async function startGateway(options: GatewayOptions): Promise<StartedGateway> {
  mkdirSync(options.directory)
  const file = join(options.directory, 'gateway.yaml')
  writeFileSync(file, JSON.stringify(configuration(options), null, 2)) // JSON is YAML as well.
  const startedAt = performance.now()
  const started = startProcess({
    name: options.name,
    core: options.core ?? MEASURED_CORE,
    program: join(options.root, 'node_modules/.bin/node'),
    arguments: [...(options.flags ?? []), options.main, '--config', file],
    outputFile: join(options.directory, 'output.log'),
    directory: options.root,
  })
  await untilReady(started, `http://127.0.0.1:${options.port}/readyz`)
  return { ...started, startMs: performance.now() - startedAt }
}

function configuration(options: GatewayOptions): object {
  const endpoint = `http://127.0.0.1:${options.upstreamPort}`
  const upstream = { ...upstreamOf(options.settings), endpoint }
  const native = options.hasNative
    ? {
        upstreams: [{ ...upstream, name: NATIVE, native: ['messages'] }],
        routes: [{ name: NATIVE, strategy: 'single', primary: NATIVE }],
      }
    : { upstreams: [], routes: [] }
  return {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayConfig',
    gw: {
      gateway: {
        listen_address: '127.0.0.1',
        listen_port: options.port,
        metrics_port: options.metricsPort,
        admin_port: options.adminPort,
      },
      upstreams: [{ ...upstream, name: 'up' }, ...native.upstreams],
      routes: [{ name: ROUTE, strategy: 'single', primary: 'up' }, ...native.routes],
      api_keys: [record('t1', KEY)],
      ...options.settings,
    },
  }
}
