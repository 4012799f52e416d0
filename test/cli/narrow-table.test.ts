/** Tables on a terminal of 80 columns. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { narrowTable } from '../../cli/printing/narrow-table.ts'

test('a table that fits stays as it is', () => {
  assert.deepEqual(narrowTable(['A', 'LONG'], [['x', undefined]]), ['A  LONG', 'x  -'])
})

test('no line is wider than 80 columns, and no word is lost', () => {
  const message = `All ${'word '.repeat(60)}end`
  const name = 'production-6fffcd8f98-w5kwx'
  const head = ['CONDITION', 'STATUS', 'REASON', 'MESSAGE']
  const lines = narrowTable(head, [
    ['WorkloadAvailable', 'False', 'NoReplicasAvailable', message],
    [name, 'yes', 'x'.repeat(100), 'a,b,c'],
  ])
  for (const line of lines) assert.ok(line.length <= 80, line)
  assert.equal(lines.join(' ').match(/word/g)?.length, 60)
  assert.equal(lines.join('').match(/x/g)?.length, 100 + 1)
})
