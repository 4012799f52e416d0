/** The compiled configuration: everything a request looks up, resolved and indexed once. */
import { hash } from 'node:crypto'
import { compileFurther, type FurtherLimits } from '../accounts/further/limits.ts'
import { compileQuotas, type Quotas } from '../accounts/further/quotas.ts'
import { chargeOf, compilePrices, type PriceList } from '../accounts/price.ts'
import { compileRules, type TenantRules } from '../accounts/rules.ts'
import type { Amount } from '../accounts/store.ts'
import { type Keys, KeyTable, keyOf } from '../call/key-entry.ts'
import { capabilitiesOf, knownWindow } from '../providers/facts-of-models.ts'
import { PROVIDERS } from '../providers/index.ts'
import { FIRST_CONTENT_SECONDS, keepaliveSeconds, POOL_DOMAIN } from '../schema/constants.ts'
import type { Configuration, RouteSection, Section, UpstreamSection } from '../schema/index.ts'
import type { Strategy } from '../strategies/contract.ts'
import { STRATEGIES } from '../strategies/index.ts'
import type { Usage } from '../wire/inner-form.ts'
import type { Provider, ProviderSettings } from '../wire/provider.ts'
import type { AddressSettings } from '../wire/provider-facts.ts'
import { CertificateNames } from './certificate-names.ts'
import { ModelNames } from './routes/model-names.ts'
import { Placements } from './routes/placements.ts'
import { Sunsets } from './routes/sunsets.ts'
import { resolved, serverOf, splitEndpoint } from './upstreams/address.ts'

export interface UpstreamSettings extends ProviderSettings {
  readonly name: string
  /** Further secrets to mask: parts of the credential, and the configured one with which it was fetched. */
  readonly otherSecrets?: readonly string[]
  /** Why the upstream gets no requests; undefined if it may. */
  readonly disabled: string | undefined
  readonly provider: Provider
  /** Scheme, host and port; where the connection pool goes. */
  readonly origin: string
  /** The same for telemetry. */
  readonly server: { readonly address: string; readonly port: number }
  /** Path prefix without a trailing slash, ending in the API version where the provider has one. */
  readonly basePath: string
  readonly section: UpstreamSection
  /** Whether the name of the model shows that it makes vectors, not texts. */
  readonly isForVectors: boolean
  /** Until the first content of a stream. */
  readonly timeoutMs: number
  /** Until the head of an answer that is not a stream; Infinity: the request's own time is its only limit. */
  readonly wholeTimeoutMs: number
  readonly idleTimeoutMs: number
  readonly contextWindow: number | undefined
  /** Extra request headers, lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** Milliseconds since 1970 until which it gets no new requests. */
  readonly drainedUntilMs: number | undefined
  /** Path of probes; undefined if the upstream is not probed. */
  readonly healthPath: string | undefined
}

/** Margin for the 100 ms sweep of deadlines and for the delivery of an answer. */
const SILENCE_MARGIN_MS = 250

const FOR_VECTORS = /embed/i

export interface RouteMember {
  readonly upstream: UpstreamSettings
  readonly weight: number
}

export interface Route {
  readonly name: string
  readonly section: RouteSection
  readonly strategy: Strategy
  readonly members: readonly RouteMember[]
  /** The models of its upstreams. */
  readonly models: readonly string[]
  /** Timeout of a request, the smaller of the route's and the gateway's. */
  readonly timeoutMs: number
  /** The same for an answer that is not a stream, which sends nothing to the load balancer before its end. */
  readonly silenceMs: number
  /** Bound of all attempts of one request. */
  readonly attemptsMax: number
}

/** The limits of tenants, and the prices of models. */
export interface Limits {
  readonly rules: TenantRules
  /** Those of `limits[]`; absent if there are none. */
  readonly further: FurtherLimits | undefined
  /** Those of `limits[]` that are for upstreams; absent if there are none. */
  readonly quotas: Quotas | undefined
  readonly prices: PriceList
  /** Where requests are served while a budget is spent, by name. */
  readonly downgrades: ReadonlyMap<string, Route>
  chargeOf(charges: readonly Charge[]): Amount
}

interface Charge {
  readonly attempt: { readonly model: string }
  readonly usage: Usage
}

export interface Snapshot {
  /** SHA-256 of the configuration as written, hex. */
  readonly hash: string
  readonly configuration: Configuration
  readonly section: Section
  readonly upstreams: ReadonlyMap<string, UpstreamSettings>
  readonly routes: ReadonlyMap<string, Route>
  /** Route by every name a client may send: routes first, then aliases. */
  readonly models: ModelNames<Route>
  /** Absent if no tenant requires labels of upstreams. */
  readonly placements: Placements | undefined
  /** Absent if no name is deprecated. */
  readonly sunsets: Sunsets | undefined
  /** By lower-case hex SHA-256 of the whole key. */
  readonly keys: Keys
  /** Callers by the certificate that they show. */
  readonly certificates: CertificateNames
  readonly limits: Limits
  /** How long an idle connection of a client is kept. */
  readonly keepaliveMs: number
}

/** Facts of a pod besides the delivered configuration. */
export interface Delivered {
  /** SHA-256 of the user's text, hex: the same in every pod, although their secrets may differ. */
  readonly hash: string
  /** The keys of a separate document. They change in place: a revocation waits for no configuration. */
  readonly keys: Keys
  /** Upstreams that cannot be used, and why. */
  readonly disabled: ReadonlyMap<string, string>
}

/** Compiles a checked configuration; throws only for a mistake of the checks. */
export function compile(configuration: Configuration, delivered?: Delivered): Snapshot {
  const section = configuration.gw
  const upstreams = new Map(
    section.upstreams.map((entry) => [
      entry.name,
      upstreamOf(entry, delivered?.disabled.get(entry.name)),
    ]),
  )
  const routes = new Map(
    section.routes.map((entry) => [entry.name, routeOf(entry, section, upstreams)]),
  )
  const aliases = Object.entries(section.aliases).map(
    ([alias, name]) => [alias, known(routes, name)] as const,
  )
  return Object.freeze({
    hash: delivered?.hash ?? hash('sha256', JSON.stringify(configuration.gw)),
    configuration,
    section,
    upstreams,
    routes,
    models: new ModelNames([...routes, ...aliases]),
    placements: Placements.of(section),
    sunsets: Sunsets.of(section),
    certificates: new CertificateNames(section.auth.certificates),
    limits: limitsOf(section, routes),
    keepaliveMs: keepaliveSeconds(section.gateway, delivered === undefined ? 'file' : 'pod') * 1000,
    keys:
      delivered?.keys ??
      KeyTable.of(
        section.api_keys.map((record) => [record.hash.slice('sha256:'.length), keyOf(record)]),
      ),
  })
}

/** Every tenant has limits: what a file leaves out is 120 / 30 / 16. */
function limitsOf(section: Section, routes: ReadonlyMap<string, Route>): Limits {
  const prices = compilePrices(section.pricing)
  const downgrades = new Map<string, Route>()
  const budgets = [...section.budgets, ...section.limits.flatMap(({ budget }) => budget ?? [])]
  for (const { on_exceeded, downgrade_route } of budgets) {
    if (on_exceeded !== 'downgrade' || downgrade_route === undefined) continue
    downgrades.set(downgrade_route, known(routes, downgrade_route))
  }
  return {
    rules: compileRules(section),
    further: compileFurther(section.limits),
    quotas: compileQuotas(section.limits),
    prices,
    downgrades,
    chargeOf: (charges) =>
      chargeOf(
        charges.map(({ attempt, usage }) => ({ model: attempt.model, usage })),
        prices,
      ),
  }
}

function upstreamOf(section: UpstreamSection, disabled: string | undefined): UpstreamSettings {
  const provider = known(PROVIDERS, section.provider)
  const address = addressOf(section)
  const endpoint =
    section.endpoint ?? placeOf(section.pool) ?? resolved(provider.defaultEndpoint, address) ?? ''
  const { origin, basePath } = splitEndpoint(endpoint, provider, address)
  const probed = section.health_check !== undefined || provider.healthPath !== undefined
  return Object.freeze({
    name: section.name,
    disabled,
    provider,
    origin,
    server: serverOf(origin),
    basePath,
    section,
    isForVectors: provider.operations.embeddings !== undefined && FOR_VECTORS.test(section.model),
    model: section.model,
    capabilities: capabilitiesOf(section),
    inputType: section.embeddings?.input_type,
    credential: section.api_key ?? '',
    ...address,
    timeoutMs: (section.timeout_seconds ?? FIRST_CONTENT_SECONDS) * 1000,
    wholeTimeoutMs: (section.timeout_seconds ?? Number.POSITIVE_INFINITY) * 1000,
    idleTimeoutMs: section.idle_timeout_seconds * 1000,
    contextWindow: knownWindow(section),
    drainedUntilMs:
      section.drained_until === undefined ? undefined : Date.parse(section.drained_until),
    native: nativeOf(section, provider),
    allow: section.allow,
    headers: lowerCaseNames(section.headers ?? {}),
    healthPath:
      probed && disabled === undefined
        ? (section.health_check?.path ?? provider.healthPath ?? '/health')
        : undefined,
  })
}

/** Host name for messages and the Host header. */
function placeOf(pool: UpstreamSection['pool']): string | undefined {
  if (pool === undefined) return undefined
  const { name, namespace } = pool
  return `http://${namespace === undefined ? name : `${name}.${namespace}`}${POOL_DOMAIN}`
}

function routeOf(
  section: RouteSection,
  whole: Section,
  upstreams: ReadonlyMap<string, UpstreamSettings>,
): Route {
  const strategy = known(STRATEGIES_BY_NAME, section.strategy)
  const members = strategy.members(section).map((name) => {
    const upstream = known(upstreams, name)
    const listed = section.upstreams.find((entry) => entry.name === name)
    return { upstream, weight: listed?.weight ?? upstream.section.weight ?? 1 }
  })
  const ceiling = whole.gateway.request_timeout_seconds
  const timeoutMs = Math.min(section.timeout_seconds ?? ceiling, ceiling) * 1000
  return Object.freeze({
    name: section.name,
    section,
    strategy,
    members,
    models: [...new Set(members.map(({ upstream }) => upstream.model))],
    timeoutMs,
    silenceMs: Math.min(timeoutMs, silenceMsBefore(whole.gateway.load_balancer_idle_seconds)),
    attemptsMax: section.retry?.max_attempts ?? 1 + section.fallback.length,
  })
}

/** A little less than the load balancer waits, so that the client gets a 504 and not a closed connection. */
function silenceMsBefore(idleSeconds: number | undefined): number {
  if (idleSeconds === undefined) return Number.POSITIVE_INFINITY
  const idleMs = idleSeconds * 1000
  return idleMs - Math.min(SILENCE_MARGIN_MS, idleMs / 20)
}

function addressOf(section: UpstreamSection): AddressSettings {
  const { api_version: apiVersion, deployment, region, project } = section
  return { apiVersion, deployment, region, project }
}

/** The names of the wires; undefined if there are none. */
function nativeOf(
  section: UpstreamSection,
  { natives, nativeDefault, operations }: Provider,
): readonly string[] | undefined {
  const { native, capabilities } = section
  const apis = native ?? capabilities?.wires ?? nativeDefault?.(addressOf(section)) ?? []
  if (natives === undefined || apis.length === 0) return undefined
  const known = operations.chat?.natives ?? []
  return known.filter(({ api }) => apis.includes(api)).map(({ wire }) => wire)
}

const STRATEGIES_BY_NAME = new Map(Object.entries(STRATEGIES))

function known<V>(map: ReadonlyMap<string, V>, name: string): V {
  const value = map.get(name)
  if (value === undefined) throw new Error(`"${name}" passed the checks but does not exist`)
  return value
}

function lowerCaseNames(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
}
