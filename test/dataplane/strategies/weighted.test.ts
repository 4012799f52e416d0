import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { weighted } from '../../../dataplane/strategies/weighted.ts'
import { aCandidate, aChoice, namesOf, seeded } from './choices.ts'

const DRAWS = 4000
/** Six standard deviations: a correct share misses it once in half a billion draws. */
const DEVIATIONS = 6

function ofWeights(weights: readonly number[]) {
  return weights.map((weight, index) => aCandidate(`${index}`, { weight }))
}

function assertShare(hits: number, draws: number, share: number) {
  const deviation = Math.sqrt(draws * share * (1 - share))
  const distance = Math.abs(hits - draws * share)
  assert.ok(
    distance <= DEVIATIONS * deviation + 1e-9,
    `${hits} of ${draws} for a share of ${share}`,
  )
}

const someWeights = fc
  .array(fc.oneof(fc.nat(100), fc.double({ min: 0.01, max: 10, noNaN: true })), {
    minLength: 2,
    maxLength: 6,
  })
  .filter((weights) => weights.some((weight) => weight > 0))

test('the first place is drawn by weight, within binomial bounds', () => {
  fc.assert(
    fc.property(someWeights, fc.nat(), (weights, seed) => {
      const choice = aChoice({ eligible: ofWeights(weights), random: seeded(seed) })
      const firsts = weights.map(() => 0)
      for (let draw = 0; draw < DRAWS; draw++) firsts[Number(weighted.order(choice)[0]?.name)]! += 1
      const total = weights.reduce((sum, weight) => sum + weight, 0)
      for (const [index, weight] of weights.entries()) {
        assertShare(firsts[index]!, DRAWS, weight / total)
      }
    }),
    { numRuns: 40, seed: 20261121 },
  )
})

test('the second place is drawn by weight among the rest', () => {
  const choice = aChoice({ eligible: ofWeights([6, 3, 1]), random: seeded(7) })
  const seconds = [0, 0, 0]
  let draws = 0
  for (let draw = 0; draw < 20_000; draw++) {
    const order = weighted.order(choice)
    if (order[0]?.name !== '0') continue
    draws++
    seconds[Number(order[1]?.name)]! += 1
  }
  assertShare(seconds[1]!, draws, 0.75)
  assertShare(seconds[2]!, draws, 0.25)
})

test('weight zero is never before a weight, for every draw', () => {
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  fc.assert(
    fc.property(someWeights, fc.infiniteStream(random), (weights, draws) => {
      const next = () => draws.next().value
      const order = weighted.order(aChoice({ eligible: ofWeights(weights), random: next }))
      const zeroes = order.map((candidate) => candidate.weight === 0)
      assert.deepEqual(zeroes, zeroes.toSorted())
    }),
  )
})

test('when all weights are zero all are equal', () => {
  const choice = aChoice({ eligible: ofWeights([0, 0, 0]), random: seeded(3) })
  const firsts = [0, 0, 0]
  for (let draw = 0; draw < DRAWS; draw++) firsts[Number(weighted.order(choice)[0]?.name)]! += 1
  for (const hits of firsts) assertShare(hits, DRAWS, 1 / 3)
})

test('the extremes of random draw the ends of the list', () => {
  const eligible = ofWeights([1, 1, 0])
  assert.equal(namesOf(weighted.order(aChoice({ eligible, random: () => 0 }))), '012')
  assert.equal(namesOf(weighted.order(aChoice({ eligible, random: () => 1 - 2 ** -53 }))), '102')
})

test('if rounding puts the point after the last weight, weight zero still does not win', () => {
  const eligible = ofWeights([0.1, 0.2, 0.3, 0])
  const order = weighted.order(aChoice({ eligible, random: () => 1 - 2 ** -53 }))
  assert.equal(order[0]?.name, '2')
  assert.equal(order.at(-1)?.name, '3')
})
