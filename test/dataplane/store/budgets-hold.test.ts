import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { cases } from '../../helpers/cases.ts'
import { aClock } from '../../helpers/clock.ts'
import { aBudget, aRule, nanos, tokens, verdict, World } from '../../helpers/store/world.ts'

/** A small generator with a seed that a failure can name. */
function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32
  }
}

const CAP = 100_000
const LARGEST = CAP * 0.02

interface Running {
  readonly id: string
  readonly used: number
  readonly endsAt: number
}

/** Clients send as fast as they are admitted, until the budget is spent. Returns the settled amount at the end. */
function spendAll(inFlight: number, seed: number): { settled: number; refusedBusy: number } {
  const random = seeded(seed)
  const world = new World(aRule({ budget: aBudget({ tokensPerDay: CAP }) }))
  const { clock } = world
  const running: Running[] = []
  const nextAt = new Array<number>(inFlight).fill(clock.now())
  let refusedBusy = 0
  for (;;) {
    const now = clock.now()
    for (const one of running.filter(({ endsAt }) => endsAt <= now)) {
      world.settle(one.id, tokens(one.used))
      running.splice(running.indexOf(one), 1)
    }
    let spent = false
    for (const [client, at] of nextAt.entries()) {
      if (at > now) continue
      const estimate = 1 + Math.floor(random() * LARGEST)
      const result = world.admit(tokens(estimate))
      if (result.outcome === 'refused') {
        if (result.by === 'budget_tokens') spent = true
        if (result.by === 'budget_reserved') refusedBusy++
        nextAt[client] = now + result.retryAfterMs
        continue
      }
      const endsAt = now + 50 + Math.floor(random() * 5000)
      running.push({ id: result.id, used: Math.floor(estimate * random()), endsAt })
      nextAt[client] = endsAt
    }
    if (spent && running.length === 0) break
    clock.pass(50)
  }
  return { settled: world.figures.tokens!.settled, refusedBusy }
}

for (const inFlight of [16, 64, 256]) {
  test(`with ${inFlight} in flight a budget is exceeded by less than the largest request, and used up`, () => {
    for (let seed = 1; seed <= 50; seed++) {
      const { settled } = spendAll(inFlight, seed)
      const place = `seed ${seed}: ${settled} of ${CAP}`
      assert.ok(settled <= CAP + LARGEST, place)
      assert.ok(settled >= CAP * 0.95, place)
    }
  })
}

test('correct estimates exceed by less than one request, over any history', () => {
  const requests = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 20, maxLength: 60 })
  fc.assert(
    fc.property(requests, fc.integer({ min: 1, max: 64 }), (sizes, width) => {
      const world = new World(aRule({ budget: aBudget({ nanosPerMonth: 1000 }) }))
      const open: { id: string; size: number }[] = []
      for (const size of sizes) {
        if (open.length >= width) {
          const first = open.shift()!
          world.settle(first.id, nanos(first.size))
        }
        const result = world.admit(nanos(size))
        if (result.outcome === 'admitted') open.push({ id: result.id, size })
        const { settled, reserved } = world.figures.spend!
        assert.ok(settled + reserved < 1000 + Math.max(...sizes))
      }
    }),
    { numRuns: cases(1000, 2000) },
  )
})

test('402 only when the settled amount has reached the cap; before that, reservations are 429', () => {
  const world = new World(aRule({ budget: aBudget({ tokensPerDay: 1000 }) }))
  const first = world.admit(tokens(1500))
  assert.equal(first.outcome, 'admitted')
  const second = world.admit(tokens(1))
  assert.equal(verdict(second), 'budget_reserved')
  assert.ok(second.outcome === 'refused' && second.retryAfterMs <= 1000)
  world.settle(first.id, tokens(200))
  const third = world.admit(tokens(800))
  assert.equal(third.outcome, 'admitted')
  world.settle(third.id, tokens(800))
  const fourth = world.admit(tokens(1))
  assert.equal(verdict(fourth), 'budget_tokens')
  assert.ok(fourth.outcome === 'refused' && fourth.retryAfterMs === 12 * 3_600_000)
})

test('a spent budget downgrades if a downgrade route is eligible, and refuses otherwise', () => {
  const budget = aBudget({ nanosPerMonth: 100, onExceeded: 'downgrade' })
  const world = new World(aRule({ budget }))
  world.use(nanos(100))
  const downgraded = world.admit(nanos(50), nanos(5))
  assert.equal(verdict(downgraded), 'downgraded')
  assert.equal(downgraded.figures.spend?.reserved, 5)
  assert.equal(verdict(world.admit(nanos(50))), 'budget_spend')
  world.settle(downgraded.id, nanos(5))
  assert.equal(world.figures.spend?.settled, 105)
  assert.equal(verdict(world.admit(nanos(50), nanos(5))), 'downgraded')
})

test('reservations alone never downgrade', () => {
  const budget = aBudget({ nanosPerMonth: 100, onExceeded: 'downgrade' })
  const world = new World(aRule({ budget }))
  world.admit(nanos(100), nanos(1))
  assert.equal(verdict(world.admit(nanos(1), nanos(1))), 'budget_reserved')
})

test('a downgraded request still obeys the unspent budget, the rate and the slots', () => {
  const budget = aBudget({ nanosPerMonth: 100, tokensPerDay: 100, onExceeded: 'downgrade' })
  const world = new World(aRule({ budget, concurrentRequests: 2 }))
  world.use(nanos(100))
  assert.equal(verdict(world.admit(tokens(0), tokens(100))), 'downgraded')
  assert.equal(verdict(world.admit(tokens(0), tokens(1))), 'budget_reserved')
  world.rules = aRule({ budget: { ...budget, tokensPerDay: undefined }, concurrentRequests: 2 })
  assert.equal(verdict(world.admit(tokens(0), tokens(1))), 'downgraded')
  assert.equal(verdict(world.admit(tokens(0), tokens(1))), 'concurrency')
})

test('if one limit refuses, no other limit counts the request', () => {
  const spent = new World(
    aRule({ burst: 10, tokensPerMinute: 1000, budget: aBudget({ tokensPerDay: 10 }) }),
  )
  spent.use(tokens(10))
  const rows: readonly [string, World][] = [
    ['rpm', new World(aRule({ requestsPerMinute: 1, burst: 1, tokensPerMinute: 1000 }))],
    ['tpm', new World(aRule({ burst: 10, requestsPerMinute: 600, tokensPerMinute: 60 }))],
    ['concurrency', new World(aRule({ burst: 10, concurrentRequests: 1 }))],
    ['budget_reserved', new World(aRule({ burst: 10, budget: aBudget({ tokensPerDay: 60 }) }))],
    ['budget_tokens', spent],
  ]
  for (const [expected, world] of rows) {
    if (world !== spent) world.admit(tokens(60))
    const before = world.figures
    for (let index = 0; index < 20; index++) {
      const refused = world.admit(tokens(60))
      assert.equal(verdict(refused), expected)
      assert.deepEqual(refused.figures, before)
    }
    assert.deepEqual(world.figures, before)
  }
})

test('of several reasons the one with the longest wait is returned', () => {
  const world = new World(aRule({ requestsPerMinute: 6, burst: 1, concurrentRequests: 1 }))
  const { id } = world.admit()
  const refused = world.admit()
  assert.ok(refused.outcome === 'refused')
  assert.deepEqual([refused.by, refused.retryAfterMs], ['rpm', 10_000])
  world.settle(id)
  world.clock.pass(9_999)
  assert.equal(verdict(world.admit()), 'rpm')
  world.clock.pass(1)
  assert.equal(verdict(world.admit()), 'admitted')
})

test('a client that waits for its Retry-After is admitted', () => {
  const step = fc.record({
    gap: fc.integer({ min: 0, max: 30_000 }),
    size: fc.integer({ min: 1, max: 90 }),
  })
  const rules = aRule({
    requestsPerMinute: 40,
    burst: 4,
    tokensPerMinute: 300,
    budget: aBudget({ tokensPerDay: 5000, nanosPerMonth: 5000 }),
  })
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 120, size: 'max' }), (steps) => {
      const world = new World(rules, aClock(Date.parse('2026-11-30T23:50:00Z')))
      for (const { gap, size } of steps) {
        world.clock.pass(gap)
        const amount = { tokens: size, nanos: size }
        let result = world.admit(amount)
        if (result.outcome === 'refused') {
          world.clock.pass(Math.ceil(result.retryAfterMs / 1000) * 1000)
          result = world.admit(amount)
        }
        assert.equal(result.outcome, 'admitted')
        world.settle(result.id, amount)
      }
    }),
    { numRuns: cases(1000, 2000) },
  )
})

test('an answer of 1,500 tokens counts 1,500, and one of zero counts zero', () => {
  const world = new World(aRule({ budget: aBudget({ tokensPerDay: 10_000 }) }))
  world.use(tokens(1500))
  assert.equal(world.figures.tokens?.settled, 1500)
  world.settle(world.admit(tokens(4096)).id, tokens(0))
  assert.deepEqual(
    [world.figures.tokens?.settled, world.figures.tokens?.reserved, world.figures.concurrency.used],
    [1500, 0, 0],
  )
})

test('a hold grows while there is room, and a request that may not grow is still counted', () => {
  const world = new World(aRule({ budget: aBudget({ tokensPerDay: 1000 }) }))
  const stream = world.admit(tokens(100))
  assert.ok(world.extend(stream.id, tokens(600)))
  assert.equal(world.figures.tokens?.reserved, 600)
  assert.ok(world.extend(stream.id, tokens(300)))
  assert.equal(world.figures.tokens?.reserved, 600)
  assert.ok(world.extend(stream.id, tokens(1100)))
  assert.ok(!world.extend(stream.id, tokens(1200)))
  assert.equal(world.figures.tokens?.reserved, 1100)
  world.beat(stream.id, tokens(1300))
  assert.equal(world.figures.tokens?.reserved, 1300)
  world.settle(stream.id, tokens(1400))
  assert.equal(world.figures.tokens?.settled, 1400)
  assert.ok(!world.extend(stream.id, tokens(1)))
})

test('the token rate is charged the estimate and corrected by the usage', () => {
  const world = new World(aRule({ tokensPerMinute: 600 }))
  const first = world.admit(tokens(500))
  assert.equal(verdict(world.admit(tokens(200))), 'tpm')
  world.settle(first.id, tokens(100))
  assert.equal(world.figures.tokenRate?.remaining, 500)
  const second = world.admit(tokens(100))
  world.settle(second.id, tokens(700))
  assert.equal(world.figures.tokenRate?.remaining, 0)
  world.clock.pass(20_000)
  assert.equal(verdict(world.admit(tokens(1))), 'tpm')
  world.clock.pass(100)
  assert.equal(verdict(world.admit(tokens(1))), 'admitted')
})

test('changed limits apply to the next request and keep the usage', () => {
  const budget = aBudget({ tokensPerDay: 1000 })
  const world = new World(
    aRule({ requestsPerMinute: 60, burst: 10, concurrentRequests: 3, budget }),
  )
  const running = [world.admit(tokens(100)), world.admit(tokens(100)), world.admit(tokens(100))]
  assert.equal(verdict(world.admit()), 'concurrency')
  const raised = aRule({ requestsPerMinute: 60, burst: 20, concurrentRequests: 4, budget })
  world.rules = raised
  assert.equal(world.figures.requests.remaining, 17)
  assert.equal(verdict(world.admit(tokens(100))), 'admitted')
  world.rules = aRule({ requestsPerMinute: 60, burst: 2, concurrentRequests: 2, budget })
  assert.equal(world.figures.requests.remaining, 0)
  assert.deepEqual(world.figures.concurrency, { limit: 2, used: 4 })
  for (const { id } of running) world.settle(id, tokens(100))
  world.rules = { ...raised, budget: aBudget({ tokensPerDay: 300 }) }
  assert.equal(verdict(world.admit()), 'budget_tokens')
  world.rules = { ...raised, budget: aBudget({ tokensPerDay: 450 }) }
  assert.equal(world.figures.tokens?.settled, 300)
  assert.equal(verdict(world.admit()), 'admitted')
})

test('invalid amounts count as the nearest valid one', () => {
  const world = new World(aRule({ budget: aBudget({ tokensPerDay: 100, nanosPerMonth: 100 }) }))
  for (const wrong of [Number.NaN, -5, Number.NEGATIVE_INFINITY]) {
    world.use({ tokens: wrong, nanos: wrong })
  }
  assert.deepEqual([world.figures.tokens?.settled, world.figures.spend?.settled], [0, 0])
  world.use({ tokens: 0.2, nanos: Number.POSITIVE_INFINITY })
  assert.deepEqual(
    [world.figures.tokens?.settled, world.figures.spend?.settled],
    [1, Number.MAX_SAFE_INTEGER],
  )
})

test('a clock that steps back over midnight, repeatedly, loses no running request', () => {
  const world = new World(aRule({ budget: aBudget({ tokensPerDay: CAP }) }))
  const { clock } = world
  const midnight = Date.parse('2026-11-22T00:00:00Z')
  // Tomorrow is seen before today, so that it is the older ledger of the two.
  clock.setWall(midnight + 1000)
  world.admit(tokens(1))
  clock.setWall(midnight - 1000)
  world.admit(tokens(1))
  clock.setWall(midnight + 86_399_000)
  world.admit(tokens(7))
  clock.setWall(midnight + 86_401_000)
  world.admit(tokens(1))
  clock.setWall(midnight + 86_399_000)
  assert.equal(world.figures.tokens?.reserved, 1 + 7)
})
