/** The benchmark's figures on the first requests of a process. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { warmUpOf } from './bench/warm-up.ts'

const REQUESTS = 50_000

/** A request every microsecond, whose processor time depends on its number. */
function curve(costUs: (request: number) => number) {
  const answers = Array.from({ length: REQUESTS }, (_, index) => (index + 1) * 1_000)
  const samples: [number, number][] = [[0, 5_000]]
  let runNs = 5_000
  for (let request = 1; request <= REQUESTS; request++) {
    runNs += costUs(request) * 1_000
    if (request % 500 === 0) samples.push([request * 1_000, runNs])
  }
  return warmUpOf(samples, answers)
}

test('a process has settled after the last dear thousand', () => {
  const { firstSeconds, settledAfter, endUs } = curve((request) => (request <= 20_000 ? 200 : 100))
  assert.equal(firstSeconds, 2)
  assert.equal(endUs, 100)
  // The median of five thousands is that of the third.
  assert.equal(settledAfter, 18_000)
})

test('a single dear thousand does not count', () => {
  const { settledAfter } = curve((request) => (request > 30_000 && request <= 31_000 ? 900 : 100))
  assert.equal(settledAfter, 1_000)
})
