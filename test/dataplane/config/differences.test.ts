import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  differencesBetween,
  type Side,
  shownAsWritten,
} from '../../../dataplane/config/shown/differences.ts'

const side = (gw: unknown, rest: object = {}): Side => ({
  tree: { ...rest, gw },
  shown: shownAsWritten,
})
const between = (old: object, fresh: object) => differencesBetween(side(old), side(fresh))

test('entries of lists are matched by their name, and their order is no difference', () => {
  const one = { name: 'a', timeout_seconds: 1 }
  const other = { name: 'b', timeout_seconds: 2 }
  assert.deepEqual(between({ routes: [one, other] }, { routes: [other, one] }), [])
  assert.deepEqual(
    between({ routes: [one, other] }, { routes: [other, { ...one, timeout_seconds: 9 }] }),
    [{ path: 'gw.routes[a].timeout_seconds', old: 1, new: 9, reloadable: false }],
  )
})

test('added and removed entries are shown whole', () => {
  const budget = { tenant: 'acme', tokens_per_day: 5 }
  assert.deepEqual(between({ budgets: [] }, { budgets: [budget] }), [
    { path: 'gw.budgets[acme]', new: budget, reloadable: true },
  ])
  assert.deepEqual(between({ routes: [{ name: 'x' }] }, {}), [
    { path: 'gw.routes[x]', old: { name: 'x' }, reloadable: false },
  ])
})

test('lists whose entries have no name are shown whole', () => {
  assert.deepEqual(between({ no_proxy: ['a'] }, { no_proxy: ['a', 'b'] }), [
    { path: 'gw.no_proxy', old: ['a'], new: ['a', 'b'], reloadable: false },
  ])
})

const reloadable = [
  [{ default: { burst: 1 } }, 'gw.rate_limits.default.burst', true],
  [{ tenants: [{ tenant: 'a', burst: 1 }] }, 'gw.rate_limits.tenants[a]', true],
  [{ backend: 'redis' }, 'gw.rate_limits.backend', false],
  [{ redis: { timeout_ms: 9 } }, 'gw.rate_limits.redis.timeout_ms', false],
] as const

for (const [rate_limits, path, expected] of reloadable) {
  test(`${path} ${expected ? 'may' : 'may not'} change without a whole reload`, () => {
    const found = between({}, { rate_limits })
    assert.deepEqual(
      found.map((one) => [one.path, one.reloadable]),
      [[path, expected]],
    )
  })
}

test('the first limits that are written do not choose another store', () => {
  assert.deepEqual(between({}, { rate_limits: { backend: 'memory' } }), [])
})

test('different credentials are reported as different, and not shown', () => {
  const upstream = (token: string) => ({
    upstreams: [{ name: 'u', headers: { 'x-token': token } }],
  })
  assert.deepEqual(between(upstream('one-secret'), upstream('other-secret')), [
    {
      path: 'gw.upstreams[u].headers.x-token',
      old: '***',
      new: '***',
      hidden: true,
      reloadable: false,
    },
  ])
  const variable = (value: string) => side({}, { spec: { env: [{ name: 'TOKEN', value }] } })
  const [found] = differencesBetween(variable('one-secret'), variable('other-secret'))
  assert.deepEqual([found?.path, found?.new, found?.hidden], ['spec.env[TOKEN].value', '***', true])
})

test('a name that would read as two is put in quotes', () => {
  const [found] = between({ aliases: {} }, { aliases: { 'gpt-4.1': 'chat' } })
  assert.equal(found?.path, 'gw.aliases["gpt-4.1"]')
})
