/** When the breaker of the shared store opens, and what it takes to close it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Breaker } from '../../../dataplane/store/redis/breaker.ts'
import { aClock } from '../../helpers/clock.ts'

function closed() {
  const clock = aClock()
  const breaker = new Breaker(clock)
  assert.equal(breaker.isOpen, true, 'no answer has come yet')
  assert.equal(breaker.probed(true), true)
  return { clock, breaker }
}

/** Good probes that it takes to close it. */
function probesUntilClosed(breaker: Breaker): number {
  for (let probes = 1; probes <= 100; probes++) if (breaker.probed(true)) return probes
  throw new Error('It never closed.')
}

function fail(breaker: Breaker, times = 3): void {
  for (let failure = 0; failure < times; failure++) breaker.failed()
}

test('it opens with the third failure in a row', () => {
  const { breaker } = closed()
  assert.deepEqual([breaker.failed(), breaker.failed(), breaker.failed()], [false, false, true])
  assert.equal(breaker.isOpen, true)
})

test('an answer in between restarts the count', () => {
  const { breaker } = closed()
  fail(breaker, 2)
  breaker.succeeded()
  fail(breaker, 2)
  assert.equal(breaker.isOpen, false)
})

test('it opens when half of the answers of a second are failures', () => {
  const { breaker, clock } = closed()
  for (let pair = 0; pair < 9; pair++) {
    breaker.failed()
    breaker.succeeded()
  }
  assert.equal(breaker.isOpen, false, 'too few to judge')
  breaker.succeeded()
  assert.equal(breaker.failed(), true)
  assert.equal(breaker.probed(true) || breaker.probed(true) || breaker.probed(true), true)
  for (let second = 0; second < 30; second++) {
    breaker.failed()
    breaker.succeeded()
    clock.pass(1_000)
  }
  assert.equal(breaker.isOpen, false, 'what was long ago does not count')
})

test('three good probes in a row close it, and a bad one restarts the count', () => {
  const { breaker } = closed()
  fail(breaker)
  assert.deepEqual(
    [true, true, false, true, true].map((good) => breaker.probed(good)),
    [false, false, false, false, false],
  )
  assert.equal(breaker.probed(true), true)
})

test('each time that it opens again soon it takes twice as many, up to a bound', () => {
  const { breaker, clock } = closed()
  const needed = []
  for (let flap = 0; flap < 6; flap++) {
    fail(breaker)
    needed.push(probesUntilClosed(breaker))
    clock.pass(5_000)
  }
  assert.deepEqual(needed, [3, 6, 12, 24, 24, 24])
  clock.pass(60_000)
  fail(breaker)
  assert.equal(probesUntilClosed(breaker), 3)
})

test('a hasty one closes with the first good probe, however often it opens', () => {
  const clock = aClock()
  const breaker = new Breaker(clock, { isHasty: true })
  breaker.probed(true)
  for (let flap = 0; flap < 6; flap++) {
    fail(breaker)
    assert.equal(breaker.isOpen, true)
    assert.equal(breaker.probed(false), false)
    assert.equal(probesUntilClosed(breaker), 1)
    clock.pass(500)
  }
})
