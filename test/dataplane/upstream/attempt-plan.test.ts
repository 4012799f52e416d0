import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AttemptTarget } from '../../../dataplane/upstream/attempt/attempts.ts'
import { nextAttempt } from '../../../dataplane/upstream/attempt/plan.ts'
import type { FailureClass } from '../../../dataplane/wire/provider.ts'
import { aPlan, F, G, P, shown, standing, target, tried } from './plans.ts'

const plans = [
  ['nothing tried', 2, '', 'P'],
  ['2 with one fallback go straight over', 2, 'P:server', 'F'],
  ['2 attempts are two', 2, 'P:server F:server', 'attempts_spent'],
  ['3 give one repeat in place', 3, 'P:server', 'P again'],
  ['3 go over after the repeat', 3, 'P:server P:server', 'F'],
  ['3 attempts are three', 3, 'P:server P:server F:server', 'attempts_spent'],
  ['4 give two repeats in place', 4, 'P:server P:reset', 'P again'],
  ['silence is not tried again', 3, 'P:timeout', 'F'],
  ['the attempts left after silence go to the fallback', 3, 'P:timeout F:server', 'F again'],
  ['silence everywhere ends it', 5, 'P:timeout F:timeout', 'unavailable'],
  ['nothing goes back', 5, 'P:server P:server P:server F:timeout', 'unavailable'],
  ['a long Retry-After moves on', 3, 'P:rate_limited!', 'F'],
  ['a long Retry-After at the last one ends it', 3, 'P:timeout F:overloaded!', 'unavailable'],
  ['one attempt is one', 1, 'P:server', 'attempts_spent'],
  ["a client's mistake ends it", 3, 'P:client', 'client'],
] as const

for (const [sentence, attemptsMax, attempts, expected] of plans) {
  test(`${sentence}: ${attemptsMax} at most, ${attempts || 'none'} so far`, () => {
    assert.equal(shown(nextAttempt(aPlan({ attemptsMax, attempts: tried(attempts) }))), expected)
  })
}

const classes: Readonly<Record<FailureClass, string>> = {
  client: 'client',
  context: 'unavailable',
  credential: 'F',
  missing: 'F',
  rate_limited: 'P again',
  quota: 'F',
  overloaded: 'P again',
  server: 'P again',
  timeout: 'F',
  connect: 'P again',
  reset: 'P again',
  tls: 'F',
  malformed: 'P again',
}

for (const [failure, expected] of Object.entries(classes)) {
  test(`after ${failure}, with an attempt to spare: ${expected}`, () => {
    const attempts = tried(`P:${failure}`)
    assert.equal(shown(nextAttempt(aPlan({ attempts, attemptsMax: 3 }))), expected)
  })
}

test('without retry.max_attempts each candidate is tried once', () => {
  const plan = aPlan({ repeats: false, attemptsMax: 3, candidates: [P, F, G] })
  assert.equal(shown(nextAttempt({ ...plan, attempts: tried('P:server') })), 'F')
  const skipped = { ...plan, candidates: [F, G], attempts: tried('F:server G:server') }
  assert.equal(shown(nextAttempt(skipped)), 'unavailable')
})

test('a repeat that the budget refuses goes to the next, and the budget is used only for repeats', () => {
  const asked: string[] = []
  const mayRepeat = ({ name }: AttemptTarget) => asked.push(name) === 0
  const plan = aPlan({ attemptsMax: 3, mayRepeat })
  assert.equal(shown(nextAttempt(plan)), 'P')
  assert.equal(shown(nextAttempt({ ...plan, attempts: tried('P:timeout') })), 'F')
  assert.deepEqual(asked, [])
  assert.equal(shown(nextAttempt({ ...plan, attempts: tried('P:server') })), 'F')
  assert.equal(
    shown(nextAttempt({ ...plan, attempts: tried('P:timeout F:server') })),
    'unavailable',
  )
  assert.deepEqual(asked, ['P', 'F'])
})

const windows = [
  ['to a larger one', [8, 4, 16], 'P:context', 'G'],
  ['an equal one is not larger', [8, 8], 'P:context', 'unavailable'],
  ['an unknown one is not known to be larger', [8, undefined], 'P:context', 'unavailable'],
  ['nothing is larger than unknown', [undefined, 16], 'P:context', 'unavailable'],
  ['than all that were too small', [16, 32, 24], 'P:context F:context', 'unavailable'],
  ['even after another failure', [8, 32, 4], 'P:context F:timeout', 'unavailable'],
] as const

for (const [sentence, sizes, attempts, expected] of windows) {
  test(`too long a prompt goes on ${sentence}`, () => {
    const candidates = sizes.map((size, index) => target('PFG'[index]!, size))
    const known = tried(attempts).map((attempt) => {
      return {
        ...attempt,
        candidate: candidates.find(({ name }) => name === attempt.candidate.name)!,
      }
    })
    const plan = aPlan({ candidates, attempts: known, attemptsMax: 4, repeats: false })
    assert.equal(shown(nextAttempt(plan)), expected)
  })
}

const standings = [
  ['those not ready are skipped', { P: 'out', F: 'full' }, '', 'G'],
  ['no repeat where the breaker has opened', { P: 'out' }, 'P:server', 'F'],
  ['no repeat where it is full', { P: 'full' }, 'P:server', 'F'],
  ['full everywhere', { P: 'full', F: 'full', G: 'full' }, '', 'saturated'],
  ['full where it is not out', { P: 'out', F: 'full', G: 'out' }, '', 'saturated'],
  ['out everywhere', { P: 'out', F: 'out', G: 'out' }, '', 'unavailable'],
] as const

for (const [sentence, states, attempts, expected] of standings) {
  test(`standing: ${sentence}`, () => {
    const given = { candidates: [P, F, G], attempts: tried(attempts), attemptsMax: 4 }
    assert.equal(shown(nextAttempt(aPlan({ ...given, standing: standing(states) }))), expected)
  })
}

test('one that cools is tried last, never excluded', () => {
  const plan = aPlan({ candidates: [P, F, G], attemptsMax: 3, cooled: ({ name }) => name !== 'G' })
  assert.equal(shown(nextAttempt(plan)), 'G')
  assert.equal(shown(nextAttempt({ ...plan, attempts: tried('G:timeout') })), 'P')
  const alone = { ...plan, candidates: [P], attempts: tried('P:server') }
  assert.equal(shown(nextAttempt(alone)), 'P again')
})
