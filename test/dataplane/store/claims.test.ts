/** The calls by which slices of many accounts are claimed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Link, StoreAway } from '../../../dataplane/store/redis/link.ts'
import { RedisStore } from '../../../dataplane/store/redis/store.ts'
import { aClock } from '../../helpers/clock.ts'
import { aRule, tokens } from '../../helpers/store/world.ts'

const ACCOUNTS = 90

test('a call that claims slices carries at most 64 KiB, with the text of its script, however long names are', async () => {
  const clock = aClock()
  const claims: { readonly accounts: number; readonly bytes: number }[] = []
  const link: Link = {
    async run({ name, lua }, keys, args) {
      if (name === 'claim') {
        const words = [...keys, ...args].map(String)
        const bytes = words.reduce((sum, { length }) => sum + length, lua.length)
        claims.push({ accounts: Number(args[0]), bytes })
        throw new StoreAway('timeout', true)
      }
      return [1, clock.wall(), 0, 1000, 0, -1, -1, 1, 0, 0]
    },
  }
  const due: (() => void)[] = []
  const store = new RedisStore(link, {
    ...{ keyPrefix: `gw:${'n'.repeat(400)}`, replica: 'one', clock },
    slices: {
      isTogether: true,
      hears: () => true,
      schedule(_, call) {
        due.push(call)
        return () => undefined
      },
    },
  })
  for (let index = 0; index < 3 * ACCOUNTS; index++) {
    const tenant = `tenant-${index % ACCOUNTS}`
    await store.admit({ tenant, id: `r${index}`, rules: aRule(), estimate: tokens(1) })
  }
  clock.pass(1000)
  for (const call of due.splice(0)) call()
  await new Promise(setImmediate)
  const accounts = claims.reduce((sum, one) => sum + one.accounts, 0)
  assert.equal(accounts, ACCOUNTS)
  assert.ok(claims.length > 2, `${claims.length} calls`)
  assert.ok(Math.max(...claims.map(({ bytes }) => bytes)) <= 64 * 1024)
})
