/** Defaults that depend on provider, strategy or tenant, so that the schema cannot state them. */
import { compileRules } from '../../accounts/rules.ts'
import { knownWindow } from '../../providers/facts-of-models.ts'
import { PROVIDER_FACTS } from '../../providers/index.ts'
import { keepaliveSeconds, listenAddress, type RunMode } from '../../schema/constants.ts'
import {
  GatewaySection,
  type RouteSection,
  type Section,
  type UpstreamSection,
} from '../../schema/index.ts'
import { CircuitBreaker, HealthCheck } from '../../schema/upstreams.ts'

type LimitFields = NonNullable<NonNullable<Section['rate_limits']>['default']>

/** Adds all defaults without a change of the meaning. */
export function effectiveSection(section: Section, place: RunMode): Section {
  const { api_keys } = section
  // Parses again to get the fields in the order of the schema; keys are left out, because they may be many and lack no default.
  const parsed = GatewaySection.parse({
    ...section,
    api_keys: [],
    gateway: {
      ...section.gateway,
      listen_address: listenAddress(section.gateway, place),
      keepalive_seconds: keepaliveSeconds(section.gateway, place),
    },
    upstreams: section.upstreams.map(effectiveUpstream),
    routes: section.routes.map(effectiveRoute),
    rate_limits: effectiveLimits(section),
    auth: effectiveAuth(section),
  })
  return { ...parsed, api_keys }
}

/** Hosted APIs are probed only where a health check is written. */
function effectiveUpstream(upstream: UpstreamSection): UpstreamSection {
  const { health_check, circuit_breaker = CircuitBreaker.parse({}), endpoints = 'url' } = upstream
  const { healthPath: usualPath } = PROVIDER_FACTS[upstream.provider]
  const window = knownWindow(upstream)
  const known = window === undefined ? {} : { context_window: window }
  const whole = { ...upstream, ...known, endpoints, circuit_breaker }
  if (health_check === undefined && usualPath === undefined) return whole
  const path = health_check?.path ?? usualPath ?? '/health'
  const settings = health_check ?? HealthCheck.parse({})
  return { ...whole, health_check: { ...settings, path } }
}

/** Callers without a list may use every route. */
function effectiveAuth({ auth }: Section): Section['auth'] {
  const all: ['*'] = ['*']
  return {
    jwt: auth.jwt.map((one) => (one.routes_from === undefined ? { routes: all, ...one } : one)),
    certificates: auth.certificates.map((one) => ({ routes: all, ...one })),
  }
}

/** With `overflow`, only the named reasons spill. */
function effectiveRoute(route: RouteSection): RouteSection {
  if (route.strategy !== 'primary_with_fallback' && route.fallback.length === 0) return route
  const { overflow } = route
  const otherwise = overflow === undefined ? 'fallback' : 'none'
  const unsaid = {
    on_queue_saturated: otherwise,
    on_upstream_error: otherwise,
    on_timeout: otherwise,
    on_slo_breach: 'none',
  } as const
  return { ...route, overflow: { ...unsaid, ...overflow } }
}

function effectiveLimits(section: Section): Section['rate_limits'] {
  const { rate_limits } = section
  const { default: whole, tenants = [], ...others } = rate_limits ?? { backend: 'memory' as const }
  const rules = compileRules(section)
  const said = (tenant: string | undefined, written: LimitFields | undefined) => {
    // No tenant has the empty name: it stands for all tenants without a rule.
    const rule = rules.of(tenant ?? '')
    return {
      ...written,
      priority: written?.priority ?? whole?.priority ?? ('normal' as const),
      requests_per_minute: rule.requestsPerMinute,
      burst: rule.burst,
      concurrent_requests: rule.concurrentRequests,
      ...(rule.tokensPerMinute !== undefined && { tokens_per_minute: rule.tokensPerMinute }),
    }
  }
  return {
    default: said(undefined, whole),
    tenants: tenants.map((rule) => ({ ...said(rule.tenant, rule), tenant: rule.tenant })),
    ...others,
  }
}
