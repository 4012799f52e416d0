import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { InfraCost, splitCost } from '../../../dataplane/accounts/infra-cost.ts'

const TEN = Date.parse('2026-11-21T10:00:00Z')
const HOUR = 3_600_000

test("an hour's cost is split by the tokens used in it", () => {
  const cost = new InfraCost(TEN)
  cost.add('acme', 300)
  cost.add('other', 100)
  cost.add('acme', 200)
  assert.deepEqual(cost.close(TEN + HOUR - 1, 6_000_000_000), [])
  assert.deepEqual(cost.sofar('acme', TEN + HOUR / 2, 6_000_000_000), {
    tokens: 500,
    nanos: 2_500_000_000,
    endsAt: TEN + HOUR,
  })
  assert.partialDeepStrictEqual(cost.sofar('ghost', TEN, 6_000_000_000), { tokens: 0, nanos: 0 })
  assert.deepEqual(cost.close(TEN + HOUR, 6_000_000_000), [
    { tenant: 'acme', nanos: 5_000_000_000 },
    { tenant: 'other', nanos: 1_000_000_000 },
  ])
  cost.add('other', 1)
  assert.deepEqual(cost.close(TEN + HOUR + 50, 6_000_000_000), [])
  assert.deepEqual(cost.close(TEN + 2 * HOUR, 6_000_000_000), [
    { tenant: 'other', nanos: 6_000_000_000 },
  ])
})

test('a process that begins within an hour pays for the rest of it', () => {
  const cost = new InfraCost(TEN + HOUR / 4)
  cost.add('acme', 1)
  assert.deepEqual(cost.close(TEN + HOUR, 4000), [{ tenant: 'acme', nanos: 3000 }])
})

test('an hour without tokens is charged to no tenant', () => {
  const cost = new InfraCost(TEN)
  assert.deepEqual(cost.close(TEN + HOUR, 4000), [])
  cost.add('acme', 0)
  assert.deepEqual(cost.close(TEN + 5 * HOUR, 4000), [])
})

test('shares add up to the whole, none is negative, and each is within a nano-dollar of its part', () => {
  const tokens = fc.array(fc.nat(1_000_000), { minLength: 1, maxLength: 50 })
  fc.assert(
    fc.property(fc.nat(1_000_000_000), tokens, (nanos, counts) => {
      const all = counts.reduce((sum, count) => sum + count, 0)
      const shares = splitCost(nanos, new Map(counts.map((count, index) => [`t${index}`, count])))
      if (all === 0) return assert.deepEqual(shares, [])
      assert.equal(
        shares.reduce((sum, share) => sum + share.nanos, 0),
        nanos,
      )
      for (const [index, share] of shares.entries()) {
        assert.ok(share.nanos >= 0)
        assert.ok(Math.abs(share.nanos - (nanos * counts[index]!) / all) <= 1.001)
      }
    }),
    { numRuns: 2000 },
  )
})
