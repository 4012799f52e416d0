/** The table of keys knows its tenants after every change. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyTable, keyOf } from '../../../dataplane/call/key-entry.ts'
import { aKey } from '../../helpers/a-key.ts'

const entryOf = (tenant: string) =>
  keyOf({ ...aKey({ id: 'one' }).record, scopes: ['models:invoke'], tenant })

test('a tenant is known as long as one of its keys exists', () => {
  const table = KeyTable.of([
    ['a', entryOf('acme')],
    ['b', entryOf('acme')],
  ])
  assert.deepEqual([table.names('acme'), table.names('other')], [true, false])
  table.delete('a')
  table.delete('a')
  assert.equal(table.names('acme'), true)
  table.set('b', entryOf('other'))
  assert.deepEqual([table.names('acme'), table.names('other')], [false, true])
  table.clear()
  assert.deepEqual([table.names('other'), table.size], [false, 0])
})
