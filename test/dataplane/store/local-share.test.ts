/** A replica admits requests by itself, on a clock that the test advances. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AdmitResult, Figures, Rules } from '../../../dataplane/accounts/store.ts'
import { LocalShare } from '../../../dataplane/store/shared/local-share.ts'
import { aClock, NOON } from '../../helpers/clock.ts'
import { limitedRules } from '../../helpers/store/limited-rules.ts'
import { aBudget, aRule, tokens, verdict } from '../../helpers/store/world.ts'

const DAY_END = Date.parse('2026-11-22T00:00:00Z')

function aShare(fraction: number, rules: Rules) {
  const clock = aClock()
  const local = new LocalShare(clock, () => fraction)
  let ids = 0
  const aRequest = (estimate = 0, downgrade?: number) => ({
    tenant: 'acme',
    id: `r${ids++}`,
    rules,
    estimate: tokens(estimate),
    downgradeEstimate: downgrade === undefined ? undefined : tokens(downgrade),
  })
  const admit = (estimate = 0, downgrade?: number) => local.admit(aRequest(estimate, downgrade))
  const admitted = (most: number) => {
    let count = 0
    while (count < most && verdict(admit()) === 'admitted') count++
    return count
  }
  const settle = (id: string, used: number) =>
    local.settle({ tenant: 'acme', id, used: tokens(used), budget: rules.budget })
  return { clock, local, aRequest, admit, admitted, settle }
}

/** The figures of a tenant from the store. */
function aReply(given: Partial<Figures> = {}): AdmitResult {
  const figures: Figures = {
    requests: { limit: 60, remaining: 10, resetMs: 0 },
    tokenRate: undefined,
    concurrency: { limit: 100, used: 0 },
    tokens: undefined,
    spend: undefined,
    ...given,
  }
  return { outcome: 'admitted', figures }
}

test('shares of all replicas are the limit: a bucket of each part, a rate of each part', () => {
  const rules = aRule({ requestsPerMinute: 60, burst: 30 })
  const parts = [0.5, 0.3, 0.2]
  const shares = parts.map((part) => aShare(part, rules))
  for (const { local } of shares) local.begin()
  assert.deepEqual(
    shares.map(({ admitted }) => admitted(100)),
    [15, 9, 6],
  )
  for (const { clock } of shares) clock.pass(60_000)
  assert.deepEqual(
    shares.map(({ admitted }) => admitted(100)),
    [15, 9, 6],
  )
})

test('each has at least one request, however small its part', () => {
  const { local, admitted } = aShare(0.001, aRule({ requestsPerMinute: 60, burst: 10 }))
  local.begin()
  assert.equal(admitted(10), 1)
})

test('the bucket begins at the level of the store, less the leak since then', () => {
  const rules = aRule({ requestsPerMinute: 60, burst: 30 })
  const { clock, local, aRequest, admitted } = aShare(0.5, rules)
  // 20 of 30 are in use, and one leaks each second.
  local.follow(aRequest(), aReply({ requests: { limit: 60, remaining: 10, resetMs: 20_000 } }))
  clock.pass(10_000)
  local.begin()
  assert.equal(admitted(30), 10, '15, less half of the 10 that are left of the 20')
})

test('a second outage does not find a fresh bucket', () => {
  const rules = aRule({ requestsPerMinute: 1, burst: 10 })
  const { local, admitted } = aShare(1, rules)
  local.begin()
  assert.equal(admitted(20), 10)
  local.end()
  local.begin()
  assert.equal(admitted(20), 0)
})

test('after an outage requests must fit the share as well, until its bucket would be empty', () => {
  const rules = aRule({ requestsPerMinute: 60, burst: 10 })
  const { clock, local, aRequest, admitted } = aShare(0.5, rules)
  local.begin()
  assert.equal(admitted(20), 5)
  local.end()
  const refused = local.restrain(aRequest())
  assert.equal(refused?.outcome === 'refused' ? refused.by : 'admitted', 'rpm')
  clock.pass(2_000)
  assert.equal(local.restrain(aRequest()), undefined, 'one has leaked')
  clock.pass(8_000)
  assert.equal(local.restrain(aRequest()), undefined)
  local.begin()
  local.end()
  assert.equal(local.restrain(aRequest()), undefined, 'nothing was admitted in that outage')
})

test('slots: running requests already count, and an ended one frees one', () => {
  const { local, aRequest, admit, settle } = aShare(0.5, aRule({ concurrentRequests: 4 }))
  const running = aRequest()
  local.follow(running, aReply())
  local.begin()
  assert.equal(verdict(admit()), 'admitted')
  assert.equal(verdict(admit()), 'concurrency')
  settle(running.id, 0)
  assert.equal(verdict(admit()), 'admitted')
})

test('a request keeps its slot while its lease is renewed, and loses it 15 s after the last renewal', () => {
  const { clock, local, aRequest, admit } = aShare(1, aRule({ concurrentRequests: 1 }))
  const running = aRequest()
  local.follow(running, aReply())
  local.begin()
  clock.pass(10_000)
  local.renew([{ ...running, used: tokens(0) }])
  clock.pass(10_000)
  assert.equal(verdict(admit()), 'concurrency')
  clock.pass(5_000)
  assert.equal(verdict(admit()), 'admitted')
})

test('the token rate is charged the estimate and corrected by the usage', () => {
  const { local, aRequest, admit, settle } = aShare(0.5, aRule({ tokensPerMinute: 1_000 }))
  local.begin()
  const first = aRequest(500)
  assert.equal(verdict(local.admit(first)), 'admitted')
  assert.equal(verdict(admit(100)), 'tpm')
  settle(first.id, 300)
  assert.equal(verdict(admit(200)), 'admitted')
})

test('budget: the part of the remainder, then 402 or downgrade, and a new window is whole', () => {
  const budget = aBudget({ tokensPerDay: 1_000, onExceeded: 'downgrade' })
  const { clock, local, aRequest, admit, settle } = aShare(0.5, aRule({ budget }))
  const known = { limit: 1_000, settled: 800, reserved: 0, resetsAt: DAY_END }
  local.follow({ ...aRequest(), id: 'first' }, aReply({ tokens: known }))
  settle('first', 40)
  local.begin()
  const second = aRequest(60)
  assert.equal(verdict(local.admit(second)), 'admitted', '100 are its part, 40 of them are used')
  assert.equal(verdict(admit(10)), 'budget_reserved')
  settle(second.id, 60)
  assert.equal(verdict(admit(10)), 'budget_tokens')
  assert.equal(verdict(admit(10, 5)), 'downgraded')
  clock.setWall(NOON + 86_400_000)
  assert.equal(verdict(admit(10)), 'admitted')
})

test("answers show the whole limits, and this replica's remainder", () => {
  const budget = aBudget({ tokensPerDay: 1_000 })
  const rules = aRule({ requestsPerMinute: 60, burst: 30, budget })
  const { local, aRequest } = aShare(0.5, rules)
  const known = { limit: 1_000, settled: 800, reserved: 0, resetsAt: DAY_END }
  local.follow(aRequest(), aReply({ tokens: known }))
  local.begin()
  const { requests, tokens: day } = local.read('acme', rules)
  assert.deepEqual([requests.limit, requests.remaining], [60, 15])
  assert.deepEqual([day?.limit, day?.settled], [1_000, 900])
})

test('known figures are returned while they are fresh', () => {
  const rules = aRule()
  const { clock, local, aRequest } = aShare(1, rules)
  assert.equal(local.lastKnown('acme', 1_000), undefined)
  local.follow(aRequest(), aReply())
  clock.pass(1_000)
  assert.equal(local.lastKnown('acme', 1_000)?.requests.remaining, 10)
  clock.pass(1)
  assert.equal(local.lastKnown('acme', 1_000), undefined)
})

test('a counter of limits[] is shared out like that of a tenant, from where the store was', () => {
  const rules = limitedRules([
    { name: 'a', for: { tenant: '*' }, requests_per_minute: 60, burst: 30 },
    { name: 'b', for: { each: 'key' }, budget: { tokens: 100, per: 'day' } },
  ])()
  const [rate, budget] = rules.scoped ?? []
  assert.ok(rate && budget)
  const { local, aRequest, admitted } = aShare(0.5, rules)
  const known = aReply({
    scoped: [
      {
        scope: rate.scope,
        tokens: undefined,
        spend: undefined,
        requests: { limit: 60, remaining: 20, resetMs: 10_000 },
      },
      {
        scope: budget.scope,
        tokens: { limit: 100, settled: 60, reserved: 0, resetsAt: DAY_END },
        spend: undefined,
      },
    ],
  })
  local.follow(aRequest(), known)
  local.begin()
  assert.equal(admitted(100), 10)
  const spent = aShare(0.5, rules)
  spent.local.follow(spent.aRequest(), known)
  spent.local.begin()
  const first = spent.aRequest(20)
  assert.equal(verdict(spent.local.admit(first)), 'admitted')
  spent.settle(first.id, 20)
  const refused = spent.admit()
  assert.ok(refused.outcome === 'refused')
  assert.deepEqual([refused.by, refused.scope?.name], ['budget_tokens', 'b'])
})
