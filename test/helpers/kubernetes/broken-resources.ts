/** One mistake each, in an otherwise good GatewayConfig: its place, and who finds it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

type Tree = Record<string, unknown>

export interface Mistake {
  readonly name: string
  /** Dotted path from the top; numbers stand for entries of lists. */
  readonly at: string
  /** The new value; absent: the field is removed. */
  readonly to?: unknown
  /** Words of the API server's refusal. */
  readonly says: RegExp
}

export const GOOD = join(import.meta.dirname, '../../dataplane/config/specified.yaml')

export function aGatewayConfig(name: string): Tree {
  return { ...parse(readFileSync(GOOD, 'utf8')), metadata: { name } }
}

export function withMistake(name: string, { at, to }: Omit<Mistake, 'name' | 'says'>): Tree {
  const document = aGatewayConfig(name)
  const parts = at.split('.')
  const last = parts.pop() ?? ''
  let node: unknown = document
  for (const part of parts) {
    const parent = node as Tree // A list accepts its numbers as names too.
    parent[part] ??= {}
    node = parent[part]
  }
  const parent = node as Tree // As above.
  if (to === undefined) delete parent[last]
  else parent[last] = to
  return document
}

const key = { id: 'k', tenant: 't', hash: `sha256:${'b'.repeat(64)}`, routes: ['chat'] }

/** The API server refuses these: by form, by bounds, by unknown name, or by a rule. */
export const REFUSED_AT_APPLY: readonly Mistake[] = [
  { name: 'no section', at: 'gw', says: /gw: Required/ },
  { name: 'section of another type', at: 'gw', to: 'x', says: /gw in body must be of type object/ },
  { name: 'empty section', at: 'gw', to: {}, says: /gw.upstreams: Required/ },
  { name: 'unknown top field', at: 'gv', to: {}, says: /unknown field "gv"/ },
  { name: 'unknown section', at: 'gw.rutes', to: [], says: /unknown field "gw.rutes"/ },
  { name: 'unknown field', at: 'gw.upstreams.0.modle', to: 'x', says: /"gw.upstreams\[0\].modle"/ },
  { name: 'no upstreams', at: 'gw.upstreams', says: /gw.upstreams: Required/ },
  { name: 'empty upstreams', at: 'gw.upstreams', to: [], says: /gw.upstreams.*at least 1/ },
  { name: 'no routes', at: 'gw.routes', says: /gw.routes: Required/ },
  { name: 'upstream without a name', at: 'gw.upstreams.0.name', says: /upstreams\[0\].name/ },
  {
    name: 'upstream twice',
    at: 'gw.upstreams.1.name',
    to: 'local',
    says: /upstreams\[1\].*Duplicate/,
  },
  { name: 'route twice', at: 'gw.routes.1.name', to: 'chat', says: /routes\[1\].*Duplicate/ },
  { name: 'name with a space', at: 'gw.routes.0.name', to: 'a b', says: /routes\[0\].name/ },
  { name: 'empty name', at: 'gw.routes.0.name', to: '', says: /routes\[0\].name/ },
  {
    name: 'long name',
    at: 'gw.routes.0.name',
    to: 'x'.repeat(254),
    says: /routes\[0\].name.*253/s,
  },
  {
    name: 'unknown provider',
    at: 'gw.upstreams.0.provider',
    to: 'vlm',
    says: /provider.*must be one of: vllm/,
  },
  { name: 'no provider', at: 'gw.upstreams.0.provider', says: /upstreams\[0\].provider: Required/ },
  { name: 'no model', at: 'gw.upstreams.0.model', says: /upstreams\[0\].model: Required/ },
  {
    name: 'runtime without address',
    at: 'gw.upstreams.0.endpoint',
    says: /upstreams\[0\].endpoint:.*endpoint is required/,
  },
  {
    name: 'literal credential',
    at: 'gw.upstreams.1.api_key',
    to: 'sk-1',
    says: /api_key.*must be one reference/,
  },
  {
    name: 'credential beside text',
    at: 'gw.upstreams.1.api_key',
    to: 'a${env:B}',
    says: /api_key/,
  },
  {
    name: 'timeout of nothing',
    at: 'gw.upstreams.0.timeout_seconds',
    to: 0,
    says: /timeout_seconds.*greater/,
  },
  {
    name: 'text for a number',
    at: 'gw.upstreams.0.timeout_seconds',
    to: '30s',
    says: /timeout_seconds/,
  },
  {
    name: 'fraction for a count',
    at: 'gw.upstreams.0.max_queue_depth',
    to: 1.5,
    says: /max_queue_depth/,
  },
  { name: 'negative weight', at: 'gw.upstreams.0.weight', to: -1, says: /weight/ },
  {
    name: 'relative probe path',
    at: 'gw.upstreams.0.health_check.path',
    to: 'up',
    says: /health_check.path/,
  },
  {
    name: 'no breaker threshold',
    at: 'gw.upstreams.0.circuit_breaker.failure_threshold',
    to: 0,
    says: /failure_threshold/,
  },
  {
    name: 'two tokenizers',
    at: 'gw.upstreams.0.tokenizer',
    to: { encoding: 'a', upstream: true },
    says: /tokenizer.*exactly one/,
  },
  {
    name: 'unknown strategy',
    at: 'gw.routes.0.strategy',
    to: 'random',
    says: /strategy.*must be one of: single/,
  },
  { name: 'no strategy', at: 'gw.routes.0.strategy', says: /strategy: Required/ },
  {
    name: 'no primary',
    at: 'gw.routes.0.primary',
    says: /routes\[0\].primary:.*primary is required/,
  },
  {
    name: 'unused primary',
    at: 'gw.routes.1.primary',
    to: 'local',
    says: /primary cannot take effect/,
  },
  {
    name: 'semantic without sides',
    at: 'gw.routes.1.strategy',
    to: 'semantic',
    says: /semantic go together/,
  },
  {
    name: 'overflow to elsewhere',
    at: 'gw.routes.0.overflow.on_timeout',
    to: 'retry',
    says: /on_timeout.*fallback, none/,
  },
  {
    name: 'too many attempts',
    at: 'gw.routes.0.retry.max_attempts',
    to: 11,
    says: /max_attempts.*10/,
  },
  {
    name: 'hash of another form',
    at: 'gw.api_keys.0.hash',
    to: 'md5:1',
    says: /api_keys\[0\].hash/,
  },
  { name: 'key for no route', at: 'gw.api_keys.0.routes', to: [], says: /api_keys\[0\].routes/ },
  { name: 'key without routes', at: 'gw.api_keys.0.routes', says: /routes: Required/ },
  {
    name: 'unknown scope',
    at: 'gw.api_keys.0.scopes',
    to: ['admin'],
    says: /scopes\[0\].*models:invoke/,
  },
  { name: 'key twice', at: 'gw.api_keys', to: [key, key], says: /api_keys\[1\].*Duplicate/ },
  {
    name: 'whole key as prefix',
    at: 'gw.api_keys.0.prefix',
    to: `gw_live_x_${'A'.repeat(49)}`,
    says: /whole key/,
  },
  { name: 'reason without revocation', at: 'gw.api_keys.0.reason', to: 'lost', says: /revoked_at/ },
  {
    name: 'key that replaces itself',
    at: 'gw.api_keys.0.rotated_to',
    to: 'support',
    says: /cannot replace itself/,
  },
  {
    name: 'expiry that is no time',
    at: 'gw.api_keys.0.expires_at',
    to: 'soon',
    says: /expires_at/,
  },
  {
    name: 'redis not described',
    at: 'gw.rate_limits.redis',
    says: /backend: redis needs redis.url/,
  },
  {
    name: 'redis not used',
    at: 'gw.rate_limits.backend',
    to: 'memory',
    says: /redis cannot take effect/,
  },
  {
    name: 'rule that limits nothing',
    at: 'gw.rate_limits.default',
    to: {},
    says: /rate_limits.default/,
  },
  {
    name: 'limit of nothing',
    at: 'gw.rate_limits.default.requests_per_minute',
    to: 0,
    says: /requests_per_minute/,
  },
  {
    name: 'tenant limited twice',
    at: 'gw.rate_limits.tenants.1',
    to: { tenant: 'support', burst: 5 },
    says: /tenants\[1\].*Duplicate/,
  },
  {
    name: 'budget without a cap',
    at: 'gw.budgets.0',
    to: { tenant: 'a' },
    says: /tokens_per_day or spend_per_month_usd/,
  },
  {
    name: 'downgrade to nowhere',
    at: 'gw.budgets.0.downgrade_route',
    says: /needs downgrade_route/,
  },
  {
    name: 'downgrade never used',
    at: 'gw.budgets.0.on_exceeded',
    to: 'reject',
    says: /downgrade_route cannot/,
  },
  {
    name: 'free budget',
    at: 'gw.budgets.0.spend_per_month_usd',
    to: 0,
    says: /spend_per_month_usd/,
  },
  {
    name: 'threshold above all',
    at: 'gw.budgets.0.alert_thresholds',
    to: [1.5],
    says: /alert_thresholds\[0\]/,
  },
  {
    name: 'thresholds that fall',
    at: 'gw.budgets.0.alert_thresholds',
    to: [0.9, 0.5],
    says: /alert_thresholds:.*must rise/,
  },
  { name: 'two listeners on a port', at: 'gw.gateway.metrics_port', to: 8080, says: /must differ/ },
  {
    name: 'port out of range',
    at: 'gw.gateway.listen_port',
    to: 65_536,
    says: /listen_port.*65535/,
  },
  {
    name: 'late heartbeat',
    at: 'gw.gateway.load_balancer_idle_seconds',
    to: 15,
    says: /heartbeat_seconds must be below/,
  },
  {
    name: 'early close',
    at: 'gw.gateway.load_balancer_idle_seconds',
    to: 3700,
    says: /keepalive_seconds must be above/,
  },
  {
    name: 'credentials for anybody',
    at: 'gw.gateway.cors',
    to: { allowed_origins: ['*'], allow_credentials: true },
    says: /allow_credentials needs/,
  },
  { name: 'huge bodies', at: 'gw.gateway.max_request_bytes', to: 2e9, says: /max_request_bytes/ },
  {
    name: 'unknown field of the pods',
    at: 'spec.replica',
    to: 2,
    says: /unknown field "spec.replica"/,
  },
  { name: 'negative replicas', at: 'spec.replicas', to: -1, says: /spec.replicas/ },
  {
    name: 'autoscaling without an end',
    at: 'spec.autoscaling',
    to: { minReplicas: 2 },
    says: /maxReplicas is required/,
  },
  {
    name: 'autoscaling downwards',
    at: 'spec.autoscaling',
    to: { minReplicas: 3, maxReplicas: 2 },
    says: /must not be above/,
  },
  {
    name: 'autoscaling twice',
    at: 'spec.autoscaling',
    to: { mode: 'External', maxReplicas: 2 },
    says: /mode: External/,
  },
  {
    name: 'amount without a unit',
    at: 'spec.resources',
    to: { limits: { memory: '1 Gi' } },
    says: /spec.resources.limits.memory/,
  },
  {
    name: 'unknown service',
    at: 'spec.service',
    to: { type: 'ExternalName' },
    says: /spec.service.type/,
  },
  {
    name: 'two disruption bounds',
    at: 'spec.podDisruptionBudget',
    to: { minAvailable: 1, maxUnavailable: 1 },
    says: /not both/,
  },
  {
    name: 'share above all',
    at: 'spec.podDisruptionBudget',
    to: { minAvailable: '150%' },
    says: /such as 25%/,
  },
  {
    name: 'variable from nowhere',
    at: 'spec.env',
    to: [{ name: 'A', valueFrom: {} }],
    says: /exactly one of secretKeyRef/,
  },
  {
    name: 'variable twice',
    at: 'spec.env',
    to: [{ name: 'A' }, { name: 'A' }],
    says: /env\[1\].*Duplicate/,
  },
  {
    name: 'empty peer',
    at: 'spec.networkPolicy',
    to: { clients: [{}] },
    says: /needs podSelector/,
  },
  {
    name: 'keys of no namespace',
    at: 'spec.keys',
    to: { from: [{ namespaces: [], tenants: ['a'] }] },
    says: /namespaces/,
  },
]

/** Valid in a file, and refused in a cluster, where no file is read. */
export const REFUSED_IN_A_CLUSTER: readonly Mistake[] = [
  {
    name: 'credential from a file',
    at: 'gw.upstreams.0.api_key',
    to: '${file:/var/run/secrets/gw/others/key}',
    says: /must be one reference/,
  },
  {
    name: 'file in another text',
    at: 'gw.upstreams.0.endpoint',
    to: 'http://${file:/var/run/secrets/gw/others/key}:8000',
    says: /upstreams\[0\]\.endpoint.*must not validate/,
  },
]

/** These need a check of several places or of a node with two forms; the operator finds them. */
export const LEFT_TO_THE_OPERATOR: readonly Omit<Mistake, 'says'>[] = [
  { name: 'primary that does not exist', at: 'gw.routes.0.primary', to: 'lokal' },
  { name: 'primary as its fallback', at: 'gw.routes.0.fallback', to: ['local'] },
  { name: 'unused overflow', at: 'gw.routes.1.overflow', to: { on_timeout: 'fallback' } },
  { name: 'fallback that does not exist', at: 'gw.routes.0.fallback', to: ['hostd'] },
  { name: 'listed upstream that does not exist', at: 'gw.routes.1.upstreams', to: ['local', 'x'] },
  { name: 'entry that is no name', at: 'gw.routes.1.upstreams', to: ['local', 7] },
  { name: 'entry with an unknown field', at: 'gw.routes.2.upstreams', to: [{ nam: 'local' }] },
  { name: 'spreading over nothing', at: 'gw.routes.1.upstreams' },
  { name: 'single without an upstream', at: 'gw.routes.3.primary' },
  { name: 'alias to a list', at: 'gw.aliases.gpt-4o', to: ['chat'] },
  { name: 'alias to nowhere', at: 'gw.aliases.gpt-4o', to: 'chatt' },
  { name: 'alias named as a route', at: 'gw.aliases.chat', to: 'batch' },
  { name: 'key for an unknown route', at: 'gw.api_keys.0.routes', to: ['chatt'] },
  { name: 'key for all and one', at: 'gw.api_keys.0.routes', to: ['*', 'chat'] },
  { name: 'hash twice', at: 'gw.api_keys.1', to: { ...key, hash: `sha256:${'a'.repeat(64)}` } },
  { name: 'rotated to an unknown key', at: 'gw.api_keys.0.rotated_to', to: 'ghost' },
  { name: 'downgrade to an unknown route', at: 'gw.budgets.0.downgrade_route', to: 'bach' },
  { name: 'threshold twice', at: 'gw.budgets.0.alert_thresholds', to: [0.5, 0.5] },
  { name: 'spending without prices', at: 'gw.pricing' },
  { name: 'prices of another form', at: 'gw.pricing', to: 'free' },
  { name: 'price below nothing', at: 'gw.pricing', to: [{ model: 'm', input: -1, output: 1 }] },
  { name: 'TLS that does not exist', at: 'gw.tls.min_version', to: '1.1' },
  { name: 'endpoint that is no URL', at: 'gw.upstreams.0.endpoint', to: 'vllm:8000' },
  {
    name: 'endpoint in the link-local range',
    at: 'gw.upstreams.0.endpoint',
    to: 'http://169.254.169.254',
  },
  { name: 'malformed reference', at: 'gw.http_proxy', to: '${PROXY}' },
  { name: 'unused region', at: 'gw.upstreams.0.region', to: 'eu' },
  { name: 'redis of another protocol', at: 'gw.rate_limits.redis.url', to: 'http://redis' },
]
