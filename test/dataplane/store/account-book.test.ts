/** The counters of limits that a process with a shared store remembers, although clients make up their values. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileFurther } from '../../../dataplane/accounts/further/limits.ts'
import { Present } from '../../../dataplane/accounts/windows.ts'
import { FurtherLimit } from '../../../dataplane/schema/further-limits.ts'
import { MemoryStore } from '../../../dataplane/store/memory/memory.ts'
import { AccountBook } from '../../../dataplane/store/redis/redis-accounts.ts'
import { aClock, NOON } from '../../helpers/clock.ts'
import { aRule, tokens } from '../../helpers/store/world.ts'

const BASE = aRule()

/** The rules of a request of an end user. */
function rulesFor() {
  const budget = { tokens: 1_000, per: 'day' }
  const limit = FurtherLimit.parse({ name: 'users', for: { each: 'user' }, budget })
  const further = compileFurther([limit])
  const caller = {}
  const shared = { tenant: 'acme', key: 'k', route: 'chat', models: [], model: 'chat', tags: '' }
  return (user: string) =>
    further?.of(BASE, caller, { ...shared, operation: 'chat', user }, aClock()) ?? BASE
}

function aBook() {
  const book = new AccountBook('gw')
  const rulesOf = rulesFor()
  const present = new Present(NOON)
  /** Counts a request of an end user, and returns the counter. */
  const use = (user: string) =>
    book.of(present, { tenant: 'acme', rules: rulesOf(user) }).others?.[0]?.account
  const useMany = (count: number, ms: number, prefix = 'user') => {
    for (let index = 0; index < count; index++) {
      present.moveTo(present.at + ms)
      use(`${prefix}-${index}`)
    }
  }
  return { book, present, use, useMany }
}

test('of many end users in little time those are remembered that sent requests lately', () => {
  const { book, useMany } = aBook()
  // A user every fifth of a millisecond, for forty seconds.
  useMany(200_000, 0.2)
  assert.ok(book.accounts.size <= 110_000, String(book.accounts.size))
})

test('quiet counters are dropped although no further ones come', () => {
  const { book, present, useMany } = aBook()
  useMany(30_000, 0.1)
  present.moveTo(present.at + 61_000)
  book.sweep(present.at)
  assert.equal(book.accounts.size, 10_000)
})

test('a counter with a running request stays, and so does the counter of the tenant', () => {
  const { book, present, use, useMany } = aBook()
  const running = use('busy')
  assert.ok(running)
  running.parts++
  useMany(60_000, 10)
  assert.ok(book.accounts.size <= 50_000)
  assert.equal(use('busy'), running)
  const { account } = book.of(present, { tenant: 'acme', rules: BASE })
  assert.equal(account, book.accounts.get('acme'))
})

test('a memory of ten counters drops the oldest quiet one for another', () => {
  const clock = aClock()
  const store = new MemoryStore({ clock, scopesMax: 10 })
  const rulesOf = rulesFor()
  const spend = (user: string) => {
    const rules = rulesOf(user)
    const shared = { tenant: 'acme', id: user }
    store.admit({ ...shared, rules, estimate: tokens(5) })
    store.settle({ ...shared, used: tokens(5), budget: undefined, scoped: rules.scoped })
  }
  const used = (user: string) => store.read('acme', rulesOf(user)).scoped?.[0]?.tokens?.settled
  for (let index = 0; index < 10; index++) spend(`user-${index}`)
  assert.equal(used('user-0'), 5)
  spend('another')
  assert.equal(used('user-9'), 5)
  assert.equal(used('user-0'), 0)
})
