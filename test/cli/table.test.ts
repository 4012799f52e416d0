/** Tables on a terminal, and in a pipe. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tableLines } from '../../cli/printing/table.ts'

test('a table that fits stays as it is', () => {
  assert.deepEqual(tableLines(['A', 'LONG'], [['x', undefined]], { width: 80 }), [
    'A  LONG',
    'x  -',
  ])
})

test('no line is wider than 80 columns, and no word is lost', () => {
  const message = `All ${'word '.repeat(60)}end`
  const name = 'production-6fffcd8f98-w5kwx'
  const head = ['CONDITION', 'STATUS', 'REASON', 'MESSAGE']
  const rows = [
    ['WorkloadAvailable', 'False', 'NoReplicasAvailable', message],
    [name, 'yes', 'x'.repeat(100), 'a,b,c'],
  ]
  const lines = tableLines(head, rows, { width: 80 })
  for (const line of lines) assert.ok(line.length <= 80, line)
  assert.equal(lines.join(' ').match(/word/g)?.length, 60)
  assert.equal(lines.join('').match(/x/g)?.length, 100 + 1)
})

test('without a width a row is a line', () => {
  const lines = tableLines(['A', 'B'], [['x'.repeat(200), 'y']], { width: Infinity })
  assert.deepEqual(lines[1], `${'x'.repeat(200)}  y`)
})

test('colours count as no column, and no text of a client steers the terminal', () => {
  const cells = [[{ text: 'yes', colour: 'green' }, 'a\u001b[31m\nb']]
  const colour = (text: string, name: string | undefined) => (name ? `<${name}>${text}</>` : text)
  assert.deepEqual(tableLines(['READY', 'NAME'], cells, { width: 80, colour }), [
    'READY  NAME',
    '<green>yes</>    a [31m b',
  ])
})
