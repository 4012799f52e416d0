import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Breaker } from '../../../dataplane/connection/breaker.ts'

const SETTINGS = { failureThreshold: 3, openDurationMs: 1000, halfOpenProbes: 2 }

function aBreaker(settings = SETTINGS) {
  const changes: string[] = []
  const breaker = new Breaker(settings, (from, to) => changes.push(`${from}>${to}`))
  return { breaker, changes }
}

function fail(breaker: Breaker, times: number, now = 0) {
  for (let each = 0; each < times; each++) breaker.failure(breaker.permit(now)!, now)
}

test('it opens at the threshold, refuses, and reports when it will try again', () => {
  const { breaker, changes } = aBreaker()
  fail(breaker, 2, 100)
  assert.equal(breaker.peek(100), 'closed')
  assert.equal(breaker.reopensAt, undefined)
  fail(breaker, 1, 200)
  assert.equal(breaker.peek(1199), 'open')
  assert.equal(breaker.permits(1199), false)
  assert.equal(breaker.permit(1199), undefined)
  assert.equal(breaker.reopensAt, 1200)
  assert.deepEqual(changes, ['closed>open'])
})

test('a success restarts the count of failures', () => {
  const { breaker } = aBreaker()
  fail(breaker, 2)
  breaker.success(breaker.permit(0)!, 0)
  fail(breaker, 2)
  assert.equal(breaker.peek(0), 'closed')
})

test('reading its state changes nothing', () => {
  const { breaker, changes } = aBreaker()
  fail(breaker, 3)
  assert.equal(breaker.peek(1000), 'half_open')
  assert.equal(breaker.permits(1000), true)
  assert.equal(breaker.peek(999), 'open')
  assert.deepEqual(changes, ['closed>open'])
})

test('half open it admits as many probes as configured, and that many successes close it', () => {
  const { breaker, changes } = aBreaker()
  fail(breaker, 3)
  const first = breaker.permit(1000)!
  const second = breaker.permit(1000)!
  assert.equal(first.kind, 'probe')
  assert.equal(breaker.permits(1000), false)
  assert.equal(breaker.permit(1000), undefined)
  breaker.success(first, 1100)
  assert.equal(breaker.peek(1100), 'half_open')
  breaker.success(second, 1100)
  assert.equal(breaker.permit(1100)?.kind, 'closed')
  assert.deepEqual(changes, ['closed>open', 'open>half_open', 'half_open>closed'])
})

test('a failed probe opens it again for the same duration', () => {
  const { breaker, changes } = aBreaker()
  fail(breaker, 3)
  breaker.failure(breaker.permit(1000)!, 1500)
  assert.equal(breaker.reopensAt, 2500)
  assert.equal(breaker.peek(2499), 'open')
  assert.equal(breaker.permit(2500)?.kind, 'probe')
  assert.deepEqual(changes.slice(1), ['open>half_open', 'half_open>open', 'open>half_open'])
})

test('a probe whose client disconnected frees its place and proves nothing', () => {
  const { breaker } = aBreaker({ ...SETTINGS, halfOpenProbes: 1 })
  fail(breaker, 3)
  breaker.neutral(breaker.permit(1000)!)
  assert.equal(breaker.peek(1000), 'half_open')
  assert.equal(breaker.permit(1000)?.kind, 'probe')
})

test('a late success of an old request does not close it', () => {
  const { breaker } = aBreaker()
  const old = breaker.permit(0)!
  fail(breaker, 3)
  breaker.success(old, 10)
  assert.equal(breaker.peek(10), 'open')
  breaker.permit(1000)
  breaker.success(old, 1000)
  breaker.success(old, 1000)
  assert.equal(breaker.peek(1000), 'half_open')
})

test('late failures of old requests neither prolong it nor open it again', () => {
  const { breaker } = aBreaker({ ...SETTINGS, halfOpenProbes: 1 })
  const old = breaker.permit(0)!
  fail(breaker, 3)
  breaker.failure(old, 900)
  assert.equal(breaker.reopensAt, 1000)
  const probe = breaker.permit(1000)!
  breaker.failure(old, 1000)
  assert.equal(breaker.peek(1000), 'half_open')
  breaker.success(probe, 1001)
  for (let each = 0; each < 10; each++) breaker.failure(old, 1002)
  assert.equal(breaker.peek(1002), 'closed')
})

test('a late result of a probe from before it opened again frees no place', () => {
  const { breaker } = aBreaker()
  fail(breaker, 3)
  const slow = breaker.permit(1000)!
  breaker.failure(breaker.permit(1000)!, 1000)
  breaker.permit(2000)
  breaker.permit(2000)
  breaker.neutral(slow)
  breaker.success(slow, 2000)
  assert.equal(breaker.permit(2000), undefined)
})

test('new settings apply at once and keep the state', () => {
  const { breaker, changes } = aBreaker()
  fail(breaker, 2)
  breaker.configure({ ...SETTINGS, failureThreshold: 2 })
  assert.equal(breaker.peek(0), 'closed')
  fail(breaker, 1)
  assert.equal(breaker.peek(999), 'open')
  breaker.configure({ ...SETTINGS, openDurationMs: 500 })
  assert.equal(breaker.peek(500), 'half_open')
  assert.deepEqual(changes, ['closed>open'])
})

test('a recovered health probe makes an open one half open at once, and changes nothing else', () => {
  const { breaker, changes } = aBreaker({ ...SETTINGS, halfOpenProbes: 1 })
  breaker.recovered()
  assert.equal(breaker.peek(0), 'closed')
  fail(breaker, 3)
  breaker.recovered()
  assert.equal(breaker.peek(1), 'half_open')
  assert.equal(breaker.reopensAt, undefined)
  const probe = breaker.permit(1)!
  assert.equal(probe.kind, 'probe')
  breaker.recovered()
  assert.equal(breaker.permit(1), undefined)
  breaker.failure(probe, 2)
  assert.equal(breaker.reopensAt, 1002)
  assert.deepEqual(changes, ['closed>open', 'open>half_open', 'half_open>open'])
})
