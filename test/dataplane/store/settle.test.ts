import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { LEASE_MS } from '../../../dataplane/accounts/store.ts'
import { cases } from '../../helpers/cases.ts'
import { aClock } from '../../helpers/clock.ts'
import { aBudget, aRule, tokens, verdict, World } from '../../helpers/store/world.ts'

const BUDGET = aBudget({ tokensPerDay: 1_000_000_000, nanosPerMonth: 1_000_000_000 })

test('settled one to five times, in any order, even after expiry, a request is charged once', () => {
  const request = fc.record({
    used: fc.record({ tokens: fc.nat(1000), nanos: fc.nat(1000) }),
    beaten: fc.option(fc.nat(500), { nil: undefined }),
    times: fc.integer({ min: 1, max: 5 }),
  })
  const settlements = fc.array(request, { minLength: 1, maxLength: 20 }).chain((requests) =>
    fc.record({
      requests: fc.constant(requests),
      order: fc.shuffledSubarray(
        requests.flatMap(({ times }, index) => new Array<number>(times).fill(index)),
        { minLength: requests.reduce((sum, { times }) => sum + times, 0) },
      ),
      waits: fc.array(fc.constantFrom(0, 0, 0, 4000, LEASE_MS), { minLength: 100, maxLength: 100 }),
    }),
  )
  fc.assert(
    fc.property(settlements, ({ requests, order, waits }) => {
      const world = new World(aRule({ budget: BUDGET, tokensPerMinute: 1_000_000_000 }))
      const ids = requests.map(({ used }) => world.admit(used).id)
      for (const [index, { beaten }] of requests.entries()) {
        if (beaten !== undefined) world.beat(ids[index]!, { tokens: beaten, nanos: beaten })
      }
      const charged = new Map<number, number>()
      for (const [step, index] of order.entries()) {
        world.clock.pass(waits[step]!)
        const settlement = world.settle(ids[index]!, requests[index]!.used)
        if (settlement.charged) charged.set(index, (charged.get(index) ?? 0) + 1)
      }
      assert.deepEqual(
        [...charged.values()],
        requests.map(() => 1),
      )
      const { tokens: day, spend, concurrency } = world.figures
      const sum = (unit: 'tokens' | 'nanos') =>
        requests.reduce((all, { used }) => all + used[unit], 0)
      assert.deepEqual([day?.settled, spend?.settled], [sum('tokens'), sum('nanos')])
      assert.deepEqual([day?.reserved, spend?.reserved, concurrency.used], [0, 0, 0])
    }),
    { numRuns: cases(1000, 5000) },
  )
})

test('a lease that is not renewed frees its slot after 15 s and is charged the amount of its last heartbeat', () => {
  const world = new World(aRule({ concurrentRequests: 1, budget: BUDGET }))
  const { id } = world.admit(tokens(500))
  world.clock.pass(5000)
  assert.deepEqual(world.beat(id, tokens(120)), [])
  world.clock.pass(LEASE_MS - 1)
  assert.equal(verdict(world.admit()), 'concurrency')
  world.clock.pass(1)
  assert.deepEqual(
    [world.figures.concurrency.used, world.figures.tokens?.reserved, world.figures.tokens?.settled],
    [0, 0, 120],
  )
  assert.equal(verdict(world.admit()), 'admitted')
})

test('a renewed lease lasts as long as its request', () => {
  const world = new World(aRule({ concurrentRequests: 1, budget: BUDGET }))
  const { id } = world.admit(tokens(10))
  for (let beat = 0; beat < 1000; beat++) {
    world.clock.pass(5000)
    assert.deepEqual(world.beat(id, tokens(beat)), [])
    assert.equal(verdict(world.admit()), 'concurrency')
  }
})

test('a late beat does not take a slot back, and a late settlement corrects the charge', () => {
  const world = new World(aRule({ concurrentRequests: 1, budget: BUDGET }))
  const stalled = world.admit(tokens(500))
  world.beat(stalled.id, tokens(120))
  world.clock.pass(LEASE_MS)
  const next = world.admit(tokens(1))
  assert.deepEqual(world.beat(stalled.id, tokens(130)), [stalled.id])
  assert.equal(world.figures.concurrency.used, 1)
  assert.equal(world.settle(stalled.id, tokens(90)).charged, true)
  assert.equal(world.figures.tokens?.settled, 90)
  assert.equal(world.settle(stalled.id, tokens(90)).charged, false)
  world.settle(next.id, tokens(1))
  assert.equal(world.figures.tokens?.settled, 91)
})

test('a beat out of order takes nothing back', () => {
  const world = new World(aRule({ budget: BUDGET }))
  const { id } = world.admit(tokens(500))
  world.beat(id, tokens(200))
  world.beat(id, tokens(100))
  world.clock.pass(LEASE_MS)
  assert.equal(world.figures.tokens?.settled, 200)
})

test('a repeated admission with the same id returns the first one', () => {
  const world = new World(aRule({ burst: 5, requestsPerMinute: 60, budget: BUDGET }))
  const request = { tenant: 'acme', id: 'same', rules: world.rules, estimate: tokens(70) }
  const first = world.store.admit(request)
  assert.deepEqual(world.store.admit(request), first)
  assert.deepEqual([first.figures.requests.remaining, first.figures.tokens?.reserved], [4, 70])
})

test('tenants do not affect each other', () => {
  const world = new World(aRule({ burst: 1, requestsPerMinute: 1, concurrentRequests: 1 }))
  for (const tenant of ['one', 'other', '__proto__', 'constructor']) {
    const request = { tenant, id: `r-${tenant}`, rules: world.rules, estimate: tokens(1) }
    assert.equal(world.store.admit(request).outcome, 'admitted')
    assert.equal(verdict(world.store.admit({ ...request, id: `s-${tenant}` })), 'rpm')
  }
})

test('each threshold is reported once per window, whichever settlement reaches it', () => {
  const budget = aBudget({
    tokensPerDay: 100,
    nanosPerMonth: 1000,
    alertThresholds: [0.07, 0.5, 0.8, 1],
  })
  const world = new World(aRule({ budget }), aClock(Date.parse('2026-11-30T12:00:00Z')))
  const reached = (used: { tokens: number; nanos: number }) =>
    world
      .settle(world.admit().id, used)
      .crossed.map(({ kind, threshold }) => `${kind} ${threshold}`)
  assert.deepEqual(reached({ tokens: 6, nanos: 0 }), [])
  assert.deepEqual(reached({ tokens: 1, nanos: 0 }), ['tokens 0.07'])
  assert.deepEqual(reached({ tokens: 75, nanos: 500 }), [
    'tokens 0.5',
    'tokens 0.8',
    'spend 0.07',
    'spend 0.5',
  ])
  assert.deepEqual(reached({ tokens: 0, nanos: 0 }), [])
  world.rules = aRule({ budget: { ...budget, tokensPerDay: 200 } })
  assert.deepEqual(reached({ tokens: 60, nanos: 0 }), [])
  world.clock.pass(12 * 3_600_000)
  assert.deepEqual(reached({ tokens: 50, nanos: 70 }), ['tokens 0.07', 'spend 0.07'])
})

test('with no request running the gauges are zero after any history of one process', () => {
  const step = fc.record({
    wait: fc.constantFrom(0, 100, 6000),
    settle: fc.boolean(),
    beat: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const world = new World(aRule({ budget: BUDGET }))
      const ids: string[] = []
      for (const { wait, settle, beat } of steps) {
        ids.push(world.admit(tokens(7)).id)
        world.clock.pass(wait)
        if (beat) for (const id of ids) world.beat(id, tokens(3))
        if (settle) world.settle(ids.pop()!, tokens(9))
      }
      for (const id of ids) world.settle(id, tokens(1))
      const { tokens: day, spend, concurrency } = world.figures
      assert.deepEqual([day?.reserved, spend?.reserved, concurrency.used], [0, 0, 0])
    }),
    { numRuns: 2000 },
  )
})

test('of 10,000 abandoned requests nothing is left after 15 s', () => {
  const world = new World(aRule({ concurrentRequests: 10_000, budget: BUDGET }))
  for (let index = 0; index < 10_000; index++) world.admit(tokens(5))
  assert.equal(verdict(world.admit()), 'concurrency')
  world.clock.pass(LEASE_MS)
  const { concurrency, tokens: day } = world.figures
  assert.deepEqual([concurrency.used, day?.reserved, day?.settled], [0, 0, 0])
})
