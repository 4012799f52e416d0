/** Tables on a terminal, and in a pipe. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { moneyText } from '../../cli/printing/tables/money.ts'
import { tableLines } from '../../cli/printing/tables/table.ts'

test('a table that fits stays as it is', () => {
  assert.deepEqual(tableLines(['A', 'LONG'], [['x', undefined]], { width: 80 }), [
    'A  LONG',
    'x  -',
  ])
})

test('a sentence in the last column goes on in the next line, and no word is lost', () => {
  const message = `All ${'word '.repeat(60)}end`
  const name = 'production-6fffcd8f98-w5kwx'
  const head = ['CONDITION', 'STATUS', 'MESSAGE']
  const rows = [
    ['WorkloadAvailable', 'False', message],
    [name, 'yes', 'a,b,c'],
  ]
  const lines = tableLines(head, rows, { width: 80 })
  for (const line of lines) assert.ok(line.length <= 80, line)
  assert.equal(lines.join(' ').match(/word/g)?.length, 60)
})

test('without a width a row is a line', () => {
  const lines = tableLines(['A', 'B'], [['x'.repeat(200), 'y']], { width: Infinity })
  assert.deepEqual(lines[1], `${'x'.repeat(200)}  y`)
})

test('the least important column is left out first, then texts are cut at a word', () => {
  const head = ['NAME', 'KIND', 'UPSTREAMS', 'READY']
  const rows = [['a-name', 'some-kind', 'first-upstream, second-upstream, third-upstream', 'yes']]
  const shown = (width: number) => tableLines(head, rows, { width, least: ['KIND'] })
  assert.deepEqual(shown(80)[1]?.split(/ {2,}/), rows[0])
  assert.deepEqual(shown(50), [
    'NAME    UPSTREAMS                            READY',
    'a-name  first-upstream, second-upstream, …   yes',
  ])
})

test('numbers stand at the right, with separators', () => {
  const rows = [
    ['a', 1_234_567, '0.50'],
    ['b', 12, '12.25'],
  ]
  assert.deepEqual(tableLines(['NAME', 'TOKENS', 'USD'], rows, { width: 80 }), [
    'NAME     TOKENS    USD',
    'a     1,234,567   0.50',
    'b            12  12.25',
  ])
})

test('money has at most four significant decimals', () => {
  const texts = [0, 0.000096, 0.000123456, 0.5, 12.345678, 1234.5, -0.25].map(moneyText)
  assert.deepEqual(texts, [
    ...['0.00', '0.000096', '0.0001235', '0.50', '12.3457', '1,234.50', '-0.25'],
  ])
})

test('at no width an id is broken or cut, and no line is wider than the terminal', () => {
  const id = fc.stringMatching(/^[a-z][a-z0-9]{0,20}-[a-z0-9-]{8,40}[a-z]$/)
  const sentence = fc.array(fc.stringMatching(/^[a-z]{1,9}$/), { minLength: 2, maxLength: 30 })
  const row = fc.tuple(id, id, fc.nat(), sentence, id, sentence)
  const head = ['REQUEST', 'TENANT', 'MS', 'UPSTREAMS', 'ROUTE', 'WHY']
  fc.assert(
    fc.property(
      fc.array(row, { minLength: 1, maxLength: 5 }),
      fc.integer({ min: 80, max: 200 }),
      (rows, width) => {
        const cells = rows.map(([one, two, ms, list, route, why]) => [
          ...[one, two, ms, list.join(', '), route, why.join(' ')],
        ])
        const words = new Set(['…', '-', ...head, ...cells.flat().map(String)])
        for (const [, , ms, list, , why] of rows)
          for (const word of [...list, ...why, ms.toLocaleString('en-US')]) words.add(word)
        const lines = tableLines(head, cells, { width, least: ['MS'] })
        for (const line of lines) {
          assert.ok(line.length <= width, line)
          for (const word of line
            .trim()
            .split(/,?…|,? +|,$/)
            .filter((one) => one !== ''))
            assert.ok(words.has(word), `${word} in ${line}`)
        }
        for (const [one] of cells) assert.ok(lines.some((line) => line.startsWith(String(one))))
      },
    ),
  )
})

test('colours count as no column, and no text of a client steers the terminal', () => {
  const cells = [[{ text: 'yes', colour: 'green' }, 'a\u001b[31m\nb']]
  const colour = (text: string, name: string | undefined) => (name ? `<${name}>${text}</>` : text)
  assert.deepEqual(tableLines(['READY', 'NAME'], cells, { width: 80, colour }), [
    'READY  NAME',
    '<green>yes</>    a [31m b',
  ])
})

test('after a wide column had to go, the narrow ones after it are shown', () => {
  const head = ['ROUTE', 'TO', 'PHASE', 'SHARE', 'REASON']
  const row = ['customer-support-assistant-being-rolled-out', 'a'.repeat(38), 'running', '1%', 'ok']
  assert.deepEqual(tableLines(head, [row], { width: 80 }), [
    'ROUTE                                        PHASE    SHARE  REASON',
    'customer-support-assistant-being-rolled-out  running     1%  ok',
  ])
})

test('the word that names a row is whole at any length', () => {
  const name = 'limit:fair-use-of-all-internal-applications'
  const cells = [[`${name} (tenant "x") tokens_per_minute`, 'a sentence of some length', 5, 5000]]
  const [, line = ''] = tableLines(['LIMIT', 'MAX', 'USED', 'LEFT'], cells, { width: 80 })
  assert.match(line, new RegExp(`^${name}(…| )`))
})
