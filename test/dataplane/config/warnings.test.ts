/** What is worth saying and no reason to refuse. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aDocument, hashOf, load, type Row, testWarnings } from './documents.ts'

const UPSTREAM = 'model: m, provider: vllm, endpoint: "http://a"'

function fallbackRoute(fields: string): string {
  return `  routes:\n    - name: r\n      strategy: primary_with_fallback\n      primary: a\n${fields}`
}

const ROWS: Row[] = [
  {
    name: 'an upstream timeout above the gateway',
    yaml: `  upstreams:\n    - {name: a, ${UPSTREAM}, timeout_seconds: 121} # here\n    - {name: b, ${UPSTREAM}}`,
    path: 'gw.upstreams[0].timeout_seconds',
    says: '121 s cannot be reached',
    fix: 'at most 120',
  },
  {
    name: 'a route timeout above the gateway',
    yaml: '  routes:\n    - {name: r, strategy: single, primary: a, timeout_seconds: 300} # here',
    path: 'gw.routes[0].timeout_seconds',
    says: 'cannot be reached',
    fix: 'at most 120',
  },
  {
    name: 'probes that overlap',
    yaml: `  upstreams:\n    - {name: a, ${UPSTREAM}, health_check: {interval_seconds: 2}} # here\n    - {name: b, ${UPSTREAM}}`,
    path: 'gw.upstreams[0].health_check.timeout_seconds',
    says: 'not below interval_seconds (2)',
    fix: 'well under',
  },
  {
    name: 'a short keep-alive',
    yaml: '  gateway:\n    keepalive_seconds: 30 # here',
    path: 'gw.gateway.keepalive_seconds',
    says: 'under 60 s',
    fix: '75',
  },
  {
    name: 'a small burst',
    yaml: '  rate_limits:\n    default: {requests_per_minute: 1000, burst: 49} # here',
    path: 'gw.rate_limits.default.burst',
    says: 'under 5 %',
    fix: '250',
  },
  {
    name: 'a large burst over an inherited rate',
    yaml: '  rate_limits:\n    default: {requests_per_minute: 40}\n    tenants: [{tenant: t, burst: 41}] # here',
    path: 'gw.rate_limits.tenants[0].burst',
    says: 'over 100 %',
    fix: '10',
  },
  {
    name: 'many attempts',
    yaml: fallbackRoute('      fallback: [b]\n      retry: {max_attempts: 4} # here'),
    path: 'gw.routes[0].retry.max_attempts',
    says: 'more than 3 attempts',
    fix: 'Use 2',
  },
  {
    name: 'a fallback out of reach',
    yaml: fallbackRoute('      fallback: [b] # here\n      retry: {max_attempts: 1}'),
    path: 'gw.routes[0].fallback[0]',
    says: 'never reached',
    fix: 'Raise retry.max_attempts to 2',
  },
  {
    name: 'a fallback without a queue limit',
    yaml: `  upstreams:\n    - {name: a, ${UPSTREAM}}\n    - {name: b, ${UPSTREAM}}\n${fallbackRoute('      fallback: [b] # here')}`,
    path: 'gw.routes[0].fallback[0]',
    says: 'no max_queue_depth',
    fix: 'max_queue_depth',
  },
  {
    name: 'a saturation that cannot happen',
    yaml: `  upstreams:\n    - {name: a, ${UPSTREAM}}\n    - {name: b, ${UPSTREAM}}\n${fallbackRoute('      fallback: [b]\n      overflow: {on_queue_saturated: fallback} # here')}`,
    path: 'gw.routes[0].overflow.on_queue_saturated',
    says: 'never happens',
    fix: 'Give the primary',
  },
  {
    name: 'an unknown context window',
    yaml: `  upstreams:\n    - {name: a, ${UPSTREAM}} # here\n    - {name: b, ${UPSTREAM}}`,
    path: 'gw.upstreams[0]',
    says: 'no context window known',
    fix: 'Add context_window',
  },
  {
    name: 'weights that are no percentages',
    yaml: '  routes:\n    - name: r\n      strategy: weighted\n      upstreams: [{name: a, weight: 3}, {name: b, weight: 1}] # here',
    path: 'gw.routes[0].upstreams',
    says: 'sum to 4, not 100',
    fix: 'percentages',
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
    name: 'budgets in memory',
    yaml: '  budgets: # here\n    - {tenant: t, tokens_per_day: 5}',
    path: 'gw.budgets',
    says: 'memory only',
    fix: 'state_dir',
  },
  {
    name: 'a budget route without a token default',
    yaml: '  budgets: [{tenant: t, tokens_per_day: 5}]\n  routes:\n    - {name: r, strategy: single, primary: a} # here',
    path: 'gw.routes[0]',
    says: 'no max_tokens_default',
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
    name: 'counters of several replicas',
    yaml: `${aDocument('  rate_limits: {default: {burst: 30}} # here')}spec: {replicas: 3}\n`,
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
    says: 'dearer',
    fix: 'cheaper',
  },
]

testWarnings(ROWS)

test('a sound document has no problem at all', () => {
  assert.deepEqual(load(aDocument()).problems, [])
})
