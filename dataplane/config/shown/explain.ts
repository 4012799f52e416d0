/** A configuration in words: what happens to a request on each route. */
import { compilePrices, estimateOf } from '../../accounts/price.ts'
import { answerReserved } from '../../accounts/reserve.ts'
import { valueBelow } from '../../json/values.ts'
import { knownWindow } from '../../providers/facts-of-models.ts'
import { ANY_MODEL, FIRST_CONTENT_SECONDS } from '../../schema/constants.ts'
import type {
  Configuration,
  DeprecationSection,
  RouteSection,
  Section,
} from '../../schema/index.ts'
import { upstreamNamesOf } from '../routes/members.ts'
import {
  attemptsMax,
  explainAttempts,
  explainOrder,
  explainUnsupported,
} from './explain-attempts.ts'
import { explainCaches } from './explain-caches.ts'
import { explainFurther } from './explain-limits.ts'
import { explainModels } from './explain-models.ts'
import { explainNewer } from './explain-newer.ts'
import { explainParameters } from './explain-parameters.ts'
import { explainPlacements } from './explain-placements.ts'
import { explainTenants } from './explain-tenants.ts'

/** The traits of an operation that change what happens to a request. */
export interface OperationKind {
  /** A model generates an answer, also as a stream. */
  readonly isGenerated: boolean
  /** Passages are looked up for it. */
  readonly isConversation: boolean
}

const CHAT: OperationKind = { isGenerated: true, isConversation: true }

/** `only`: the name of the only route to explain. */
export function explain(configuration: Configuration, kind = CHAT, only?: string): string {
  const section = configuration.gw
  const pods = podsOf(configuration)
  const shown = section.routes.filter(({ name }) => only === undefined || name === only)
  return shown.map((route) => explainRoute(section, route, kind, pods)).join('\n\n')
}

/** Most pods at a time; undefined outside of a cluster. */
function podsOf({ spec }: Configuration): number | undefined {
  const counts = [valueBelow(spec, 'replicas'), valueBelow(spec, 'autoscaling', 'maxReplicas')]
  const known = counts.filter((count) => typeof count === 'number')
  return known.length === 0 ? undefined : Math.max(...known)
}

function explainRoute(
  section: Section,
  route: RouteSection,
  kind: OperationKind,
  pods: number | undefined,
): string {
  const lines = [
    ...explainNames(section, route),
    ...explainCallers(section, route),
    ...explainTenants(section, route),
    ...explainPlacements(section, route, upstreamNamesOf(route, section.routes)),
    ...explainFurther(section, route, {
      models: modelsOf(section, route),
      upstreams: upstreamNamesOf(route, section.routes),
    }),
    ...explainOrder(section, route, pods),
    ...explainNewer(route),
    ...explainAttempts(route, section.routes),
    ...explainUnsupported(route),
    ...explainCaches(section, route, upstreamNamesOf(route, section.routes)),
    ...explainModels(section.upstreams, upstreamNamesOf(route, section.routes)),
    ...explainParameters(section.upstreams, upstreamNamesOf(route, section.routes)),
    ...explainClocks(section, route, kind),
    ...explainWindow(section, route, kind),
    ...explainCost(section, route, kind),
    ...explainAuxiliaries(section, route, kind),
  ]
  return [`route ${route.name}`, ...lines.map((line) => `  ${line}`)].join('\n')
}

function explainNames(section: Section, route: RouteSection): string[] {
  const { aliases } = section
  const { name } = route
  const names = Object.keys(aliases).filter((alias) => aliases[alias] === name)
  const also = names.length === 0 ? 'no alias' : `or by alias ${names.join(', ')}`
  return [`reached by model: ${name}, ${also}`, ...explainEnds(section, route, names)]
}

function explainEnds(
  { deprecated_aliases }: Section,
  { name, deprecated }: RouteSection,
  aliases: readonly string[],
): string[] {
  return [
    [name, deprecated] as const,
    ...aliases.map((one) => [one, deprecated_aliases[one]] as const),
  ].flatMap(([ending, end]) => (end === undefined ? [] : [explainEnd(ending, end)]))
}

function explainEnd(name: string, { since, until, successor, then }: DeprecationSection): string {
  const use = successor === undefined ? '' : `; clients should use ${successor}`
  if (until === undefined) return `deprecated: ${name} since ${since}${use}`
  const after = then === 'redirect' ? `${successor} serves it` : 'requests get 404'
  return `deprecated: ${name} since ${since}${use}; from ${until} ${after}`
}

function explainCallers({ api_keys, api_keys_file }: Section, { name }: RouteSection): string[] {
  const callers = api_keys
    .filter((key) => key.routes.includes('*') || key.routes.includes(name))
    .filter((key) => key.scopes.includes('models:invoke'))
    .filter((key) => key.revoked_at === undefined && key.rotated_to === undefined)
    .map(({ id, tenant, expires_at }) => {
      const until = expires_at === undefined ? '' : `, until ${expires_at}`
      return `${id} (tenant ${tenant}${until})`
    })
  const others = 'any other key gets 401 if unknown, 403 if known'
  if (callers.length > 0) return [`who may call: ${summarize(callers)}; ${others}`]
  const source = api_keys_file === undefined ? '' : `, unless ${api_keys_file} holds some`
  return [`who may call: no client, because no key is permitted here${source}`]
}

const LISTED_MAX = 20

function summarize(names: readonly string[]): string {
  const rest = names.length - LISTED_MAX
  const shown = names.slice(0, LISTED_MAX).join(', ')
  return rest > 0 ? `${shown} and ${rest} more` : shown
}

function explainClocks(
  { gateway, upstreams, slo, routes }: Section,
  route: RouteSection,
  { isGenerated }: OperationKind,
): string[] {
  const limits = [
    { seconds: gateway.request_timeout_seconds, source: 'gateway.request_timeout_seconds' },
    ...(route.timeout_seconds === undefined
      ? []
      : [{ seconds: route.timeout_seconds, source: 'the route' }]),
  ]
  const whole = limits.reduce((least, one) => (one.seconds < least.seconds ? one : least))
  const silence = gateway.load_balancer_idle_seconds ?? Number.POSITIVE_INFINITY
  const objective = route.slo ?? slo
  const within = (absent: number, most: number) =>
    upstreamNamesOf(route, routes)
      .flatMap((name) => upstreams.find((one) => one.name === name) ?? [])
      .map(({ name, timeout_seconds = absent }) => `${name} ${Math.min(timeout_seconds, most)} s`)
      .join(', ')
  const quiet = Math.min(whole.seconds, silence)
  const then = attemptsMax(route, routes) === 1 ? 'then' : 'then the next attempt, else'
  const inAll = `time: at most ${whole.seconds} s in all, set by ${whole.source}`
  if (!isGenerated) return [inAll, `an answer within: ${within(whole.seconds, quiet)}; ${then} 504`]
  return [
    inAll,
    `first content of a stream within: ${within(FIRST_CONTENT_SECONDS, whole.seconds)}; ${then} 504`,
    `an answer that is not a stream within: ${within(whole.seconds, quiet)}`,
    ...(objective === undefined
      ? []
      : [
          `objective: 95 % of streams begin within ${objective.ttft_p95_ms} ms, over ` +
            `${objective.window_seconds} s; else an alert`,
        ]),
    `heartbeat: ": keepalive" every ${gateway.sse.heartbeat_seconds} s on a stream`,
  ]
}

function explainWindow(
  { upstreams, budgets, limits, routes }: Section,
  route: RouteSection,
  { isGenerated }: OperationKind,
): string[] {
  const names = upstreamNamesOf(route, routes)
  const windows = upstreams
    .filter(({ name }) => names.includes(name))
    .flatMap((upstream) => knownWindow(upstream) ?? [])
  const window = windows.length === 0 ? undefined : Math.max(...windows)
  const first =
    window === undefined
      ? 'context window: not known here; checked once a runtime tells it'
      : `context window: ${isGenerated ? 'prompt and max_tokens' : 'each text'} up to ${window} tokens, else 400`
  const isBudgeted = budgets.length > 0 || limits.some(({ budget }) => budget !== undefined)
  if (!isBudgeted || !isGenerated) return [first]
  return [first, explainAnswer(route, window ?? Number.POSITIVE_INFINITY)]
}

function explainAnswer({ max_tokens_default }: RouteSection, window: number): string {
  const sent =
    max_tokens_default === undefined
      ? `${answerReserved(window)} tokens are reserved for the answer, no limit is sent`
      : `max_tokens ${max_tokens_default} is sent`
  return `a client without a token limit: ${sent} where a budget applies`
}

/** The cost of a sample request at each upstream. */
const SAMPLE_TOKENS = 1000

function explainCost(
  { upstreams, pricing, routes }: Section,
  route: RouteSection,
  { isGenerated }: OperationKind,
): string[] {
  if (pricing === undefined) return []
  const prices = compilePrices(pricing)
  const costs = upstreamNamesOf(route, routes).map((name) => {
    const model = upstreams.find((one) => one.name === name)?.model ?? ''
    const price = prices.get(model)
    if (model === ANY_MODEL) return `${name} by model`
    if (price === undefined) return `${name} no price for ${model}`
    const { nanos } = estimateOf(SAMPLE_TOKENS, isGenerated ? SAMPLE_TOKENS : 0, price)
    return `${name} ${(nanos / 1e9).toFixed(9).replace(/\.?0+$/, '')} USD`
  })
  const answer = isGenerated ? ` and ${SAMPLE_TOKENS} answer` : ''
  return [`cost of ${SAMPLE_TOKENS} prompt${answer} tokens: ${costs.join(', ')}`]
}

function explainAuxiliaries(
  section: Section,
  { retrieval, guardrails }: RouteSection,
  { isConversation }: OperationKind,
): string[] {
  const searches = isConversation ? retrieval : []
  return [
    ...searches.flatMap((name) => explainRetrieval(section, name)),
    ...(guardrails.length === 0 ? [] : [`judged by guardrails: ${guardrails.join(', ')}`]),
  ]
}

function explainRetrieval({ retrieval, vector_stores }: Section, name: string): string[] {
  const one = retrieval.find((entry) => entry.name === name)
  if (one === undefined) return []
  const storeName = one.store ?? name
  const store = vector_stores.find((entry) => entry.name === storeName) ?? vector_stores[0]
  const whose =
    store?.tenant_field === undefined ? '' : `, those of the tenant by ${store.tenant_field}`
  const most = one.max_context_tokens
  const bound = most === undefined ? '' : `, at most ${most} tokens`
  const otherwise = one.on_error === 'skip' ? 'else it answers without' : 'else 503'
  const from = store === undefined ? '' : ` of ${store.name} (${store.provider})`
  return [`retrieval ${name}: up to ${one.top_k} passages${from}${whose}${bound}; ${otherwise}`]
}

function modelsOf({ upstreams, routes }: Section, route: RouteSection): string[] {
  const names = upstreamNamesOf(route, routes)
  return upstreams.filter(({ name }) => names.includes(name)).map(({ model }) => model)
}
