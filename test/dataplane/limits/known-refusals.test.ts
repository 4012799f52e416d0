/** The store's refusals that a process remembers: for how long, for which tenant, and when it asks again. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileRules } from '../../../dataplane/accounts/rules.ts'
import type { Refusal } from '../../../dataplane/accounts/store.ts'
import { KnownRefusals } from '../../../dataplane/limits/known-refusals.ts'
import type { Refused } from '../../../dataplane/limits/refusal.ts'

const rulesOf = (on_exceeded: 'reject' | 'downgrade' = 'reject') =>
  compileRules({
    rate_limits: undefined,
    budgets: [{ tenant: 'acme', tokens_per_day: 1, on_exceeded, alert_thresholds: [] }],
  }).of('acme')
const rules = rulesOf()

function refused(by: Refusal, retryAfterMs: number): Refused {
  const requests = { limit: 1, remaining: 0, resetMs: retryAfterMs }
  const concurrency = { limit: 1, used: 0 }
  const figures = {
    requests,
    concurrency,
    tokenRate: undefined,
    tokens: undefined,
    spend: undefined,
  }
  return { outcome: 'refused', by, retryAfterMs, figures }
}

test('a rate is refused until its reset, with the remaining wait, and then the store is asked again', () => {
  const known = new KnownRefusals()
  known.learn('acme', rules, refused('rpm', 5000), 100)
  assert.equal(known.of('other', rules, 100), undefined)
  const later = known.of('acme', rules, 2100)
  assert.equal(later?.retryAfterMs, 3000)
  assert.equal(later?.figures.requests.resetMs, 3000)
  assert.ok(known.of('acme', rules, 5099))
  assert.equal(known.of('acme', rules, 5100), undefined)
})

test('under the rules of a new configuration the store is asked at once', () => {
  const known = new KnownRefusals()
  known.learn('acme', rules, refused('rpm', 5000), 0)
  assert.equal(known.of('acme', rulesOf(), 1), undefined)
})

test('a refusal that may end at any time, or depends on the request, is not remembered', () => {
  for (const by of ['concurrency', 'budget_reserved', 'tpm'] as const) {
    const known = new KnownRefusals()
    known.learn('acme', rules, refused(by, 5000), 0)
    assert.equal(known.of('acme', rules, 1), undefined, by)
  }
})

test('a spent budget is remembered for a second, and never if another route may serve', () => {
  const known = new KnownRefusals()
  known.learn('acme', rules, refused('budget_tokens', 3_600_000), 0)
  assert.equal(known.of('acme', rules, 999)?.retryAfterMs, 3_599_001)
  assert.equal(known.of('acme', rules, 1000), undefined)
  const downgraded = rulesOf('downgrade')
  known.learn('acme', downgraded, refused('budget_tokens', 3_600_000), 0)
  assert.equal(known.of('acme', downgraded, 1), undefined)
})
