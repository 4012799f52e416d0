import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { leastQueue } from '../../../dataplane/strategies/least-queue.ts'
import { primaryWithFallback } from '../../../dataplane/strategies/primary-with-fallback.ts'
import { roundRobin } from '../../../dataplane/strategies/round-robin.ts'
import { aCandidate, aChoice, named, namesOf } from './choices.ts'

test('round robin begins one further each turn and keeps the order after it', () => {
  const orders = [0, 1, 2, 3].map((turn) => namesOf(roundRobin.order(aChoice({ turn }))))
  assert.deepEqual(orders, ['abc', 'bca', 'cab', 'abc'])
})

const stretches = fc.array(
  fc.record({
    eligible: fc.subarray(['a', 'b', 'c', 'd', 'e'], { minLength: 1 }),
    turns: fc.integer({ min: 1, max: 40 }),
  }),
  { maxLength: 12 },
)

test('while the same upstreams are eligible, round robin gives each the same number, plus or minus one', () => {
  fc.assert(
    fc.property(stretches, fc.nat(1000), (given, begin) => {
      let turn = begin
      for (const { eligible, turns } of given) {
        const firsts = new Map(eligible.map((name) => [name, 0]))
        for (let each = 0; each < turns; each++, turn++) {
          const order = roundRobin.order(aChoice({ eligible: named(eligible.join('')), turn }))
          const first = order[0]!.name
          firsts.set(first, firsts.get(first)! + 1)
        }
        assert.ok(Math.max(...firsts.values()) - Math.min(...firsts.values()) <= 1)
      }
    }),
  )
})

const queues = [
  ['the shortest first', { a: [9, 0], b: [2, 0], c: [5, 0] }, 'bca'],
  ['own requests in flight count on top of the report', { a: [1, 4], b: [4, 0], c: [3, 0] }, 'cba'],
  ['unknown counts only own requests', { a: [undefined, 3], b: [undefined, 1], c: [2, 0] }, 'bca'],
  ['a report of zero is known', { a: [0, 2], b: [1, 0], c: [undefined, 3] }, 'bac'],
] as const

for (const [sentence, given, expected] of queues) {
  test(`least queue: ${sentence}`, () => {
    const eligible = Object.entries(given).map(([name, [reportedQueue, inFlight]]) =>
      aCandidate(name, { reportedQueue, inFlight }),
    )
    assert.equal(namesOf(leastQueue.order(aChoice({ eligible }))), expected)
  })
}

test('equal queues take turns, at any position', () => {
  const eligible = [
    aCandidate('a', { inFlight: 5 }),
    aCandidate('b'),
    aCandidate('c', { inFlight: 5 }),
    aCandidate('d'),
  ]
  const orders = [0, 1, 2].map((turn) => namesOf(leastQueue.order(aChoice({ eligible, turn }))))
  assert.deepEqual(orders, ['bdac', 'dbca', 'bdac'])
})

test('under least queue no upstream gets ahead by more than one', () => {
  const inFlight = [0, 0, 0]
  for (let turn = 0; turn < 300; turn++) {
    const eligible = inFlight.map((count, index) => aCandidate(`${index}`, { inFlight: count }))
    const first = Number(leastQueue.order(aChoice({ eligible, turn }))[0]?.name)
    inFlight[first]! += 1
    assert.ok(Math.max(...inFlight) - Math.min(...inFlight) <= 1)
  }
})

test('primary with fallback keeps the listed order at every turn', () => {
  for (const turn of [0, 1, 2]) {
    assert.equal(namesOf(primaryWithFallback.order(aChoice({ turn }))), 'abc')
  }
})
