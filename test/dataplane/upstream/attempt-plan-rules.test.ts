import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type {
  AttemptTarget,
  FailedAttempt,
  Standing,
} from '../../../dataplane/upstream/attempt/attempts.ts'
import { nextAttempt } from '../../../dataplane/upstream/attempt/plan.ts'
import type { SpillReason } from '../../../dataplane/upstream/attempt/spill.ts'
import type { FailureClass } from '../../../dataplane/wire/provider.ts'
import { ALL, target } from './plans.ts'

const FAILURES: readonly FailureClass[] = [
  'client',
  'context',
  'credential',
  'missing',
  'rate_limited',
  'quota',
  'overloaded',
  'server',
  'timeout',
  'connect',
  'reset',
  'tls',
  'malformed',
]

const arbitraryStanding = fc.constantFrom<Standing>('ready', 'ready', 'ready', 'full', 'out')
const arbitraryRun = fc.record({
  count: fc.integer({ min: 1, max: 5 }),
  attemptsMax: fc.integer({ min: 1, max: 10 }),
  repeats: fc.boolean(),
  reasons: fc.option(fc.subarray([...ALL]), { nil: undefined }),
  windows: fc.array(fc.option(fc.nat(3), { nil: undefined }), { minLength: 5, maxLength: 5 }),
  failures: fc.infiniteStream(
    fc.oneof(fc.constantFrom(...FAILURES), fc.constant<FailureClass>('server')),
  ),
  moves: fc.infiniteStream(fc.nat(3).map((value) => value === 0)),
  standings: fc.infiniteStream(arbitraryStanding),
  cools: fc.infiniteStream(fc.boolean()),
  budget: fc.infiniteStream(fc.boolean()),
})

test('the rules over attempts hold for all failures in all orders', () => {
  let repeated = 0
  fc.assert(
    fc.property(arbitraryRun, (run) => {
      const candidates = Array.from({ length: run.count }, (_, index) =>
        target(`${index}`, run.windows[index] ?? undefined),
      )
      const primary = candidates[0]!
      const spill = run.reasons && { primary, reasons: new Set<SpillReason>(run.reasons) }
      const attempts: FailedAttempt<AttemptTarget>[] = []
      for (;;) {
        const states = new Map(candidates.map((each) => [each, run.standings.next().value]))
        const cools = new Map(candidates.map((each) => [each, run.cools.next().value]))
        const next = nextAttempt({
          candidates,
          attempts,
          attemptsMax: run.attemptsMax,
          repeats: run.repeats,
          spill,
          standing: (candidate) => states.get(candidate)!,
          cooled: (candidate) => cools.get(candidate)!,
          mayRepeat: () => run.budget.next().value,
        })
        if (next.kind === 'none') break
        const { candidate, repeat } = next
        const last = attempts.at(-1)
        const earlier = attempts.filter((attempt) => attempt.candidate === candidate)
        assert.ok(attempts.length < run.attemptsMax, 'attemptsMax bounds all attempts')
        assert.equal(states.get(candidate), 'ready')
        assert.notEqual(last?.failure, 'client')
        assert.equal(repeat, earlier.length > 0)
        assert.ok(!repeat || (run.repeats && last?.candidate === candidate), 'repeats are in place')
        const never = ['timeout', 'tls', 'quota', 'credential', 'missing', 'context']
        assert.ok(!earlier.some((attempt) => attempt.moveOn || never.includes(attempt.failure)))
        const short = attempts.filter((attempt) => attempt.failure === 'context')
        assert.ok(
          repeat || short.every((each) => candidate.contextWindow! > each.candidate.contextWindow!),
        )
        if (spill && last?.candidate === primary && last.failure === 'timeout') {
          const others = attempts.some((attempt) => attempt.candidate !== primary)
          assert.ok(others || spill.reasons.has('timeout'))
        }
        if (repeat) repeated++
        const failure = run.failures.next().value
        attempts.push({ candidate, failure, moveOn: run.moves.next().value })
      }
      assert.ok(attempts.length <= run.attemptsMax)
    }),
    { numRuns: 3000, seed: 20261121 },
  )
  assert.ok(repeated > 100, `${repeated} repeats were seen`)
})
