import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileRules } from '../../../dataplane/accounts/rules.ts'
import { Budget, RateLimits } from '../../../dataplane/schema/limits.ts'

function rulesFor(tenant: string, limits: unknown, budgets: readonly unknown[] = []) {
  return compileRules({
    rate_limits: limits === undefined ? undefined : RateLimits.parse(limits),
    budgets: budgets.map((budget) => Budget.parse(budget)),
  }).of(tenant)
}

test("a tenant takes omitted limits from the default, and the default's own omissions are 120 / 30 / 16", () => {
  const acme = (fields: object) => ({ tenants: [{ tenant: 'acme', ...fields }] })
  const whole = {
    requests_per_minute: 600,
    burst: 100,
    concurrent_requests: 8,
    tokens_per_minute: 9000,
  }
  const rows: readonly [what: string, limits: unknown, expected: readonly unknown[]][] = [
    ['no section', undefined, [120, 30, 16, undefined]],
    ['an empty section', {}, [120, 30, 16, undefined]],
    ['a default', { default: whole }, [600, 100, 8, 9000]],
    [
      'a default without burst',
      { default: { requests_per_minute: 600 } },
      [600, 150, 16, undefined],
    ],
    ['a default of tokens only', { default: { tokens_per_minute: 50 } }, [120, 30, 16, 50]],
    ['a slow default', { default: { requests_per_minute: 3 } }, [3, 1, 16, undefined]],
    ['a quarter is rounded down', { default: { requests_per_minute: 7 } }, [7, 1, 16, undefined]],
    ['a rule, no default', acme({ requests_per_minute: 600 }), [600, 30, 16, undefined]],
    ['a rule over a default', { default: whole, ...acme({ burst: 5 }) }, [600, 5, 8, 9000]],
    [
      'a rule over a default without burst',
      { default: { concurrent_requests: 2 }, ...acme({ requests_per_minute: 40 }) },
      [40, 10, 2, undefined],
    ],
    ['the rule of another', { tenants: [{ tenant: 'other', burst: 1 }] }, [120, 30, 16, undefined]],
  ]
  for (const [what, limits, expected] of rows) {
    const rule = rulesFor('acme', limits)
    const { requestsPerMinute, burst, concurrentRequests, tokensPerMinute } = rule
    const given = [requestsPerMinute, burst, concurrentRequests, tokensPerMinute]
    assert.deepEqual(given, expected, what)
    assert.equal(rule.budget, undefined)
  }
})

test('a budget is kept in tokens and nano-dollars', () => {
  const written = {
    tenant: 'acme',
    tokens_per_day: 5000,
    spend_per_month_usd: 12.34,
    on_exceeded: 'downgrade',
    downgrade_route: 'cheap',
    alert_thresholds: [0.5, 0.8],
  }
  assert.deepEqual(rulesFor('acme', undefined, [written]).budget, {
    tokensPerDay: 5000,
    nanosPerMonth: 12_340_000_000,
    onExceeded: 'downgrade',
    downgradeRoute: 'cheap',
    alertThresholds: [0.5, 0.8],
  })
  assert.equal(rulesFor('other', undefined, [written]).budget, undefined)
})

test('the largest cap is exact, and the smallest is one nano-dollar', () => {
  const cap = (usd: number) =>
    rulesFor('acme', undefined, [{ tenant: 'acme', spend_per_month_usd: usd }]).budget
      ?.nanosPerMonth
  assert.equal(cap(9_000_000), 9_000_000_000_000_000)
  assert.equal(cap(1e-12), 1)
  assert.equal(cap(0.1), 100_000_000)
})

test('low priority comes from the rule, else from the default', () => {
  const rows: readonly [limits: unknown, yields: readonly boolean[]][] = [
    [undefined, [false, false]],
    [{ default: { priority: 'low' } }, [true, true]],
    [{ tenants: [{ tenant: 'acme', priority: 'low' }] }, [true, false]],
    [{ default: { priority: 'low' }, tenants: [{ tenant: 'acme', burst: 5 }] }, [true, true]],
    [
      { default: { priority: 'low' }, tenants: [{ tenant: 'acme', priority: 'normal' }] },
      [false, true],
    ],
  ]
  for (const [limits, expected] of rows) {
    const rate_limits = limits === undefined ? undefined : RateLimits.parse(limits)
    const rules = compileRules({ rate_limits, budgets: [] })
    assert.deepEqual(['acme', 'other'].map(rules.yields), expected, JSON.stringify(limits))
  }
})

test('tenants without a rule share one, and names of the language are ordinary names', () => {
  const rules = compileRules({ rate_limits: undefined, budgets: [] })
  assert.equal(rules.of('one'), rules.of('constructor'))
  assert.ok(Object.isFrozen(rules.of('one')))
})
