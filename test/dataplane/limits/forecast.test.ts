/** A forecast predicts the store's next decision. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type AdmitResult, BUSY_RETRY_MS } from '../../../dataplane/accounts/store.ts'
import { forecast } from '../../../dataplane/limits/forecast.ts'
import { cases } from '../../helpers/cases.ts'
import { limitedRules } from '../../helpers/store/limited-rules.ts'
import { aBudget, aRule, World } from '../../helpers/store/world.ts'

/** Waits are whole milliseconds, so a forecast may be one late. */
const APART_MS = 1

const amount = fc.record({ tokens: fc.nat(400), nanos: fc.nat(400) })
/** A request has at least one token. */
const estimated = fc.record({ tokens: fc.integer({ min: 1, max: 400 }), nanos: fc.nat(400) })
const step = fc.oneof(
  fc.record({ does: fc.constant('admit' as const), amount }),
  fc.record({ does: fc.constant('settle' as const), amount }),
  fc.record({ does: fc.constant('pass' as const), ms: fc.nat(40_000) }),
)
const rules = fc.record({
  requestsPerMinute: fc.integer({ min: 1, max: 120 }),
  burst: fc.integer({ min: 1, max: 6 }),
  concurrentRequests: fc.integer({ min: 1, max: 4 }),
  tokensPerMinute: fc.option(fc.integer({ min: 1, max: 2000 }), { nil: undefined }),
  budget: fc.option(
    fc.record({
      tokensPerDay: fc.option(fc.integer({ min: 1, max: 2000 }), { nil: undefined }),
      nanosPerMonth: fc.option(fc.integer({ min: 1, max: 2000 }), { nil: undefined }),
      onExceeded: fc.constantFrom('reject' as const, 'downgrade' as const),
    }),
    { nil: undefined },
  ),
})

test('over random histories the next decision is the predicted one', () => {
  const reached = new Set<string>()
  fc.assert(
    fc.property(
      rules,
      fc.array(step, { maxLength: 25 }),
      estimated,
      fc.option(estimated, { nil: undefined }),
      (given, steps, estimate, downgradeEstimate) => {
        const budget = given.budget && aBudget(given.budget)
        const world = new World(aRule({ ...given, budget }))
        const running: string[] = []
        for (const one of steps) {
          if (one.does === 'pass') world.clock.pass(one.ms)
          else if (one.does === 'admit') {
            const made = world.admit(one.amount)
            if (made.outcome !== 'refused') running.push(made.id)
          } else {
            const id = running.shift()
            if (id !== undefined) world.settle(id, one.amount)
          }
        }
        const wanted = { estimate, downgradeEstimate }
        const predicted = forecast(world.figures, world.rules, wanted, world.clock.wall())
        const made = world.admit(estimate, downgradeEstimate)
        assertSame(predicted, made)
        reached.add(made.outcome === 'refused' ? made.by : made.outcome)
      },
    ),
    { numRuns: cases(2000, 20_000) },
  )
  assert.deepEqual([...reached].toSorted(), [
    'admitted',
    'budget_reserved',
    'budget_spend',
    'budget_tokens',
    'concurrency',
    'downgraded',
    'rpm',
    'tpm',
  ])
})

function assertSame(predicted: AdmitResult, made: AdmitResult): void {
  assert.equal(predicted.outcome, made.outcome)
  if (predicted.outcome !== 'refused' || made.outcome !== 'refused') return
  const apart = predicted.retryAfterMs - made.retryAfterMs
  assert.ok(apart >= 0 && apart <= APART_MS, `${predicted.retryAfterMs} for ${made.retryAfterMs}`)
  // By that millisecond two reasons may swap if one of them uses the second of a full tenant.
  const isTie = apart > 0 || made.retryAfterMs === BUSY_RETRY_MS
  if (!isTie) assert.equal(predicted.by, made.by)
}

test('a rate of the tokens of prompts or of answers is predicted by those tokens alone', () => {
  for (const [measure, estimate] of [
    ['input_tokens_per_minute', { tokens: 100, nanos: 0, input: 10 }],
    ['output_tokens_per_minute', { tokens: 100, nanos: 0, input: 90 }],
  ] as const) {
    const world = new World(limitedRules([{ name: 'a', for: { tenant: '*' }, [measure]: 30 }])())
    for (const outcome of ['admitted', 'admitted', 'admitted', 'refused']) {
      const wanted = { estimate, downgradeEstimate: undefined }
      const predicted = forecast(world.figures, world.rules, wanted, world.clock.wall())
      assert.equal(predicted.outcome, outcome)
      assert.equal(world.admit(estimate).outcome, outcome)
    }
  }
})
