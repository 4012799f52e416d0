/** Budgets of groups and keys, and those that apply to no request. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aDocument, load, type Row, testRefusals, testWarnings } from './documents.ts'

const row = (name: string, budgets: string, path: string, says: string, fix: string): Row => ({
  name,
  yaml: `  budgets:\n${budgets}`,
  path: `gw.budgets${path}`,
  says,
  fix,
})

testRefusals([
  row(
    'a budget for nothing',
    '    - tokens_per_day: 5 # here',
    '[0]',
    'none of tenant, tenants, key',
    'Add tenant:',
  ),
  row(
    'a budget for a tenant and a key',
    '    - {tenant: t, key: k, tokens_per_day: 5} # here',
    '[0]',
    'more than one of tenant, tenants, key',
    'Keep one of',
  ),
  row(
    'a budget of a key that does not exist',
    '    - {key: kk, tokens_per_day: 5} # here',
    '[0].key',
    'no key has the id "kk"',
    'Use one of: "k"',
  ),
  row(
    'two budgets of a key',
    '    - {key: k, tokens_per_day: 5}\n    - {key: k, tokens_per_day: 6} # here',
    '[1].key',
    'duplicate key budget "k"; first at gw.budgets[0].key',
    'Remove one',
  ),
  row(
    'two budgets for each tenant',
    '    - {tenant: "*", tokens_per_day: 5}\n    - {tenant: "*", tokens_per_day: 6} # here',
    '[1].tenant',
    'duplicate tenant budget "*"',
    'Remove one',
  ),
  row(
    'two groups of the same tenants',
    '    - {tenants: [t, s], tokens_per_day: 5}\n    - {tenants: [s, t], name: n, tokens_per_day: 6} # here',
    '[1].tenants',
    'duplicate group of tenants "s, t"',
    'Remove one',
  ),
  row(
    'two groups of one name',
    '    - {tenants: [t, s], name: n, tokens_per_day: 5}\n    - {tenants: [t, r], name: n, tokens_per_day: 6} # here',
    '[1].name',
    'duplicate group name "n"',
    'Remove one',
  ),
  row(
    'a tenant twice in a group',
    '    - {tenants: [t, t], tokens_per_day: 5} # here',
    '[0].tenants[1]',
    'duplicate tenant of the group "t"',
    'Remove one',
  ),
  row(
    'a group of all tenants',
    '    - {tenants: ["*"], tokens_per_day: 5} # here',
    '[0].tenants[0]',
    'a list shares one counter',
    'tenant: "*"',
  ),
  row(
    'a name without a group',
    '    - {tenant: t, name: n, tokens_per_day: 5} # here',
    '[0].name',
    'there is no tenants list',
    'Remove it',
  ),
  row(
    'a tenant in very many groups',
    Array.from({ length: 9 }, (_, index) => `    - {tenants: [t, s${index}], tokens_per_day: 5}`)
      .join('\n')
      .concat(' # here'),
    '[8].tenants[0]',
    'is in more than 8 groups',
    'at most 8',
  ),
  row(
    'a spend budget of a key without prices',
    '    - {key: k, spend_per_month_usd: 5} # here',
    '[0].spend_per_month_usd',
    'no price for "m"',
    'pricing',
  ),
])

testWarnings([
  row(
    'a tenant of a group that no key belongs to',
    '    - {tenants: [t, tt], tokens_per_day: 5} # here',
    '[0].tenants[1]',
    'no key belongs to tenant "tt"',
    'Correct the name',
  ),
  {
    name: 'a key that another resource may still bring',
    whole: true,
    yaml: `${aDocument('  budgets:\n    - {key: later, tokens_per_day: 5} # here')}spec: {replicas: 1}\n`,
    path: 'gw.budgets[0].key',
    says: 'no key has the id "later"',
    fix: 'Use one of',
  },
])

test('a budget of a caller without a key names the entry and the caller', () => {
  const auth = `  auth:
    jwt:
      - {name: idp, issuer: "https://i", audiences: [gw], jwks: {url: "https://i/k"}, tenant: {name: t}}
`
  const budget = (key: string) => `  budgets:\n    - {key: "${key}", tokens_per_day: 5}\n`
  const refusals = (key: string) =>
    load(aDocument(`${auth}${budget(key)}`))
      .problems.filter(({ severity }) => severity === 'error')
      .map(({ path }) => path)
  assert.deepEqual(refusals('idp:alice'), [])
  assert.deepEqual(refusals('alice'), ['gw.budgets[0].key'])
})
