/** Settings that have no effect yet are refused by name, and only where somebody wrote them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refuseUnsupported } from '../../../dataplane/config/judgement/supported.ts'
import { PROVIDER_NAMES, PROVIDERS } from '../../../dataplane/providers/index.ts'

const REFUSED: [string, unknown][] = [
  ...PROVIDER_NAMES.filter((name) => !PROVIDERS.has(name)).map((provider): [string, unknown] => [
    'provider',
    { upstreams: [{ provider }] },
  ]),
]

for (const [field, gw] of REFUSED) {
  test(`${field} is refused where it is written: ${JSON.stringify(gw)}`, () => {
    const findings = refuseUnsupported({ gw })
    assert.deepEqual(
      findings.map(({ path }) => path.at(-1)),
      [field],
    )
    assert.match(findings[0]?.message ?? '', /not supported yet/)
  })
}

const ACCEPTED: unknown[] = [
  {},
  { budgets: [], pricing: {} },
  { retrieval: [{}], vector_stores: [{}], guardrails: [{}] },
  {
    rate_limits: {
      backend: 'memory',
      default: {
        requests_per_minute: 1,
        burst: 1,
        concurrent_requests: 1,
        tokens_per_minute: 1,
        priority: 'low',
      },
      tenants: [{ tenant: 't', requests_per_minute: 1, tokens_per_minute: 1, priority: 'normal' }],
    },
  },
  {
    budgets: [
      {
        tenant: 't',
        tokens_per_day: 1,
        spend_per_month_usd: 1,
        on_exceeded: 'downgrade',
        downgrade_route: 'r',
        alert_thresholds: [0.5],
      },
    ],
  },
  { pricing: [{ model: 'm', input: 1, output: 1 }] },
  {
    pricing: {
      models: [{ model: 'm', input: 1, output: 1, cached_input: 1, reasoning_output: 1 }],
      infra_cost_per_hour_usd: 1,
    },
  },
  { rate_limits: { backend: 'redis', redis: { url: 'redis://a' } } },
  { alerts: { webhook_url: 'http://a', headers: { a: 'b' } } },
  { state_dir: '/a' },
  { upstreams: [{ provider: 'vllm', health_check: {}, circuit_breaker: {}, max_queue_depth: 1 }] },
  { routes: [{ strategy: 'sinlge' }], upstreams: [{ provider: '${env:P}' }] },
]

for (const gw of ACCEPTED) {
  test(`nothing is refused in ${JSON.stringify(gw)}`, () => {
    assert.deepEqual(refuseUnsupported({ gw }), [])
  })
}
