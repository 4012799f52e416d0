/** Warnings about keys, limits and budgets, which are no reason to refuse. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aDocument, hashOf, load, type Row, testWarnings } from './documents.ts'

const ROWS: Row[] = [
  {
    name: 'labels that no upstream has, where that may be',
    yaml: '  tenants:\n    - {name: t, requires: {region: eu}, may_match_none: true} # here',
    path: 'gw.tenants[0].requires',
    says: 'no upstream has the labels region=eu',
    fix: 'get 403',
  },
  {
    name: 'no keys',
    yaml: '  api_keys: [] # here',
    path: 'gw.api_keys',
    says: 'no API keys',
    fix: 'gw keys create',
  },
  {
    name: 'an expired key',
    yaml: `  api_keys:\n    - {id: k, tenant: t, hash: "${hashOf('k')}", routes: [r], expires_at: "2026-11-20T23:59:59Z"} # here`,
    path: 'gw.api_keys[0].expires_at',
    says: 'expired on 2026-11-20T23:59:59Z',
    fix: 'replace',
  },
  {
    name: 'a password in the URL of Redis',
    yaml: '  rate_limits:\n    backend: redis\n    redis: {url: "redis://u:word@cache:6379"} # here',
    path: 'gw.rate_limits.redis.url',
    says: 'holds a password',
    fix: '${secret:NAME/KEY}',
  },
  {
    name: 'a password for sentinels',
    yaml: '  rate_limits:\n    backend: redis\n    redis: {url: "redis+sentinel://a/main?sentinel_password=word"} # here',
    path: 'gw.rate_limits.redis.url',
    says: 'holds a password',
    fix: 'replace the exposed password',
  },
  {
    name: 'a password in the URL of the proxy',
    yaml: '  http_proxy: http://u:word@p:3128 # here',
    path: 'gw.http_proxy',
    says: 'holds a password',
    fix: '${env:NAME}',
  },
  {
    name: 'budgets in memory',
    yaml: '  budgets: # here\n    - {tenant: t, tokens_per_day: 5}',
    path: 'gw.budgets',
    says: 'only in memory',
    fix: 'state_dir',
  },
  {
    name: 'a budget route without a token default',
    yaml: '  budgets: [{tenant: t, tokens_per_day: 5}]\n  routes:\n    - {name: r, strategy: single, primary: a} # here',
    path: 'gw.routes[0]',
    says: '16384 tokens (at most half of the context window) are reserved and no limit is sent upstream, so a longer answer may overshoot the budget',
    fix: 'Add max_tokens_default',
  },
  {
    name: 'a budget over several routes without a default of tokens, once',
    yaml: '  budgets: [{tenant: t, tokens_per_day: 5}]\n  routes:\n    - {name: r, strategy: single, primary: a} # here\n    - {name: s, strategy: single, primary: b}',
    path: 'gw.routes[0]',
    says: 'a budget applies to "r", "s", which have no max_tokens_default',
    fix: 'Add max_tokens_default',
  },
  {
    name: 'a tenant that no key belongs to',
    yaml: '  budgets: [{tenant: tt, tokens_per_day: 5}] # here',
    path: 'gw.budgets[0].tenant',
    says: 'did you mean "t"?',
    fix: 'Correct the name',
  },
  {
    name: 'a low priority that nothing can make yield',
    yaml: `  upstreams:
    - {name: a, provider: vllm, endpoint: "http://a:8000", model: m, context_window: 8192}
    - {name: b, provider: vllm, endpoint: "http://b:8000", model: m, context_window: 8192}
  rate_limits: {tenants: [{tenant: t, priority: low}]} # here`,
    path: 'gw.rate_limits.tenants[0].priority',
    says: 'no upstream has a max_queue_depth',
    fix: 'Give the upstreams a max_queue_depth',
  },
  {
    name: 'counters of several replicas',
    yaml: `${aDocument('  rate_limits: {default: {burst: 30}} # here')}spec: {replicas: 3}\n`,
    whole: true,
    path: 'gw.rate_limits',
    says: '3 replicas admit 3 times',
    fix: 'backend: redis',
  },
  {
    name: 'counters of several replicas where the default limits apply',
    yaml: `${aDocument().replace('gw:', 'gw: # here')}spec: {replicas: 3}\n`,
    whole: true,
    path: 'gw.rate_limits',
    says: '3 replicas admit 3 times',
    fix: 'backend: redis',
  },
  {
    name: 'an upstream without use',
    yaml: '  routes:\n    - {name: r, strategy: single, primary: a}\n  upstreams:\n    - {name: a, provider: openai, model: m, endpoint: "http://a"}\n    - {name: b, provider: openai, model: m, endpoint: "http://b"} # here',
    path: 'gw.upstreams[1].name',
    says: 'not used by any route',
    fix: 'remove it',
  },
  {
    name: 'a downgrade to the only route that the tenant may use',
    yaml: '  budgets:\n    - {tenant: t, tokens_per_day: 1, on_exceeded: downgrade, downgrade_route: r} # here',
    path: 'gw.budgets[0].downgrade_route',
    says: 'limits nothing: the keys of "t" may use no other route than "r"',
    fix: 'Name another route',
  },
  {
    name: 'a downgrade to a dearer route',
    yaml: `  upstreams:
    - {name: a, model: cheap, provider: vllm, endpoint: "http://a"}
    - {name: b, model: dear, provider: vllm, endpoint: "http://a"}
  routes:
    - {name: r, strategy: single, primary: a}
    - {name: s, strategy: single, primary: b}
  pricing: [{model: cheap, input: 1, output: 1}, {model: dear, input: 2, output: 2}]
  budgets:
    - {tenant: t, tokens_per_day: 1, on_exceeded: downgrade, downgrade_route: s} # here`,
    path: 'gw.budgets[0].downgrade_route',
    says: 'costs more than',
    fix: 'cheaper',
  },
  {
    name: 'an extra that a spend budget does not count',
    yaml: `  upstreams:
    - {name: a, provider: openai, endpoint: "http://a", model: m, context_window: 8192, allow: [web_search]} # here
  routes: [{name: r, strategy: single, primary: a, max_tokens_default: 9}]
  pricing: [{model: m, input: 1, output: 1, search: 1}]
  budgets: [{tenant: t, spend_per_month_usd: 5}]
  state_dir: /tmp`,
    path: 'gw.upstreams[0].allow',
    says: 'does not count the price of "web_search"',
    fix: 'Remove the extras that cost more than tokens',
  },
  {
    name: 'searches without a price under a spend budget',
    yaml: `  upstreams:
    - {name: a, provider: anthropic, api_key: "\${env:WORD}", model: m, context_window: 8192, allow: [web_search, files]} # here
  routes: [{name: r, strategy: single, primary: a, max_tokens_default: 9}]
  pricing: [{model: m, input: 1, output: 1}]
  budgets: [{tenant: t, spend_per_month_usd: 5}]
  state_dir: /tmp`,
    path: 'gw.upstreams[0].allow',
    says: 'does not count the price of "web_search"',
    fix: 'Write the price of a search in pricing',
  },
]

testWarnings(ROWS)

test('a spend budget that covers all allowed extras causes no warning', () => {
  const yaml = `  upstreams:
    - {name: a, provider: anthropic, endpoint: "http://a", model: m, context_window: 8192, allow: [web_search, files]}
  routes: [{name: r, strategy: single, primary: a, max_tokens_default: 9}]
  pricing: [{model: m, input: 1, output: 1, search: 0.01}]
  budgets: [{tenant: t, spend_per_month_usd: 5}]
  state_dir: /tmp`
  assert.deepEqual(load(aDocument(yaml)).problems, [])
})

test('a password in a reference, and a user without one, cause no warning', () => {
  for (const url of [
    'redis://${env:WORD}@cache',
    'redis://u:${env:WORD}@cache',
    'redis://u@cache',
  ]) {
    const yaml = `  rate_limits: {backend: redis, redis: {url: "${url}"}}`
    const { problems } = load(aDocument(yaml), { env: { WORD: ':word' } })
    assert.deepEqual(problems, [])
  }
})

test('a valid document has no problem', () => {
  assert.deepEqual(load(aDocument()).problems, [])
})
