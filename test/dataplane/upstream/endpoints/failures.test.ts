/** How long failures exclude endpoints, how many of them, and what is tried then, on a clock that the test advances. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Endpoint } from '../../../../dataplane/upstream/endpoints/endpoint.ts'
import { aRig } from './a-rig.ts'

const HOUR_MS = 3_600_000

test('an endpoint that fails is out for 1, 2, 4 and at most 30 seconds, until a request succeeds there', () => {
  const { rig, endpoints, choose } = aRig(4)
  const one = choose() ?? assert.fail('no endpoint was chosen')
  const waits: number[] = []
  for (let time = 0; time < 7; time++) {
    endpoints.failed(one, rig.now)
    waits.push((one.outUntil - rig.now) / 1000)
    // A failure of a request that was running meanwhile says nothing new.
    endpoints.failed(one, rig.now)
    rig.now = one.outUntil
  }
  assert.deepEqual(waits, [1, 2, 4, 8, 16, 30, 30])
  one.succeeded()
  endpoints.failed(one, rig.now)
  assert.equal(one.outUntil - rig.now, 1000)
})

test('at most half of the endpoints are out; beyond that all are in', () => {
  const { endpoints, chosen, fail } = aRig(8)
  fail(4)
  assert.equal(chosen(), 4)
  fail(1)
  assert.equal(chosen(), 8)
  assert.ok(endpoints.hasGood(1_000_000))
})

test('a request tries each endpoint once, and the name of the Service last', () => {
  const { rig, endpoints, choose } = aRig(3)
  const tried: Endpoint[] = []
  for (let place = choose(); place !== undefined; place = choose(...tried)) {
    endpoints.failed(place, rig.now)
    tried.push(place)
  }
  assert.equal(new Set(tried).size, 3)
  assert.ok(endpoints.hasOther(tried, rig.now))
  assert.ok(!endpoints.hasOther([...tried, undefined], rig.now))
})

test('without an operator for an hour the list stays', () => {
  const { rig, endpoints, chosen, fail } = aRig(6)
  rig.now += HOUR_MS
  endpoints.refresh()
  assert.equal(chosen(), 6)
  fail(3)
  assert.equal(chosen(), 3)
})

test("an endpoint whose probes succeed again closes the upstream's breaker", () => {
  const { endpoints, choose, recoveries, rig } = aRig(3)
  const { health } = choose() ?? assert.fail('no endpoint was chosen')
  for (const ok of [false, false, false, true]) health.observe(ok, rig.now)
  assert.equal(recoveries.count, 0)
  health.observe(true, rig.now)
  assert.equal(recoveries.count, 1)
  assert.equal(endpoints.isUnhealthy, false)
})
