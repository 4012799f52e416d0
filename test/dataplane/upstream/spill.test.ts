import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AttemptTarget, FailedAttempt } from '../../../dataplane/upstream/attempt/attempts.ts'
import { nextAttempt } from '../../../dataplane/upstream/attempt/plan.ts'
import { type SpillReason, spillReasons } from '../../../dataplane/upstream/attempt/spill.ts'
import { ALL, aPlan, F, G, P, shown, standing, target, tried } from './plans.ts'

const SATURATED = ['queue_saturated'] as const
const ERROR = ['upstream_error'] as const
const TIMEOUT = ['timeout'] as const

const spills = [
  ['primary first', ALL, {}, '', 'P'],
  ['error', ALL, {}, 'P:server', 'F on upstream_error'],
  ['429', ALL, {}, 'P:rate_limited', 'F on upstream_error'],
  ['silence', ALL, {}, 'P:timeout', 'F on timeout'],
  ['full', ALL, { P: 'full' }, '', 'F on queue_saturated'],
  ['out', ALL, { P: 'out' }, '', 'F on upstream_error'],
  ['error allowed', ERROR, {}, 'P:tls', 'F on upstream_error'],
  ['error not allowed: in place', TIMEOUT, {}, 'P:server', 'P again'],
  ['error not allowed: nothing', TIMEOUT, {}, 'P:tls', 'unavailable'],
  ['silence not allowed', ERROR, {}, 'P:timeout', 'unavailable'],
  ['full not allowed', ERROR, { P: 'full' }, '', 'saturated'],
  ['full allowed', SATURATED, { P: 'full' }, '', 'F on queue_saturated'],
  ['out is skipped in every case', [], { P: 'out' }, '', 'F on upstream_error'],
  ['full, and the fallbacks out', ALL, { P: 'full', F: 'out', G: 'out' }, '', 'saturated'],
  ['between fallbacks the rules do not apply', ERROR, {}, 'P:server F:timeout', 'G'],
  ['out, then silence at a fallback', [], { P: 'out' }, 'F:timeout', 'G'],
] as const

for (const [sentence, reasons, states, attempts, expected] of spills) {
  test(`spilling: ${sentence}`, () => {
    const attemptsMax = attempts.includes(' ') || reasons === ALL ? 3 : 2
    const given = { attemptsMax, candidates: [P, F, G], attempts: tried(attempts) }
    const spill = { primary: P, reasons: new Set<SpillReason>(reasons) }
    const plan = aPlan({ ...given, spill, standing: standing(states) })
    assert.equal(shown(nextAttempt(plan)), expected)
  })
}

test('a full primary that the strategy did not order still counts as full', () => {
  const spill = { primary: P, reasons: new Set<SpillReason>() }
  const plan = aPlan({ candidates: [F], spill, standing: standing({ P: 'full' }) })
  assert.equal(shown(nextAttempt(plan)), 'saturated')
})

test('a prompt too long for the primary may leave it under any rules, and is not an overflow', () => {
  const [small, large] = [target('P', 8), target('F', 16)]
  const attempts: FailedAttempt<AttemptTarget>[] = [
    { candidate: small, failure: 'context', moveOn: false },
  ]
  const spill = { primary: small, reasons: new Set<SpillReason>() }
  assert.equal(shown(nextAttempt(aPlan({ candidates: [small, large], attempts, spill }))), 'F')
})

test('a primary that cools comes after its fallbacks if errors may spill', () => {
  const cooled = (candidate: AttemptTarget) => candidate === P
  const plan = aPlan({ cooled, spill: { primary: P, reasons: ALL } })
  assert.equal(shown(nextAttempt(plan)), 'F on upstream_error')
  assert.equal(shown(nextAttempt({ ...plan, attempts: tried('F:timeout') })), 'P')
  const strict = { ...plan, spill: { primary: P, reasons: new Set<SpillReason>() } }
  assert.equal(shown(nextAttempt(strict)), 'P')
})

const overflows = [
  [undefined, ['queue_saturated', 'timeout', 'upstream_error']],
  [{}, []],
  [{ on_queue_saturated: 'fallback' }, ['queue_saturated']],
  [{ on_upstream_error: 'fallback', on_timeout: 'fallback' }, ['timeout', 'upstream_error']],
] as const

for (const [overflow, reasons] of overflows) {
  test(`overflow ${JSON.stringify(overflow)} spills on ${reasons.join(', ') || 'nothing'}`, () => {
    const none = {
      on_queue_saturated: 'none',
      on_upstream_error: 'none',
      on_timeout: 'none',
    } as const
    const given = overflow === undefined ? undefined : { ...none, ...overflow }
    assert.deepEqual([...spillReasons(given)].sort(), reasons)
  })
}
