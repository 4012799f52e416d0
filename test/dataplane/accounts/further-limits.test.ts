/** Which counters of `limits[]` a request has. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileFurther } from '../../../dataplane/accounts/further/limits.ts'
import { patternOf, type Subject } from '../../../dataplane/accounts/further/selectors.ts'
import { FurtherLimit } from '../../../dataplane/schema/further-limits.ts'
import { aClock } from '../../helpers/clock.ts'
import { aRule } from '../../helpers/store/world.ts'

type Fields = Readonly<Record<string, unknown>>

const SUBJECT: Subject = {
  tenant: 'acme',
  key: 'k1',
  route: 'chat',
  models: ['claude-opus-4'],
  model: 'gpt-4o',
  operation: 'chat',
  tags: 'team=blue,project=search',
}

const base = aRule({})
const CLOCK = aClock()

function limitsOf(...sections: readonly Fields[]) {
  const further = compileFurther(
    sections.map((section) => FurtherLimit.parse({ requests_per_minute: 60, ...section })),
  )
  assert.ok(further)
  return further
}

/** The ids of the counters. */
function countersOf(selectors: Fields, subject: Partial<Subject> = {}): readonly string[] {
  const rules = limitsOf({ name: 'a', for: selectors }).of(
    base,
    {},
    { ...SUBJECT, ...subject },
    CLOCK,
  )
  return (rules.scoped ?? []).map(({ scope }) => scope.id)
}

test('a request has a limit only if it fits every selector', () => {
  const fitting: readonly Fields[] = [
    { tenant: '*' },
    { tenant: 'acme' },
    { tenants: ['other', 'acme'] },
    { key: 'k1' },
    { route: 'chat' },
    { model: 'gpt-*' },
    { model: 'claude-opus-*' },
    { operation: 'chat' },
    { tag: { team: 'blue' } },
    { tenant: 'acme', key: 'k1', route: 'chat', model: '*4*', operation: 'chat' },
  ]
  for (const selectors of fitting)
    assert.deepEqual(countersOf(selectors), ['limit a'], JSON.stringify(selectors))
  const others: readonly Fields[] = [
    { tenant: 'other' },
    { tenants: ['other'] },
    { key: 'k2' },
    { route: 'other' },
    { model: 'claude' },
    { operation: 'embeddings' },
    { tag: { team: 'red' } },
    { tag: { team: 'blu' } },
    { tenant: 'acme', route: 'other' },
  ]
  for (const selectors of others)
    assert.deepEqual(countersOf(selectors), [], JSON.stringify(selectors))
})

test('each value has its counter, and a request without a value has none', () => {
  assert.deepEqual(countersOf({ each: 'tenant' }), ['limit a acme'])
  assert.deepEqual(countersOf({ each: 'key' }), ['limit a k1'])
  assert.deepEqual(countersOf({ each: 'route' }), ['limit a chat'])
  assert.deepEqual(countersOf({ each: 'model' }), ['limit a gpt-4o'])
  assert.deepEqual(countersOf({ each: 'tag/project' }), ['limit a search'])
  assert.deepEqual(countersOf({ each: 'tag/project' }, { tags: 'team=blue' }), [])
})

test('limits come in the order of the file, after the budgets of groups and keys', () => {
  const further = limitsOf(
    { name: 'one', for: { each: 'model' } },
    { name: 'two', for: { key: 'k1' } },
    { name: 'three', for: { tenant: 'acme' } },
    { name: 'none', for: { tenant: 'other' } },
  )
  const group = { scope: { kind: 'group', name: 'g', id: 'group g' }, rule: undefined } as const
  const rules = further.of({ ...base, scoped: [group] }, {}, SUBJECT, CLOCK)
  const names = rules.scoped?.map(({ scope }) => scope.name)
  assert.deepEqual(names, ['g', 'one', 'two', 'three'])
})

test('the same counters are one object, and a request without any has the rules of its tenant', () => {
  const further = limitsOf({ name: 'a', for: { tag: { team: 'blue' } } })
  const caller = {}
  const first = further.of(base, caller, SUBJECT, CLOCK)
  assert.equal(further.of(base, caller, { ...SUBJECT }, CLOCK), first)
  assert.equal(first.base, base)
  assert.equal(further.of(base, caller, { ...SUBJECT, tags: '' }, CLOCK), base)
})

test('made-up names of models leave no more than a bounded number of rules', () => {
  const further = limitsOf({ name: 'a', for: { each: 'model' } })
  const caller = {}
  for (let made = 0; made < 1_000; made++) {
    const rules = further.of(base, caller, { ...SUBJECT, model: `made-${made}` }, CLOCK)
    assert.equal(rules.scoped?.[0]?.scope.id, `limit a made-${made}`)
  }
})

test('a star stands for any characters, wherever it is', () => {
  const cases: readonly [string, string, boolean][] = [
    ['*', 'any', true],
    ['gpt-*', 'gpt-', true],
    ['*-mini', 'gpt-mini', true],
    ['*-mini', 'gpt-mini-2', false],
    ['a*b*c', 'abc', true],
    ['a*b*c', 'acb', false],
    ['ab*ba', 'aba', false],
    ['gpt', 'gpt-4', false],
  ]
  for (const [pattern, name, fits] of cases)
    assert.equal(patternOf(pattern)(name), fits, `${pattern} ${name}`)
})

test('tokens of prompts and of answers have separate counters', () => {
  const further = compileFurther([
    FurtherLimit.parse({
      name: 'a',
      for: { each: 'key' },
      input_tokens_per_minute: 10,
      output_tokens_per_minute: 20,
    }),
  ])
  const { scoped = [] } = further?.of(base, {}, SUBJECT, CLOCK) ?? {}
  assert.deepEqual(
    scoped.map(({ scope, rates }) => [scope.id, scope.limit?.counts, rates?.tokensPerMinute]),
    [
      ['limit:input a k1', 'input', 10],
      ['limit:output a k1', 'output', 20],
    ],
  )
})

test('a raise adds to the cap until its moment, and ends by itself', () => {
  const clock = aClock()
  const until = new Date(clock.wall() + 60_000).toISOString()
  const budget = { usd: 2, per: 'month', raise: { usd: 1, until, by: 'ops' } }
  const further = compileFurther([FurtherLimit.parse({ name: 'a', for: { tenant: '*' }, budget })])
  const caller = {}
  const rule = () => further?.of(base, caller, SUBJECT, clock).scoped?.[0]
  assert.equal(rule()?.rule?.nanosPerMonth, 3e9)
  clock.pass(59_999)
  const before = rule()
  assert.equal(before?.rule?.nanosPerMonth, 3e9)
  clock.pass(1)
  const after = rule()
  assert.equal(after?.rule?.nanosPerMonth, 2e9)
  assert.ok(before && after)
  assert.equal(before.scope.id, after.scope.id)
  assert.equal(further?.ruleOf(before.scope)?.nanosPerMonth, 2e9)
})
