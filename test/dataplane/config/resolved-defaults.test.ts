/** `config show --resolved` shows every optional setting, unless it has no effect while it is absent. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { parse } from 'yaml'
import { z } from 'zod'
import { printResolved } from '../../../dataplane/config/shown/resolved.ts'
import { isRecord, type Json, listBelow, valueBelow } from '../../../dataplane/json/values.ts'
import { GatewaySection } from '../../../dataplane/schema/index.ts'
import { Certificates } from '../../helpers/certificates.ts'
import { aDocument, load } from './documents.ts'

/** Absent, these do not exist: no limit, no credential, no name, no such feature. */
const NOTHING = `
gateway.tls gateway.tls.client_ca gateway.tls.client_auth gateway.load_balancer_idle_seconds
upstreams[].models upstreams[].list_models upstreams[].context_windows upstreams[].pool upstreams[].pool.namespace upstreams[].cache_salt upstreams[].capabilities
upstreams[].capabilities.reasoning upstreams[].capabilities.efforts upstreams[].capabilities.thinking
upstreams[].capabilities.thinking_tokens upstreams[].capabilities.thinking_member upstreams[].capabilities.output_tokens
upstreams[].capabilities.tool_name_length upstreams[].capabilities.call_id_length upstreams[].capabilities.chat_template upstreams[].capabilities.wires
upstreams[].caller_headers upstreams[].prefer_zone upstreams[].cache
upstreams[].balance_header upstreams[].labels upstreams[].further_api_keys upstreams[].parameters upstreams[].parameters.default upstreams[].parameters.force upstreams[].drained_until upstreams[].weight upstreams[].max_queue_depth upstreams[].api_key upstreams[].headers
upstreams[].region upstreams[].api_version upstreams[].deployment upstreams[].project upstreams[].tokenizer_revision
upstreams[].tokenizer_autodetect upstreams[].tokenizer.encoding upstreams[].tokenizer.file upstreams[].tokenizer.upstream
upstreams[].embeddings upstreams[].embeddings.dimensions upstreams[].cold_start upstreams[].tls
upstreams[].fairness upstreams[].fairness.max_reported_queue routes[].fairness routes[].fairness.max_reported_queue
upstreams[].allow upstreams[].tls.ca_bundle_path upstreams[].tls.client_cert_path upstreams[].tls.client_key_path
routes[].primary routes[].deprecated routes[].rollout.back_on.ttft_p95 routes[].rollout.back_on.cost routes[].rollout.back_on.finish_length routes[].shadow routes[].rollout routes[].max_tokens_default routes[].semantic routes[].semantic.embedding routes[].slo routes[].trace
api_keys[].prefix api_keys[].tags api_keys[].expires_at api_keys[].revoked_at api_keys[].reason api_keys[].rotated_to
api_keys_file auth.jwt[].jwks.url auth.jwt[].jwks.file auth.jwt[].jwks.keys auth.jwt[].jwks.kubernetes
auth.jwt[].tenant.name auth.jwt[].tenant.claim auth.jwt[].tenant.map auth.jwt[].routes_from auth.jwt[].routes_from.map
rate_limits.default.tokens_per_minute rate_limits.tenants[].tokens_per_minute rate_limits.redis
budgets[].tenant budgets[].tenants budgets[].name budgets[].key budgets[].tokens_per_day budgets[].spend_per_month_usd
budgets[].downgrade_route pricing pricing.models[].search pricing.models[].tiers pricing.models[].source pricing.models[].as_of
pricing.infra_cost_per_hour_usd tenants[].may_match_none
tls tls.ca_bundle_path tls.client_cert_path tls.client_key_path http_proxy context context.reserve_completion_tokens
vector_stores[].api_key vector_stores[].embedding vector_stores[].tenant_field vector_stores[].vector_field
retrieval[].max_context_tokens guardrails[].headers slo alerts alerts.webhook_url alerts.headers state_dir
usage.sinks usage.sinks.file usage.sinks.webhook usage.sinks.webhook.headers usage.sinks.webhook.signing_key
usage.sinks.otlp usage.sinks.otlp.otlp_headers telemetry.otlp_endpoint telemetry.otlp_headers
auth.jwt[].end_user limits[].budget limits[].budget.downgrade_route limits[].budget.raise limits[].budget.raise.by
limits[].budget.raise.tokens limits[].budget.raise.usd limits[].budget.tokens limits[].budget.usd
limits[].concurrent_requests limits[].for.each limits[].for.key limits[].for.model limits[].for.operation limits[].for.route
limits[].for.tag limits[].for.tenant limits[].for.tenants limits[].for.upstream limits[].input_tokens_per_minute limits[].output_tokens_per_minute
limits[].requests_per_minute limits[].tokens_per_minute usage.end_user_header usage.tag_headers[].tag routes[].deprecated.until
routes[].deprecated.successor
`

/** Absent, these follow from another setting, from the provider or from measurements; their descriptions say how. */
const FOLLOWS = `
gateway.admin_port gateway.tls.min_version upstreams[].balance upstreams[].max_connections upstreams[].native
upstreams[].tokenizer upstreams[].embeddings.model upstreams[].embeddings.input_type upstreams[].queue_metrics
upstreams[].tls.min_version tls.min_version routes[].cache routes[].upstreams[].weight routes[].retry routes[].semantic.embedding.model
pricing.models[].cached_input pricing.models[].cache_write pricing.models[].cache_write_1h pricing.models[].reasoning_output
pricing.models[].tiers[].input pricing.models[].tiers[].output pricing.models[].tiers[].cached_input
pricing.models[].tiers[].cache_write pricing.models[].tiers[].cache_write_1h pricing.models[].tiers[].reasoning_output
vector_stores[].embedding.model retrieval[].store retrieval[].text_field usage.sinks.otlp.otlp_endpoint
limits[].budget.time_zone limits[].burst
`

/** Written, they would mean something else: a comment has them. */
const COMMENTS: Readonly<Record<string, RegExp>> = {
  'upstreams[].timeout_seconds': /# timeout_seconds: 30 for a stream/,
  'upstreams[].endpoint': /# endpoint: https:\/\/api\.openai\.com\/v1, that of openai/,
  'routes[].timeout_seconds': /# timeout_seconds: that of gateway\.request_timeout_seconds/,
  'routes[].retry.max_attempts': /# attempts: 2, each upstream once/,
}

const certificates = new Certificates()
after(() => certificates.remove())
const { cert, key } = certificates.authority()

const SCHEMA = z.toJSONSchema(GatewaySection, { io: 'input', unrepresentable: 'any' })

/** The paths of the optional settings for which the schema states no default. */
function unsaid(schema: unknown, path: string, found = new Set<string>()): Set<string> {
  if (!isRecord(schema)) return found
  for (const one of [...listBelow(schema, 'anyOf'), ...listBelow(schema, 'oneOf')])
    unsaid(one, path, found)
  unsaid(schema.items, `${path}[]`, found)
  const required = listBelow(schema, 'required')
  for (const [name, member] of Object.entries((schema.properties as Json | undefined) ?? {})) {
    const place = path === '' ? name : `${path}.${name}`
    const hasDefault = valueBelow(member, 'default') !== undefined
    if (!required.includes(name) && !hasDefault) found.add(place)
    unsaid(member, place, found)
  }
  return found
}

const SPARSE = aDocument(`  upstreams:
    - {name: own, provider: vllm, endpoint: "http://a", model: m}
    - {name: hosted, provider: openai, model: gpt-4o, api_key: "\${env:K}"}
  routes:
    - {name: all, strategy: primary_with_fallback, primary: own, fallback: [hosted]}
    - {name: again, strategy: single, primary: own, retry: {}}
  auth:
    jwt: [{name: idp, issuer: "https://i", audiences: [gw], jwks: {url: "https://i/k"}, tenant: {name: t}}]
    certificates: [{name: mesh, san: [a.example], tenant: t}]
  gateway: {tls: {cert: "\${env:C}", key: "\${env:P}", client_ca: "\${env:C}"}}
  rate_limits: {tenants: [{tenant: t, priority: normal}]}
  budgets: [{tenant: t, tokens_per_day: 5}]
`)

const words = (text: string) => text.split(/\s+/).filter((word) => word !== '')

/** The values at a path, in all entries of its lists. */
function valuesAt(tree: unknown, path: string): unknown[] {
  return path
    .split('.')
    .flatMap((part) => part.split('[]').flatMap((name, index) => (index === 0 ? [name] : ['[]'])))
    .reduce<unknown[]>(
      (found, part) =>
        found.flatMap((one) =>
          part === '[]' ? (Array.isArray(one) ? one : []) : [valueBelow(one, part)],
        ),
      [tree],
    )
}

test('an optional setting is shown, or is listed here with the reason why not', () => {
  const loaded = load(SPARSE, { env: { K: 'k', C: cert, P: key } })
  const { configuration } = loaded
  assert.ok(configuration, JSON.stringify(loaded.problems))
  const printed = printResolved(loaded)
  const { gw } = parse(printed)
  const excused = new Set([...words(NOTHING), ...words(FOLLOWS), ...Object.keys(COMMENTS)])
  const all = unsaid(SCHEMA, '')
  for (const path of all) {
    if (excused.has(path)) continue
    assert.ok(
      valuesAt(gw, path).some((value) => value !== undefined),
      `${path} is active and not shown`,
    )
  }
  for (const [path, shown] of Object.entries(COMMENTS)) assert.match(printed, shown, path)
  for (const path of excused) assert.ok(all.has(path), `${path} is not a setting any more`)
})

test('the defaults that are pinned are those that are shown', () => {
  const { gw } = parse(printResolved(load(aDocument())))
  assert.partialDeepStrictEqual(gw, {
    gateway: {
      listen_address: '127.0.0.1',
      listen_port: 8080,
      metrics_port: 9090,
      max_request_bytes: 8_388_608,
      request_timeout_seconds: 600,
      keepalive_seconds: 75,
      drain_timeout_seconds: 30,
      sse: { heartbeat_seconds: 15 },
    },
    upstreams: [
      {
        connect_timeout_seconds: 2,
        idle_timeout_seconds: 60,
        endpoints: 'url',
        health_check: {
          path: '/health',
          interval_seconds: 10,
          timeout_seconds: 2,
          healthy_threshold: 2,
          unhealthy_threshold: 3,
        },
        circuit_breaker: { failure_threshold: 5, open_duration_seconds: 30, half_open_probes: 1 },
      },
      {},
    ],
    rate_limits: { default: { requests_per_minute: 120, burst: 30, concurrent_requests: 16 } },
  })
  const redis = aDocument(
    '  rate_limits: {backend: redis, redis: {url: "redis://h"}}\n  budgets: [{tenant: t, tokens_per_day: 5}]',
  )
  const { gw: shared } = parse(printResolved(load(redis)))
  assert.partialDeepStrictEqual(shared.rate_limits.redis, { timeout_ms: 50, fail_open: false })
  assert.partialDeepStrictEqual(shared.budgets[0], { on_exceeded: 'reject' })
})
