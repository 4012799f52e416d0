import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { MemoryLease } from '../../../dataplane/store/memory/lease.ts'
import { LeaseTable } from '../../../dataplane/store/memory/lease-table.ts'

/** Contains only what the table reads. */
function aHold(id: string): MemoryLease {
  return { id, next: undefined } as MemoryLease
}

test('over any history the table equals a Map', () => {
  // Aa and BB, and all words made of them, have one hash.
  const letters = fc.constantFrom('Aa', 'BB', 'C#', '0', '1', 'x')
  const id = fc.array(letters, { maxLength: 4 }).map((parts) => parts.join(''))
  const step = fc.record({ id, remove: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 600, size: 'max' }), (steps) => {
      const holds = new LeaseTable()
      const model = new Map<string, MemoryLease>()
      for (const { id, remove } of steps) {
        const known = model.get(id)
        assert.equal(holds.get(id), known)
        if (known === undefined) {
          const held = aHold(id)
          holds.add(held)
          model.set(id, held)
        } else if (remove) {
          holds.remove(known)
          holds.remove(known)
          model.delete(id)
          assert.equal(known.next, undefined)
        }
        assert.equal(holds.size, model.size)
      }
      assert.deepEqual(new Set(holds.list()), new Set(model.values()))
    }),
    { numRuns: 500 },
  )
})

test('ten thousand ids that differ only at one end are found again', () => {
  for (const name of [(index: number) => `${index}-tail`, (index: number) => `head-${index}`]) {
    const holds = new LeaseTable()
    const all = Array.from({ length: 10_000 }, (_, index) => aHold(name(index)))
    for (const held of all) holds.add(held)
    for (const held of all) assert.equal(holds.get(held.id), held)
    for (const held of all) holds.remove(held)
    assert.deepEqual([holds.size, holds.list()], [0, []])
  }
})
