/** Limits, budgets, prices and auxiliaries that cannot take effect. */
import { type Row, testRefusals } from './documents.ts'

const LIMITS: Row[] = [
  {
    name: 'a priority that does not exist',
    yaml: '  rate_limits: {default: {priority: high}} # here',
    path: 'gw.rate_limits.default.priority',
    says: 'unknown priority',
    fix: '"low"',
  },
  {
    name: 'redis without a URL',
    yaml: '  rate_limits:\n    backend: redis # here',
    path: 'gw.rate_limits.backend',
    says: 'needs redis.url',
    fix: '${env:REDIS_URL}',
  },
  {
    name: 'redis settings without the backend',
    yaml: '  rate_limits:\n    redis: {url: "redis://h"} # here',
    path: 'gw.rate_limits.redis',
    says: 'backend is memory',
    fix: 'backend: redis',
  },
  {
    name: 'a Redis URL that cannot be read',
    yaml: '  rate_limits:\n    backend: redis\n    redis: {url: "http://h"} # here',
    path: 'gw.rate_limits.redis.url',
    says: 'is not a Redis URL',
    fix: 'redis+sentinel://',
  },
  {
    name: 'a state_dir beside redis',
    yaml: '  state_dir: /tmp/x # here\n  rate_limits:\n    backend: redis\n    redis: {url: "redis://h"}',
    path: 'gw.state_dir',
    says: 'counters are kept in Redis',
    fix: 'Remove state_dir',
  },
  {
    name: 'a tenant rule that limits nothing',
    yaml: '  rate_limits:\n    tenants:\n      - tenant: t # here',
    path: 'gw.rate_limits.tenants[0]',
    says: 'limits nothing',
    fix: 'requests_per_minute',
  },
  {
    name: 'two rules for a tenant',
    yaml: '  rate_limits:\n    tenants:\n      - {tenant: t, burst: 5}\n      - {tenant: t, burst: 6} # here',
    path: 'gw.rate_limits.tenants[1].tenant',
    says: 'duplicate tenant rule',
    fix: 'Remove one',
  },
  {
    name: 'a budget without a cap',
    yaml: '  budgets:\n    - tenant: t # here',
    path: 'gw.budgets[0]',
    says: 'has no cap',
    fix: 'tokens_per_day',
  },
  {
    name: 'a downgrade without a route',
    yaml: '  budgets:\n    - tenant: t\n      tokens_per_day: 1\n      on_exceeded: downgrade # here',
    path: 'gw.budgets[0].on_exceeded',
    says: 'needs downgrade_route',
    fix: 'name of a route',
  },
  {
    name: 'a downgrade to an unknown route',
    yaml: '  budgets:\n    - tenant: t\n      tokens_per_day: 1\n      on_exceeded: downgrade\n      downgrade_route: cheap # here',
    path: 'gw.budgets[0].downgrade_route',
    says: 'unknown route "cheap"',
    fix: '"r"',
  },
  {
    name: 'a downgrade route under reject',
    yaml: '  budgets:\n    - tenant: t\n      tokens_per_day: 1\n      downgrade_route: r # here',
    path: 'gw.budgets[0].downgrade_route',
    says: 'cannot take effect',
    fix: 'on_exceeded: downgrade',
  },
  {
    name: 'a spend budget without prices',
    yaml: '  budgets:\n    - tenant: t\n      spend_per_month_usd: 5 # here',
    path: 'gw.budgets[0].spend_per_month_usd',
    says: 'no price for "m"',
    fix: 'pricing',
  },
  {
    name: 'thresholds out of order',
    yaml: '  budgets:\n    - tenant: t\n      tokens_per_day: 1\n      alert_thresholds: [0.8, 0.5] # here',
    path: 'gw.budgets[0].alert_thresholds[1]',
    says: '0.5 comes after 0.8',
    fix: 'rising',
  },
  {
    name: 'a threshold twice',
    yaml: '  budgets:\n    - tenant: t\n      tokens_per_day: 1\n      alert_thresholds: [0.5, 0.5] # here',
    path: 'gw.budgets[0].alert_thresholds[1]',
    says: 'is there twice',
    fix: 'once',
  },
  {
    name: 'two prices of a model',
    yaml: '  pricing:\n    - {model: m, input: 1, output: 1}\n    - {model: m, input: 2, output: 2} # here',
    path: 'gw.pricing[1].model',
    says: 'duplicate price of model "m"',
    fix: 'Remove one',
  },
  {
    name: 'two tiers of a price for the same length',
    yaml:
      '  pricing:\n    - {model: m, input: 1, output: 1, tiers: [{above_input_tokens: 9, input: 2}, ' +
      '{above_input_tokens: 9, input: 3}]} # here',
    path: 'gw.pricing[0].tiers[1].above_input_tokens',
    says: 'tier 1 begins at the same length',
    fix: 'another length',
  },
  {
    name: 'retrieval without a store',
    yaml: '  retrieval:\n    - name: docs # here\n  routes:\n    - {name: r, strategy: single, primary: a, retrieval: [docs]}',
    path: 'gw.retrieval[0].store',
    says: 'there is no vector store',
    fix: 'Add vector_stores',
  },
  {
    name: 'headers for a collector that is not named',
    yaml: '  telemetry:\n    otlp_headers: {a: b} # here',
    path: 'gw.telemetry.otlp_headers',
    says: 'no otlp_endpoint',
    fix: 'Add otlp_endpoint',
  },
  {
    name: 'alert headers without a webhook',
    yaml: '  alerts:\n    headers: {a: b} # here',
    path: 'gw.alerts.headers',
    says: 'there is no webhook_url',
    fix: 'Add webhook_url',
  },
]

testRefusals(LIMITS)
