/** The book of keys against a plain list: copies and changes in any order lead to the same keys and the same hash. */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { KeysBook } from '../../../dataplane/delivery/keys-book.ts'
import { type KeyRecord, keysHashOf } from '../../../dataplane/delivery/signed.ts'

const digest = (id: number) => hash('sha256', String(id))

const aRecord = fc
  .record({ id: fc.nat(8), tenant: fc.constantFrom('acme', 'umbrella'), revoked: fc.boolean() })
  .map(
    ({ id, tenant, revoked }): KeyRecord => ({
      id: `k${id}`,
      tenant,
      hash: `sha256:${digest(id)}`,
      routes: ['*'],
      ...(revoked && { revoked_at: '2026-01-01T00:00:00Z' }),
    }),
  )

const records = fc.uniqueArray(aRecord, { selector: (record) => record.hash, maxLength: 8 })
const aCopy = records.map((copy) => ({ copy }))
const aChange = fc.record({
  put: records,
  remove: fc.array(
    fc.nat(8).map((id) => `sha256:${digest(id)}`),
    { maxLength: 4 },
  ),
})

test('copies and changes in any order lead to the keys of the model', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(aCopy, aChange), { maxLength: 12 }), async (steps) => {
      const book = new KeysBook()
      const live = book.entries
      let model = new Map<string, KeyRecord>()
      for (const step of steps) {
        if ('copy' in step) {
          await book.replace(step.copy)
          model = new Map(step.copy.map((record) => [record.hash, record]))
        } else {
          await book.change(step.put, step.remove)
          for (const id of step.remove) model.delete(id)
          for (const record of step.put) model.set(record.hash, record)
        }
        assert.equal(book.hash, keysHashOf(model.values()))
        assert.equal(book.size, model.size)
        assert.equal(live.size, model.size)
        for (const record of model.values()) {
          const entry = live.get(record.hash.slice('sha256:'.length))
          assert.equal(entry?.record.tenant, record.tenant)
          assert.equal(entry?.usable, record.revoked_at === undefined)
        }
      }
    }),
  )
})

test('the first of two records with one hash counts, and the second is reported', async () => {
  const book = new KeysBook()
  const record = { id: 'a', tenant: 'acme', hash: `sha256:${digest(1)}`, routes: ['*'] }
  const problems = await book.replace([record, { ...record, tenant: 'umbrella' }])
  assert.equal(book.entries.get(digest(1))?.record.tenant, 'acme')
  assert.deepEqual(
    problems.map(({ pointer }) => pointer),
    ['/keys/1'],
  )
})

test('a record that became invalid disables its key', async () => {
  const book = new KeysBook()
  const record = { id: 'a', tenant: 'acme', hash: `sha256:${digest(1)}`, routes: ['*'] }
  await book.replace([record])
  const [problem] = await book.change([{ ...record, expires_at: 'soon' }], [])
  assert.equal(problem?.pointer, '/changes/put/0')
  assert.match(problem?.message ?? '', /expires_at.*does not work/)
  assert.equal(book.entries.size, 0)
  await book.change([record], [])
  assert.equal(book.entries.size, 1)
})
