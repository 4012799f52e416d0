/**
 * The public keys of the cluster's issuer: how soon a change is seen, and what is used while the API server is
 * unavailable.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IssuerKeys } from '../../operator/compile/issuer-keys.ts'

const MINUTE_MS = 60_000

const keySetOf = (...kids: readonly string[]) => ({
  keys: kids.map((kid) => ({ kty: 'RSA', kid, n: 'AQ', e: 'AQAB', x5c: ['left out'] })),
})

test('a change of the keys is seen within five minutes, and reported once', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const seen = { set: keySetOf('one') as unknown, changes: 0, errors: 0, reads: 0 }
  const keys = new IssuerKeys({
    read: async () => {
      seen.reads++
      if (seen.set === undefined) throw new Error('away')
      return seen.set
    },
    onChange: () => void seen.changes++,
    onError: () => void seen.errors++,
  })
  t.after(() => keys.stop())
  const kids = () => keys.keys?.map(({ kid }) => kid)
  const pass = async (ms: number) => {
    t.mock.timers.tick(ms)
    await new Promise(setImmediate)
  }
  // The first call starts to read them.
  assert.equal(kids(), undefined)
  await pass(0)
  assert.deepEqual([kids(), seen.changes], [['one'], 1])
  seen.set = keySetOf('one', 'two')
  await pass(5 * MINUTE_MS)
  assert.deepEqual([kids(), seen.changes], [['one', 'two'], 2])
  seen.set = undefined
  await pass(5 * MINUTE_MS)
  assert.deepEqual([kids(), seen.changes, seen.errors], [['one', 'two'], 2, 1])
  seen.set = keySetOf('two')
  await pass(MINUTE_MS / 2)
  assert.deepEqual([kids(), seen.changes, seen.reads], [['two'], 3, 4])
  assert.deepEqual(keys.keys, [{ kty: 'RSA', kid: 'two', n: 'AQ', e: 'AQAB' }])
})
