/** The strategies that look at the speed and the price of upstreams. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Candidate } from '../../../dataplane/strategies/contract.ts'
import { STRATEGIES } from '../../../dataplane/strategies/index.ts'
import { FirstContent } from '../../../dataplane/upstream/answer/first-content.ts'
import { aCandidate, aChoice } from './choices.ts'

const namesOf = (list: readonly Candidate[]) => list.map(({ name }) => name)

const drawn = (...numbers: number[]) => {
  const left = [...numbers]
  return () => left.shift() ?? 0
}

test('the lowest price comes first, no price last, and equals take turns', () => {
  const eligible = [
    aCandidate('none'),
    aCandidate('dear', { price: 9 }),
    aCandidate('a', { price: 1 }),
    aCandidate('b', { price: 1 }),
  ]
  const firsts = [0, 1, 2, 3].map((turn) =>
    namesOf(STRATEGIES.cheapest?.order(aChoice({ eligible, turn })) ?? []),
  )
  for (const names of firsts) assert.deepEqual(names.slice(2), ['dear', 'none'])
  assert.deepEqual(new Set(firsts.map(([first]) => first)), new Set(['a', 'b']))
})

const speeds = [
  aCandidate('slow', { firstContentMs: 900 }),
  aCandidate('quick', { firstContentMs: 100 }),
  aCandidate('middle', { firstContentMs: 300 }),
]

test('the faster of two drawn comes first, then the others by their speed', () => {
  const order = (...numbers: number[]) =>
    namesOf(
      STRATEGIES.fastest?.order(aChoice({ eligible: speeds, random: drawn(...numbers) })) ?? [],
    )
  assert.deepEqual(order(0.9, 0.99, 0), ['quick', 'middle', 'slow'])
  assert.deepEqual(order(0.9, 0.4, 0), ['middle', 'quick', 'slow'])
  assert.deepEqual(order(0.01, 0.99), ['slow', 'quick', 'middle'], 'an explored one')
})

test('an upstream that was not measured is asked by one request at a time', () => {
  const order = (inFlight: number) => {
    const eligible = [...speeds.slice(0, 1), aCandidate('new', { inFlight })]
    return namesOf(
      STRATEGIES.fastest?.order(aChoice({ eligible, random: drawn(0.9, 0, 0) })) ?? [],
    )[0]
  }
  assert.deepEqual([order(0), order(1)], ['new', 'slow'])
})

test('the average follows the latest streams, and a failure is slow', () => {
  const average = new FirstContent()
  average.note(100, 0)
  average.note(200, 0)
  assert.equal(average.ms, 120)
  average.failed()
  assert.equal(average.ms, 2000)
})
