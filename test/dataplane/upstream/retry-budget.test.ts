import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { RetryBudget } from '../../../dataplane/upstream/live/retry-budget.ts'

function taken(budget: RetryBudget, now: number): number {
  let count = 0
  while (budget.take(now)) count++
  return count
}

const shares = [
  [0, 3],
  [1, 3],
  [15, 3],
  [19, 3],
  [20, 4],
  [100, 20],
  [104, 20],
] as const

for (const [requests, allowed] of shares) {
  test(`${requests} requests in the window allow ${allowed} repeats`, () => {
    const budget = new RetryBudget()
    for (let each = 0; each < requests; each++) budget.request(5000)
    assert.equal(taken(budget, 5000), allowed)
  })
}

test('requests and repeats leave the window after ten seconds, bucket by bucket', () => {
  const budget = new RetryBudget()
  for (let each = 0; each < 50; each++) budget.request(1000)
  for (let each = 0; each < 50; each++) budget.request(6000)
  assert.equal(taken(budget, 6500), 20)
  assert.equal(taken(budget, 10_999), 0)
  assert.equal(taken(budget, 15_999), 0)
  assert.equal(taken(budget, 16_000), 3)
})

test('after a long silence nothing is left of the past', () => {
  const budget = new RetryBudget()
  for (let each = 0; each < 100; each++) budget.request(1000)
  assert.equal(taken(budget, 1_000_000), 3)
})

const events = fc.array(
  fc.record({ after: fc.oneof(fc.nat(400), fc.nat(15_000)), repeat: fc.boolean() }),
  { maxLength: 300, size: 'max' },
)

test('at any moment it equals a count over the last ten seconds', () => {
  fc.assert(
    fc.property(events, (given) => {
      const budget = new RetryBudget()
      const requests: number[] = []
      const repeats: number[] = []
      let now = 0
      const inWindow = (times: number[]) =>
        times.filter((time) => Math.floor(time / 1000) > Math.floor(now / 1000) - 10).length
      for (const { after, repeat } of given) {
        now += after
        if (!repeat) {
          budget.request(now)
          requests.push(now)
          continue
        }
        const allowed = inWindow(repeats) < Math.max(3, Math.floor(0.2 * inWindow(requests)))
        assert.equal(budget.take(now), allowed)
        if (allowed) repeats.push(now)
      }
    }),
  )
})
