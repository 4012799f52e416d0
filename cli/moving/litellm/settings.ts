/** LiteLLM's `litellm_settings`, `router_settings` and `general_settings`. */
import { hash } from 'node:crypto'
import type { Draft, Fields } from '../draft.ts'
import type { Field } from '../field.ts'
import { addSpend, windowOf } from '../limits.ts'
import { addFallback, putRetries, routeNamed } from '../routes.ts'
import { putCount, putSeconds } from '../upstream-parts.ts'
import { REASONS } from './reasons.ts'
import { putRedis } from './redis.ts'

export function putSettings(root: Field, draft: Draft): void {
  const litellm = root.at('litellm_settings')
  const router = root.at('router_settings')
  const general = root.at('general_settings')
  putReasons(root)
  putAliases(router.at('model_group_alias'), draft)
  putAliases(litellm.at('model_alias_map'), draft)
  for (const settings of [litellm, router]) {
    for (const name of ['fallbacks', 'context_window_fallbacks', 'content_policy_fallbacks'])
      putFallbacks(settings.at(name), draft)
    putDefaults(settings.at('default_fallbacks'), draft)
  }
  const retries = router.at('num_retries').exists
    ? router.at('num_retries')
    : litellm.at('num_retries')
  if (retries.exists) putRetries(retries, draft.routes)
  const timeout = router.at('timeout').exists ? router.at('timeout') : litellm.at('request_timeout')
  if (timeout.exists)
    for (const route of draft.routes) putSeconds(timeout, route, 'timeout_seconds')
  putDropping(litellm.at('drop_params'), draft)
  putBreakers(router, draft)
  putCallbacks(litellm, draft)
  putRedis(router, draft)
  putGlobalBudget(litellm, draft)
  putMasterKey(general.at('master_key'), draft)
  router.at('enable_pre_call_checks').changed('gw checks context windows before each attempt')
  const most = general.at('global_max_parallel_requests')
  if (most.exists) {
    const limit: Fields = { name: draft.names.limits.free('all-requests'), for: { tenant: '*' } }
    if (putCount(most, limit, 'concurrent_requests', { most: 1_000_000 })) draft.limits.push(limit)
  }
}

/** Settings whose reason is known. Later readers of the same field win. */
function putReasons(root: Field): void {
  for (const [path, reason] of Object.entries(REASONS)) {
    const field = root.at(...path.split('.'))
    if (field.exists) field.hasNoPlace(reason)
  }
}

function putAliases(field: Field, draft: Draft): void {
  for (const alias of field.members) {
    const target = alias.text === undefined ? alias.at('model') : alias
    const route = routeNamed(draft, target.text ?? '')
    if (route === undefined) {
      alias.hasNoPlace('no model_name is its target')
      continue
    }
    draft.aliases[alias.name] = route.name
    target.kept(draft.aliases, alias.name)
    alias.at('hidden').hasNoPlace('gw lists aliases to those who may use their route')
  }
}

/** `[{a: [b, c]}]`, or the same as one map. */
function putFallbacks(field: Field, draft: Draft): void {
  const pairs =
    field.items.length > 0 ? field.items.flatMap(({ members }) => members) : field.members
  for (const pair of pairs) {
    const route = routeNamed(draft, pair.name)
    if (route === undefined) pair.hasNoPlace('no model_name has this name')
    else putFallback(pair, route, { draft, isGeneral: field.name === 'fallbacks' })
  }
}

function putDefaults(field: Field, draft: Draft): void {
  for (const route of [...draft.routes])
    if (route.fallback === undefined) putFallback(field, route, { draft, isGeneral: true })
}

interface Putting {
  readonly draft: Draft
  readonly isGeneral: boolean
}

function putFallback(list: Field, route: Fields, { draft, isGeneral }: Putting): void {
  const found = list.items.flatMap((item) => {
    const other = routeNamed(draft, item.text ?? '')
    if (other === undefined) item.hasNoPlace('no model_name is its target')
    if (other === route) item.hasNoPlace('a route is no fallback of itself')
    return other === undefined || other === route ? [] : [{ item, other }]
  })
  if (found.length === 0) return
  const why = addFallback(
    route,
    found.map(({ other }) => other),
  )
  for (const { item } of found) {
    if (why !== undefined) item.hasNoPlace(why)
    else if (isGeneral) item.kept(route, 'fallback')
    else item.changed('for every failure, not this one alone', route, 'fallback')
  }
}

function putDropping(field: Field, { routes }: Draft): void {
  for (const route of routes) {
    if (field.flag === true) route.on_unsupported = 'drop'
    if (field.flag !== undefined)
      field.changed('on_unsupported of each route', route, 'on_unsupported')
  }
}

function putBreakers(router: Field, { upstreams }: Draft): void {
  const [fails, cooldown] = [router.at('allowed_fails'), router.at('cooldown_time')]
  if (!fails.exists && !cooldown.exists) return
  for (const upstream of upstreams) {
    const breaker: Fields = {}
    const isCounted =
      fails.exists &&
      putCount(fails, breaker, 'failure_threshold', { most: 10_000, note: 'failures in a row' })
    if (cooldown.exists) putSeconds(cooldown, breaker, 'open_duration_seconds', { most: 3600 })
    if (isCounted || breaker.open_duration_seconds !== undefined) upstream.circuit_breaker = breaker
  }
}

const TRACES = 'gw sends traces to a collector: set telemetry.otlp_endpoint'

function putCallbacks(litellm: Field, draft: Draft): void {
  for (const name of ['callbacks', 'success_callback', 'failure_callback', 'service_callback'])
    for (const item of litellm.at(name).items) {
      if (item.text === 'prometheus') item.changed('gw always serves /metrics at metrics_port')
      else if (item.text === 'otel' || item.text === 'opentelemetry') {
        draft.telemetry.otlp_endpoint = '${env:OTEL_EXPORTER_OTLP_ENDPOINT}'
        item.changed('the collector of the variable', draft.telemetry, 'otlp_endpoint')
      } else item.hasNoPlace(TRACES)
    }
}

function putGlobalBudget(litellm: Field, draft: Draft): void {
  const [budget, duration] = [litellm.at('max_budget'), litellm.at('budget_duration')]
  const usd = budget.number
  if (usd === undefined || usd <= 0) return
  const per = windowOf(duration.text)
  const priced = new Set(draft.pricing.map(({ model }) => model))
  const missing = draft.upstreams.find(({ model }) => !priced.has(model))
  if (per === undefined || missing !== undefined) {
    const why =
      per === undefined
        ? 'gw has no window of that length'
        : 'not every model of the file has a price'
    for (const field of [budget, duration]) field.hasNoPlace(why)
    return
  }
  const entry = addSpend(draft, 'all-spend', { selectors: { tenant: '*' }, usd, per })
  budget.kept(entry, 'usd')
  duration.changed(`per: ${per}`, entry, 'per')
}

/** Clients that use it as their key go on; it has no other rights. */
function putMasterKey(field: Field, draft: Draft): void {
  const key = field.text
  if (key === undefined || !key.startsWith('sk-')) return
  const record: Fields = {
    id: draft.names.keys.free('litellm-master'),
    tenant: 'litellm',
    hash: `sha256:${hash('sha256', key)}`,
    routes: ['*'],
  }
  draft.api_keys.push(record)
  field.changed('its hash: it calls models, and has no other rights', record, 'hash')
}
