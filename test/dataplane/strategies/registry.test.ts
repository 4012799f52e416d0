import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { STRATEGY_NAMES } from '../../../dataplane/schema/constants.ts'
import { STRATEGIES } from '../../../dataplane/strategies/index.ts'
import { aCandidate, aChoice, aRoute, namesOf, seeded } from './choices.ts'

test('every strategy name has a strategy of that name', () => {
  for (const name of STRATEGY_NAMES) assert.equal(STRATEGIES[name]?.name, name)
})

const upstreams = [{ name: 'b' }, { name: 'a', weight: 3 }, { name: 'c' }]
const sides = { easy: 'small', hard: 'large' }

const members = [
  ['single', { primary: 'p', upstreams }, ['p']],
  ['single', { upstreams: [{ name: 'only' }] }, ['only']],
  ['single', {}, []],
  ['round_robin', { upstreams }, ['b', 'a', 'c']],
  ['weighted', { upstreams }, ['b', 'a', 'c']],
  ['least_queue', { upstreams }, ['b', 'a', 'c']],
  ['fastest', { upstreams }, ['b', 'a', 'c']],
  ['cheapest', { upstreams }, ['b', 'a', 'c']],
  ['primary_with_fallback', { primary: 'p', fallback: ['g', 'f'] }, ['p', 'g', 'f']],
  ['primary_with_fallback', { primary: 'p', fallback: ['f', 'p', 'f'] }, ['p', 'f']],
  ['semantic', { semantic: sides }, ['small', 'large']],
  ['semantic', { semantic: { easy: 'one', hard: 'one' } }, ['one']],
  ['semantic', {}, []],
] as const

for (const [strategy, section, expected] of members) {
  test(`${strategy} on ${JSON.stringify(section)} may use ${expected.join(', ') || 'nothing'}`, () => {
    assert.deepEqual(STRATEGIES[strategy]?.members(aRoute({ strategy, ...section })), expected)
  })
}

test('the embedding upstream of semantic is not a member, because it answers no chat', () => {
  const embedding = { upstream: 'e', exemplars: {} }
  const route = aRoute({ semantic: { ...sides, classifier: 'embedding', embedding } })
  assert.deepEqual(STRATEGIES.semantic?.members(route), ['small', 'large'])
})

test('with one eligible upstream every strategy returns the given list', () => {
  const choice = aChoice({
    eligible: [aCandidate('large', { weight: 0 })],
    route: aRoute({ semantic: sides }),
    turn: 7,
    random: () => assert.fail('there is nothing to draw'),
  })
  for (const strategy of Object.values(STRATEGIES)) {
    assert.equal(strategy.order(choice), choice.eligible, strategy.name)
  }
})

const candidates = fc
  .array(
    fc.record({
      weight: fc.nat(5),
      inFlight: fc.nat(3),
      reportedQueue: fc.option(fc.nat(3), { nil: undefined }),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((known) => known.map((each, index) => aCandidate(String.fromCharCode(97 + index), each)))

test('every strategy orders all eligible upstreams, each once, and leaves its input as it was', () => {
  fc.assert(
    fc.property(candidates, fc.nat(), fc.nat(), (eligible, turn, seed) => {
      const before = namesOf(eligible)
      const route = aRoute({ semantic: { easy: 'a', hard: 'b' } })
      for (const strategy of Object.values(STRATEGIES)) {
        const order = strategy.order(aChoice({ eligible, turn, route, random: seeded(seed) }))
        assert.equal([...namesOf(order)].sort().join(''), before, strategy.name)
        assert.equal(namesOf(eligible), before, strategy.name)
      }
    }),
  )
})
