/** Every name of the store in Redis, for tenants, groups, keys, usage and replicas with the most awkward names. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scopeOf } from '../../../dataplane/accounts/holders.ts'
import { dayOf, monthOf } from '../../../dataplane/accounts/windows.ts'
import { name as tenantName } from '../../../dataplane/schema/fields.ts'
import { Account } from '../../../dataplane/store/redis/redis-accounts.ts'
import { UsageRollup } from '../../../dataplane/store/redis/usage-rollup.ts'
import { Replicas } from '../../../dataplane/store/shared/replicas.ts'
import { UsageBook } from '../../../dataplane/store/usage-book.ts'
import { NOTHING } from '../../../dataplane/store/usage-row.ts'
import { newTrace } from '../../../dataplane/telemetry/trace/code.ts'
import type { AttemptTrace } from '../../../dataplane/telemetry/trace/fields.ts'
import { aClock } from '../../helpers/clock.ts'

const ODD = [
  ...[
    'acme',
    'usage',
    'Usage',
    'usage:day',
    'replicas',
    'replica',
    'group',
    'group:x',
    'x',
    'key',
    'key:x',
  ],
  ...['state', 'leases', 'graves', 'day', 'month', 'since', 'added', 'hour', 'v1', 'acme:key:x'],
  ...[
    '%0075sage',
    '%',
    '',
    '{usage}',
    '{',
    '}',
    'usage}',
    '%003a',
    ':',
    'é',
    '\n',
    ' ',
    '0',
    'a+b',
  ],
  ...['x'.repeat(101), `${'x'.repeat(101)}y`, '__proto__', 'constructor'],
]

/** The keys of a script. */
type Ask = (script: unknown, keys: readonly string[]) => void

function linkOf(ask: Ask, reply: unknown) {
  return {
    run: async (script: unknown, keys: readonly string[]) => {
      ask(script, keys)
      return reply
    },
  }
}

async function keysOfUsage(prefix: string): Promise<string[]> {
  const names = new Set<string>()
  const book = new UsageBook()
  const clock = aClock()
  const link = linkOf((_, keys) => keys.map((key) => names.add(key)), [0, 0])
  const rollup = new UsageRollup({
    ...{ link, book, clock, keyPrefix: prefix, replica: 'key' },
    isAway: () => false,
    onForgotten: () => {},
  })
  const trace = newTrace('r', new Date(clock.wall()).toISOString(), 'POST', '/')
  const attempts = [{ upstream: 'up', usage: NOTHING } as unknown as AttemptTrace]
  book.add(Object.assign(trace, { tenant: 'acme', key: 'k', attempts }), new Map())
  await rollup.flush()
  return [...names]
}

test('no tenant, group or key shares a place in Redis with anything else', async () => {
  const [prefix, owners] = ['gw', new Map<string, string>()]
  const own = (owner: string, keys: readonly string[]) => {
    for (const key of keys) {
      assert.equal(owners.get(key) ?? owner, owner, key)
      owners.set(key, owner)
    }
  }
  own('usage', await keysOfUsage(prefix))
  const replicas = new Replicas({ keyPrefix: prefix, replica: 'r', expected: 1, clock: aClock() })
  await replicas
    .announce(async (_, keys) => {
      own('replicas', keys)
      return [1, 1]
    })
    .catch(() => undefined)
  assert.ok(owners.size > 4)
  const windows = [dayOf(aClock().wall()), monthOf(aClock().wall())]
  const all = (account: Account) => [
    ...account.keys,
    ...windows.map((window) => account.windowFor(window).key),
  ]
  for (const name of ODD) {
    own(`tenant ${name}`, all(new Account(name, prefix)))
    const group = { kind: 'group', name, isNamed: true, id: `group ${name}` } as const
    own(`group ${name}`, all(new Account('acme', prefix, group)))
    for (const tenant of ODD) {
      const scope = { kind: 'key', name, id: `key ${name}` } as const
      own(`key ${name} of ${tenant}`, all(new Account(tenant, prefix, scope)))
    }
  }
})

test('all places of one owner share a slot of a cluster, and two owners do so only if necessary', () => {
  const tagOf = (key: string) => /\{([^}]+)\}/.exec(key)?.[1]
  const tags = ODD.map((name) => {
    const { keys } = new Account(name, 'gw')
    assert.equal(new Set(keys.map(tagOf)).size, 1)
    return tagOf(keys[0] ?? '')
  })
  assert.equal(new Set(tags).size, ODD.length)
  assert.ok(!tags.includes(undefined) && !tags.includes('usage'))
})

test('in memory and in a file no tenant has the id of a group or a key', () => {
  const taken = new Set<string>()
  for (const name of ['usage', 'x', 'key', 'group', 'acme']) {
    for (const holder of [{ key: name }, { tenants: ['a', 'b'], name }]) {
      const { id } =
        scopeOf({ alerts: [], on_exceeded: 'reject', ...holder } as never) ?? assert.fail()
      assert.equal(tenantName().safeParse(id).success, false, id)
      assert.ok(!taken.has(id), id)
      taken.add(id)
    }
  }
})
