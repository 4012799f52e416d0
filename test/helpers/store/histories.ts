/** Random histories of a store, and their comparison with the full history, for any store. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { BudgetRule, Rules, ScopedBudget, Store } from '../../../dataplane/accounts/store.ts'
import type { TurnedClock } from '../clock.ts'
import { Reference } from './reference.ts'
import { verdict } from './world.ts'

const STARTS = ['2026-11-21T12:00:00Z', '2027-12-31T23:59:50Z', '2028-02-28T23:59:55Z'].map(
  Date.parse,
)

const anAmount = fc.record({
  tokens: fc.integer({ min: 0, max: 60 }),
  nanos: fc.integer({ min: 0, max: 600 }),
})

const aBudgetRule = fc.record<BudgetRule>({
  tokensPerDay: fc.constantFrom(undefined, 1, 100, 160),
  nanosPerMonth: fc.constantFrom(undefined, 5, 300, 1500),
  onExceeded: fc.constantFrom('reject', 'downgrade'),
  alertThresholds: fc.constantFrom([], [0.5, 1], [0, 0.07, 0.29]),
})

/** The budget of a group with both tenants, and that of a key. */
const scopedBudgets = fc
  .record({ group: fc.option(aBudgetRule), key: fc.option(aBudgetRule) })
  .map(({ group, key }): readonly ScopedBudget[] => [
    ...(key ? [{ scope: { kind: 'key' as const, name: 'k', id: 'key k' }, rule: key }] : []),
    ...(group
      ? [{ scope: { kind: 'group' as const, name: 'g', id: 'group g' }, rule: group }]
      : []),
  ])

const limits = fc.record<Omit<Rules, 'scoped'>>({
  requestsPerMinute: fc.constantFrom(1, 7, 60, 600, 100_000_000),
  burst: fc.constantFrom(1, 3, 8, 100),
  concurrentRequests: fc.constantFrom(1, 3, 100),
  tokensPerMinute: fc.constantFrom(undefined, undefined, 40, 300, 1_000_000_000),
  budget: fc.option(aBudgetRule, { nil: undefined }),
})

const someRules = fc
  .tuple(limits, fc.oneof(fc.constant([]), scopedBudgets))
  .map(([rules, scoped]): Rules => (scoped.length === 0 ? rules : { ...rules, scoped }))

const which = fc.nat(30)
const kind = <K extends string>(name: K) => fc.constant(name)

const command = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: kind('admit'),
      tenant: fc.constantFrom('one', 'other'),
      estimate: anAmount,
      downgradeEstimate: fc.option(anAmount, { nil: undefined }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: kind('charge'), tenant: fc.constantFrom('one', 'other') }),
  },
  { weight: 4, arbitrary: fc.record({ kind: kind('settle'), which, used: anAmount }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('beat'), which, used: anAmount }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('extend'), which, estimate: anAmount }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('count'), which, estimate: anAmount }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: kind('read'), tenant: fc.constantFrom('one', 'other') }),
  },
  { weight: 1, arbitrary: fc.record({ kind: kind('rules'), rules: someRules }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: kind('wait'),
      ms: fc.oneof(
        fc.integer({ min: 1, max: 3000 }),
        fc.constantFrom(999, 1000, 14_999, 15_000, 60_000, 86_400_000, 3_000_000_000),
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: kind('wall'), ms: fc.constantFrom(-3_600_000, -5000, 7000) }),
  },
)

export const history = fc.record({
  start: fc.constantFrom(...STARTS),
  rules: someRules,
  commands: fc.array(command, { minLength: 5, maxLength: 30, size: 'max' }),
})

export type History = typeof history extends fc.Arbitrary<infer H> ? H : never

/** Runs both in parallel and compares every answer; reports the answers that occurred. */
export async function compare(
  { rules: first, commands }: History,
  store: Store,
  clock: TurnedClock,
): Promise<ReadonlySet<string>> {
  const reached = new Set<string>()
  const model = new Reference()
  let rules = first
  const tenants: string[] = []
  const scoped = new Set<string>()
  for (const [index, one] of commands.entries()) {
    const now = clock.now()
    const id = 'which' in one ? `r${one.which}` : `r${tenants.length}`
    const tenant = 'which' in one ? (tenants[one.which] ?? 'one') : 'one'
    const place = `command ${index}, ${one.kind}`
    switch (one.kind) {
      case 'admit': {
        const request = { ...one, id, rules }
        const result = await store.admit(request)
        const expected = model.admit(request, now, clock.wall())
        assert.equal(verdict(result), expected.verdict, place)
        assert.deepEqual(result.figures, expected.figures, place)
        if (result.outcome === 'refused') assert.equal(result.retryAfterMs, expected.wait, place)
        else tenants.push(one.tenant)
        if (rules.scoped !== undefined) scoped.add(id)
        if ('scope' in result) reached.add(`${result.outcome} by ${result.scope?.kind}`)
        reached.add(expected.verdict)
        break
      }
      case 'charge': {
        const id = `charge ${index}`
        const estimate = { tokens: 0, nanos: 0 }
        const request = { tenant: one.tenant, id, rules, estimate, ratesOnly: true }
        const result = await store.admit(request)
        const expected = model.charge(one.tenant, rules, now, clock.wall())
        assert.equal(verdict(result), expected.verdict, place)
        assert.deepEqual(result.figures, expected.figures, place)
        if (result.outcome === 'refused') assert.equal(result.retryAfterMs, expected.wait, place)
        reached.add(result.outcome === 'refused' ? 'not charged' : 'charged')
        break
      }
      case 'settle': {
        const { charged, crossed } = await store.settle({
          tenant,
          id,
          used: one.used,
          budget: rules.budget,
          scoped: rules.scoped,
        })
        const names = crossed.map(
          ({ scope, window, threshold }) => `${scope?.id ?? ''}${window} ${threshold}`,
        )
        assert.deepEqual({ charged, crossed: names }, model.settle(id, one.used, rules, now), place)
        if (crossed.length > 0) reached.add('crossed')
        if (!charged) reached.add('settled before')
        break
      }
      case 'beat': {
        const lost = await store.renew([{ tenant, id, used: one.used }])
        assert.equal(lost.length === 0, model.beat(id, one.used, now), place)
        break
      }
      case 'extend': {
        const { estimate } = one
        // A shared store raises the hold in each counter separately: growth in only one is an upper bound.
        if (scoped.has(id)) break
        const raised = await store.extend({ tenant, id, estimate, budget: rules.budget })
        assert.equal(raised, model.extend(id, estimate, rules.budget, now), place)
        reached.add(raised ? 'extended' : 'not extended')
        break
      }
      case 'count': {
        const { budget, scoped: others } = rules
        const { estimate } = one
        const extension = { tenant, id, estimate, budget, scoped: others, isCount: true }
        const lowered = await store.extend(extension)
        assert.equal(lowered, model.count(id, estimate, now), place)
        reached.add(lowered ? 'counted' : 'not counted')
        break
      }
      case 'read': {
        const expected = model.read(one.tenant, rules, now, clock.wall())
        assert.deepEqual(await store.read(one.tenant, rules), expected, place)
        break
      }
      case 'rules':
        rules = one.rules
        break
      case 'wait':
        clock.pass(one.ms)
        break
      case 'wall':
        clock.setWall(clock.wall() + one.ms)
        break
    }
  }
  return reached
}

/** Every possible answer: a run over many histories must have had them all. */
export const ANSWERS: readonly string[] = [
  'admitted',
  'budget_reserved',
  'budget_spend',
  'budget_tokens',
  'charged',
  'concurrency',
  'counted',
  'crossed',
  'downgraded',
  'downgraded by group',
  'downgraded by key',
  'extended',
  'not charged',
  'not counted',
  'not extended',
  'refused by group',
  'refused by key',
  'rpm',
  'settled before',
  'tpm',
]
