/** `gw` for Kubernetes: how its lists merge, which nodes have two forms, and rules in CEL. */

import { PROVIDER_SPELLINGS, providerNamed } from '../dataplane/config/document/canonical.ts'
import type { Tree } from '../dataplane/config/document/tree.ts'
import { isRecord } from '../dataplane/json/values.ts'
import { PROVIDER_FACTS, PROVIDER_NAMES } from '../dataplane/providers/index.ts'
import { PARAMETERS_MAX } from '../dataplane/schema/capabilities.ts'
import { STRATEGY_NAMES } from '../dataplane/schema/constants.ts'
import { GatewaySection } from '../dataplane/schema/index.ts'
import { listMap, type Rule, rules } from './fields.ts'
import { makeStructural } from './structural.ts'

/** More would not fit into the object; use GatewayKeys for further keys. */
const KEYS_MAX = 5000

export function makeGatewaySection(): Tree {
  const section = makeStructural(GatewaySection, { references: true })
  for (const [path, dress] of Object.entries(DRESS)) {
    Object.assign(nodeAt(section, path), dress)
  }
  for (const path of TWO_FORMS) {
    const node = nodeAt(section, path)
    const { description } = node
    for (const member of Object.keys(node)) delete node[member]
    Object.assign(node, description === undefined ? {} : { description }, UNTYPED)
  }
  return section
}

/** The value may have several types, which a structural schema cannot express; the checks can. */
const UNTYPED = { 'x-kubernetes-preserve-unknown-fields': true }

const TWO_FORMS = [
  'upstreams[].model',
  'upstreams[].parameters.default{}',
  'upstreams[].parameters.force{}',
  'routes[].upstreams[]',
  'routes[].fallback[]',
  'aliases{}',
  'pricing',
  'no_proxy',
  'tls.min_version',
  'gateway.tls.min_version',
  'upstreams[].tls.min_version',
]

const LETTERS = "lowerAscii().replace('-', '').replace('_', '').replace('.', '').replace(' ', '')"
const selfHosted = PROVIDER_SPELLINGS.filter((letters) => {
  const name = providerNamed(letters)
  return name !== undefined && !PROVIDER_FACTS[name].hosted
})

const credential: Rule = {
  rule: "self.matches('^[$][{](env|secret):[^{}]+[}]$')",
  message:
    'must be one reference: ${secret:NAME/KEY} or ${env:NAME}; no file is read in a cluster, and no credential stands here. ' +
    'If it was one: did Flux substitute it? Annotate the resource kustomize.toolkit.fluxcd.io/substitute: disabled',
}

const upstreamRules: readonly Rule[] = [
  {
    rule: `has(self.endpoint) || has(self.pool) || !(self.provider.${LETTERS} in ${list(selfHosted)})`,
    message: 'endpoint is required: the provider is a self-hosted runtime; write http://host:port',
    fieldPath: '.endpoint',
  },
]

const provider: Rule = {
  rule: `self.contains('\${') || self.${LETTERS} in ${list(PROVIDER_SPELLINGS)}`,
  message: `must be one of: ${PROVIDER_NAMES.join(', ')}`,
}

const tokenizer: Rule = {
  rule: '[has(self.encoding), has(self.file), has(self.upstream) && self.upstream].filter(x, x).size() == 1',
  message: 'keep exactly one of encoding, file, upstream: true',
}

const STRATEGIES: readonly string[] = STRATEGY_NAMES
const without = (names: readonly string[]) => STRATEGIES.filter((name) => !names.includes(name))

const routeRules: readonly Rule[] = [
  {
    rule: "self.strategy != 'primary_with_fallback' || has(self.primary)",
    message: 'primary is required by the strategy primary_with_fallback',
    fieldPath: '.primary',
  },
  {
    rule: `!has(self.primary) || !(self.strategy in ${list(without(['single', 'primary_with_fallback']))})`,
    message: 'primary cannot take effect: only single and primary_with_fallback have one',
    fieldPath: '.primary',
  },
  {
    rule: `self.strategy.contains('\${') || (self.strategy == 'semantic') == has(self.semantic)`,
    message: 'the strategy semantic and the field semantic go together',
    fieldPath: '.semantic',
  },
]

const semantic: Rule = {
  rule: 'self.easy != self.hard',
  message: 'easy and hard are the same upstream: the classifier would decide nothing',
  fieldPath: '.hard',
}

const ports = ['listen_port', 'metrics_port', 'admin_port'] as const
const portOf: Record<(typeof ports)[number], string> = {
  listen_port: '(has(self.listen_port) ? self.listen_port : 8080)',
  metrics_port: '(has(self.metrics_port) ? self.metrics_port : 9090)',
  admin_port: '(has(self.admin_port) ? self.admin_port : 9091)',
}
const keepalive = '(has(self.keepalive_seconds) ? self.keepalive_seconds : 3700)'
const heartbeat =
  '(has(self.sse) && has(self.sse.heartbeat_seconds) ? self.sse.heartbeat_seconds : 15)'

const listenerRules: readonly Rule[] = [
  {
    rule:
      `${portOf.listen_port} != ${portOf.metrics_port} && ` +
      `${portOf.listen_port} != ${portOf.admin_port} && ${portOf.metrics_port} != ${portOf.admin_port}`,
    message: `${ports.join(', ')} must differ; absent they are 8080, 9090, 9091`,
  },
  {
    rule: `!has(self.load_balancer_idle_seconds) || ${keepalive} > self.load_balancer_idle_seconds`,
    message: 'keepalive_seconds must be above load_balancer_idle_seconds; the default is 3700',
    fieldPath: '.keepalive_seconds',
  },
  {
    rule: `!has(self.load_balancer_idle_seconds) || ${heartbeat} < self.load_balancer_idle_seconds`,
    message: 'sse.heartbeat_seconds must be below load_balancer_idle_seconds; the default is 15',
    fieldPath: '.sse.heartbeat_seconds',
  },
]

const cors: Rule = {
  rule:
    '!has(self.allow_credentials) || !self.allow_credentials || ' +
    "(has(self.allowed_origins) && size(self.allowed_origins) > 0 && !('*' in self.allowed_origins))",
  message: 'allow_credentials needs allowed_origins by name, without "*"',
  fieldPath: '.allow_credentials',
}

const listenerAuthority: Rule = {
  rule:
    "has(self.client_ca) ? (!has(self.client_auth) || self.client_auth != 'none') : " +
    "(!has(self.client_auth) || !(self.client_auth in ['request', 'require']))",
  message:
    'client_auth: request and require need client_ca, which has no effect with none; remove one of them',
  fieldPath: '.client_auth',
}

const rateLimitRules: readonly Rule[] = [
  {
    rule: "!has(self.backend) || self.backend != 'redis' || has(self.redis)",
    message: 'backend: redis needs redis.url, usually ${env:REDIS_URL}',
    fieldPath: '.redis',
  },
  {
    rule: "!has(self.redis) || (has(self.backend) && self.backend != 'memory')",
    message: 'redis cannot take effect: write backend: redis, or remove it',
    fieldPath: '.redis',
  },
]

const budgetRules: readonly Rule[] = [
  {
    rule: '(has(self.tenant) ? 1 : 0) + (has(self.tenants) ? 1 : 0) + (has(self.key) ? 1 : 0) == 1',
    message:
      'a budget is for one of tenant ("*": each), tenants (a list that shares it), key (an id)',
  },
  {
    rule: 'has(self.tokens_per_day) || has(self.spend_per_month_usd)',
    message: 'a budget needs tokens_per_day or spend_per_month_usd',
  },
  {
    rule: "!has(self.on_exceeded) || self.on_exceeded != 'downgrade' || has(self.downgrade_route)",
    message: 'on_exceeded: downgrade needs downgrade_route, the name of a route',
    fieldPath: '.downgrade_route',
  },
  {
    rule: "!has(self.downgrade_route) || (has(self.on_exceeded) && self.on_exceeded != 'reject')",
    message: 'downgrade_route cannot take effect: write on_exceeded: downgrade, or remove it',
    fieldPath: '.downgrade_route',
  },
  {
    rule: '!has(self.alert_thresholds) || self.alert_thresholds.isSorted()',
    message: 'alert_thresholds must rise; list each fraction once',
    fieldPath: '.alert_thresholds',
  },
]

const keyRules: readonly Rule[] = [
  {
    rule: '!has(self.reason) || has(self.revoked_at)',
    message: 'reason cannot take effect: the key is not revoked; add revoked_at',
    fieldPath: '.reason',
  },
  {
    rule: '!has(self.rotated_to) || self.rotated_to != self.id',
    message: 'rotated_to: a key cannot replace itself; name the id of the newer key',
    fieldPath: '.rotated_to',
  },
  {
    rule: "!has(self.prefix) || !self.prefix.matches('^gw_.+_[0-9A-Za-z]{49}$')",
    message: 'prefix is a whole key, which must never be stored; keep its first characters only',
    fieldPath: '.prefix',
  },
]

/** The value is in a Secret; the resource has only the reference. */
const PEM: Tree = { minLength: 0, maxLength: 1024, ...rules(credential) }

/** By path below `gw`; `[]` stands for the entries of a list. */
const DRESS: Readonly<Record<string, Tree>> = {
  '': { minProperties: 1 },
  gateway: rules(...listenerRules),
  'gateway.cors': rules(cors),
  'gateway.tls': rules(listenerAuthority),
  'gateway.tls.cert': PEM,
  'gateway.tls.key': PEM,
  'gateway.tls.client_ca': PEM,
  upstreams: listMap('name'),
  'upstreams[]': rules(...upstreamRules),
  'upstreams[].provider': rules(provider),
  // An empty value is left to the rule, which says why it is refused.
  'upstreams[].api_key': { minLength: 0, maxLength: 1024, ...rules(credential) },
  // A rule on each of 15 keys would cost the API server too much.
  'upstreams[].further_api_keys[]': { maxLength: 1024, pattern: '^[$][{](env|secret):[^{}]+[}]$' },
  'upstreams[].headers': { maxProperties: 64 },
  'upstreams[].caller_headers': { maxProperties: 64 },
  'upstreams[].context_windows': { maxProperties: 256 },
  'upstreams[].labels': { maxProperties: 64 },
  'upstreams[].parameters.default': { maxProperties: PARAMETERS_MAX },
  'upstreams[].parameters.force': { maxProperties: PARAMETERS_MAX },
  'tenants[].requires': { maxProperties: 64 },
  'upstreams[].fairness.weights': { maxProperties: 1024 },
  'upstreams[].fairness.guarantee': { maxProperties: 1024 },
  'routes[].fairness.weights': { maxProperties: 1024 },
  'routes[].fairness.guarantee': { maxProperties: 1024 },
  'upstreams[].tokenizer': rules(tokenizer),
  routes: listMap('name'),
  'routes[]': rules(...routeRules),
  'routes[].semantic': rules(semantic),
  aliases: { maxProperties: 4096 },
  deprecated_aliases: { maxProperties: 4096 },
  api_keys: { maxItems: KEYS_MAX, ...listMap('id') },
  'api_keys[]': rules(...keyRules),
  'api_keys[].hash': { maxLength: 253 },
  'api_keys[].scopes': { minItems: 1 },
  rate_limits: rules(...rateLimitRules),
  'rate_limits.default': { minProperties: 1 },
  'rate_limits.tenants': listMap('tenant'),
  'rate_limits.tenants[]': { minProperties: 2 },
  'budgets[]': rules(...budgetRules),
  'auth.jwt': listMap('name'),
  'auth.certificates': listMap('name'),
  'auth.jwt[].require': { maxProperties: 64 },
  'auth.jwt[].tenant.map': { maxProperties: 1024 },
  'auth.jwt[].routes_from.map': { maxProperties: 1024 },
  'auth.jwt[].jwks.keys[]': { maxProperties: 32 },
  vector_stores: listMap('name'),
  'vector_stores[].api_key': { minLength: 0, maxLength: 1024, ...rules(credential) },
  retrieval: listMap('name'),
  guardrails: listMap('name'),
  'guardrails[].headers': { maxProperties: 64 },
  'alerts.headers': { maxProperties: 64 },
  'telemetry.otlp_headers': { maxProperties: 64 },
  'usage.sinks.webhook.headers': { maxProperties: 64 },
  'usage.sinks.otlp.otlp_headers': { maxProperties: 64 },
}

function nodeAt(section: Tree, path: string): Tree {
  let node: unknown = section
  for (const part of path.split(/\.|(?=\[\]|\{\})/)) {
    if (part === '' || !isRecord(node)) continue
    if (part === '[]') node = node.items
    else if (part === '{}') node = node.additionalProperties
    else node = isRecord(node.properties) ? node.properties[part] : undefined
  }
  if (!isRecord(node)) throw new Error(`the section gw has nothing at ${path}`)
  return node
}

function list(names: readonly string[]): string {
  return `[${names.map((name) => `'${name}'`).join(', ')}]`
}
