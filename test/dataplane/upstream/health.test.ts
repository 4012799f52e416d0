import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { HealthCheck } from '../../../dataplane/upstream/live/health.ts'

const SETTINGS = { intervalMs: 10_000, healthyThreshold: 2, unhealthyThreshold: 3 }

function observed(results: string) {
  const changes: string[] = []
  let turns = 0
  const health = new HealthCheck(
    SETTINGS,
    (from, to) => changes.push(`${from}>${to}`),
    () => turns++,
  )
  for (const [index, result] of [...results].entries()) health.observe(result === '+', index)
  return { health, changes, turns }
}

const sequences = [
  ['', 'healthy', 0],
  ['--', 'healthy', 0],
  ['---', 'unhealthy', 1],
  ['--+--', 'healthy', 0],
  ['---+', 'unhealthy', 1],
  ['---+-+', 'unhealthy', 1],
  ['---++', 'healthy', 2],
  ['---++--', 'healthy', 2],
  ['-------++', 'healthy', 2],
] as const

for (const [results, state, changes] of sequences) {
  test(`after "${results}" an upstream is ${state}`, () => {
    const seen = observed(results)
    assert.equal(seen.health.state, state)
    assert.equal(seen.changes.length, changes)
  })
}

for (const [results, turns] of [
  ['++++', 0],
  ['-+', 0],
  ['-+-+', 0],
  ['-++', 1],
  ['-++++', 1],
  ['---++', 1],
  ['-++-++', 2],
] as const) {
  test(`"${results}" are successes after failures ${turns} times`, () => {
    assert.equal(observed(results).turns, turns)
  })
}

test('the state is that of the last run that reached its threshold', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('+', '-'), { maxLength: 40 }), (results) => {
      const text = results.join('')
      const down = text.lastIndexOf('---')
      const state = down >= 0 && !text.slice(down).includes('++') ? 'unhealthy' : 'healthy'
      assert.equal(observed(text).health.state, state)
    }),
  )
})

test('new thresholds keep the state and apply from the next result', () => {
  const { health } = observed('--')
  health.configure({ ...SETTINGS, unhealthyThreshold: 1 })
  assert.equal(health.state, 'healthy')
  health.observe(false, 5)
  assert.equal(health.state, 'unhealthy')
  assert.equal(health.observedAt, 5)
})
