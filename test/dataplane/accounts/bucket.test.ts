import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Bucket } from '../../../dataplane/accounts/bucket.ts'
import { cases } from '../../helpers/cases.ts'

const aRule = fc.record({
  perMinute: fc.oneof(fc.integer({ min: 1, max: 1000 }), fc.constant(100_000_000)),
  capacity: fc.oneof(fc.integer({ min: 1, max: 50 }), fc.constant(100_000_000)),
})

/** Admits a request if it fits, like the store. */
function pass(bucket: Bucket, now: number): boolean {
  if (bucket.wait(1, now) > 0) return false
  bucket.charge(1, now)
  return true
}

test('it lets burst requests through at once and then one every 60 / requests_per_minute seconds', () => {
  const bucket = new Bucket({ perMinute: 120, capacity: 30 }, 0)
  for (let index = 0; index < 30; index++) assert.ok(pass(bucket, 0))
  assert.equal(bucket.remaining(0), 0)
  assert.equal(bucket.resetMs(0), 15_000)
  assert.equal(bucket.wait(1, 0), 500)
  assert.ok(!pass(bucket, 499))
  assert.ok(pass(bucket, 500))
  assert.ok(!pass(bucket, 500))
  assert.equal(bucket.remaining(2499), 3)
  assert.equal(bucket.remaining(2500), 4)
})

test('no interval ever admits more than burst + rate x time', () => {
  const arrivals = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 5000 })), {
    minLength: 2,
    maxLength: 150,
    size: 'max',
  })
  fc.assert(
    fc.property(aRule, arrivals, (rule, gaps) => {
      const bucket = new Bucket(rule, 0)
      const passed: number[] = []
      let now = 0
      for (const gap of gaps) {
        now += gap
        if (pass(bucket, now)) passed.push(now)
      }
      for (let from = 0; from < passed.length; from++) {
        for (let to = from; to < passed.length; to++) {
          const span = passed[to]! - passed[from]!
          const count = to - from + 1
          assert.ok(count * 60_000 <= rule.capacity * 60_000 + span * rule.perMinute)
        }
      }
    }),
    { numRuns: 3000 },
  )
})

test('a client that waits for its Retry-After is admitted, and a millisecond less is too short', () => {
  const step = fc.record({
    gap: fc.integer({ min: 0, max: 4000 }),
    cost: fc.oneof(fc.constant(1), fc.integer({ min: 0, max: 80 })),
  })
  fc.assert(
    fc.property(aRule, fc.array(step, { maxLength: 60, size: 'max' }), (rule, steps) => {
      const bucket = new Bucket(rule, 0)
      let now = 0
      for (const { gap, cost } of steps) {
        now += gap
        const wait = bucket.wait(cost, now)
        if (wait > 0) {
          assert.ok(bucket.wait(cost, now + wait - 1) > 0)
          now += wait
          assert.equal(bucket.wait(cost, now), 0)
        }
        bucket.charge(cost, now)
      }
    }),
    { numRuns: cases(2000, 20_000) },
  )
})

test('a request larger than the bucket waits until it is empty, and is charged in full', () => {
  const bucket = new Bucket({ perMinute: 600, capacity: 600 }, 0)
  bucket.charge(1, 0)
  assert.equal(bucket.wait(1800, 0), 100)
  assert.equal(bucket.wait(1800, 100), 0)
  bucket.charge(1800, 100)
  assert.equal(bucket.wait(1, 100), 120_100)
  assert.equal(bucket.remaining(100), 0)
})

test('returned units make room, but never more than the bucket has', () => {
  const bucket = new Bucket({ perMinute: 60, capacity: 100 }, 0)
  bucket.charge(80, 0)
  bucket.charge(-30, 0)
  assert.equal(bucket.remaining(0), 50)
  bucket.charge(-500, 0)
  assert.equal(bucket.remaining(0), 100)
})

test('a changed rule refills nothing and drops nothing', () => {
  const rows = [
    // Thirty used of thirty: what a rule admits at once after a change.
    { to: { perMinute: 120, capacity: 40 }, remaining: 10, wait: 0 },
    { to: { perMinute: 120, capacity: 31 }, remaining: 1, wait: 0 },
    { to: { perMinute: 6000, capacity: 30 }, remaining: 0, wait: 10 },
    { to: { perMinute: 60, capacity: 30 }, remaining: 0, wait: 1000 },
    { to: { perMinute: 120, capacity: 5 }, remaining: 0, wait: 500 },
  ]
  for (const { to, remaining, wait } of rows) {
    const bucket = new Bucket({ perMinute: 120, capacity: 30 }, 0)
    bucket.charge(30, 0)
    bucket.obey(to, 0)
    assert.equal(bucket.remaining(0), remaining, JSON.stringify(to))
    assert.equal(bucket.wait(1, 0), wait, JSON.stringify(to))
  }
})

test('the time before a raise leaks at the old rate, the time after it at the new one', () => {
  const bucket = new Bucket({ perMinute: 6, capacity: 10 }, 0)
  bucket.charge(10, 0)
  bucket.obey({ perMinute: 6000, capacity: 10 }, 10_000)
  assert.equal(bucket.remaining(10_000), 1)
  assert.equal(bucket.remaining(10_010), 2)
})

test('a clock that goes back blocks no tenant', () => {
  const rule = { perMinute: 60, capacity: 1 }
  const bucket = new Bucket(rule, 0)
  bucket.charge(1, 3_600_000)
  bucket.obey(rule, 1000)
  assert.equal(bucket.wait(1, 1000), 1000)
  assert.equal(bucket.wait(1, 2000), 0)
})

test('no cost, even a huge one, makes an unsafe number', () => {
  const bucket = new Bucket({ perMinute: 100_000_000, capacity: 100_000_000 }, 0)
  bucket.charge(Number.MAX_SAFE_INTEGER, 0)
  bucket.charge(Number.MAX_SAFE_INTEGER, 0)
  assert.ok(Number.isSafeInteger(bucket.wait(1, 0)))
  bucket.charge(-Number.MAX_SAFE_INTEGER, 0)
  bucket.charge(-Number.MAX_SAFE_INTEGER, 0)
  assert.equal(bucket.remaining(0), 100_000_000)
})
