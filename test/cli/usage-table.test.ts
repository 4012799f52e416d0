/** Usage for people and for spreadsheets, of one gateway or of several pods. */
import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { csvOf, joined, printUsage, type Row, type UsageAnswer } from '../../cli/usage/table.ts'

const NOTHING = {
  ...{ requests: 0, errors: 0, estimated: 0, input_tokens: 0, output_tokens: 0 },
  ...{
    cached_tokens: 0,
    cache_write_tokens: 0,
    cache_write_1h_tokens: 0,
    cache_gain_nano_usd: 0,
    cache_surcharge_nano_usd: 0,
    reasoning_tokens: 0,
    cost_nano_usd: 0,
  },
}

function anAnswer(rows: readonly Partial<Row>[], fields: Partial<UsageAnswer> = {}): UsageAnswer {
  return {
    by: ['tenant', 'model'],
    from: '2026-11-15T00:00:00Z',
    to: '2026-11-22T00:00:00Z',
    rows: rows.map((row) => ({ ...NOTHING, by: {}, ...row })),
    ...fields,
  }
}

function printed(report: UsageAnswer, pods = { asked: 1, answered: 1 }): string {
  const lines: string[] = []
  const write = mock.method(process.stdout, 'write', (text: string) => lines.push(text) > 0)
  try {
    printUsage(report, pods, false)
  } finally {
    write.mock.restore()
  }
  return lines.join('')
}

/** As RFC 4180 reads it. */
function readCsv(text: string): string[][] {
  const rows: string[][] = [[]]
  for (const [, quoted, plain, end = ''] of text.matchAll(
    /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/g,
  )) {
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain ?? '')
    if (end === '\r\n') rows.push([])
    if (end === '') break
  }
  return rows.slice(0, -1)
}

test('a name that a spreadsheet would run, and one with commas, quotes or line breaks, is a text', () => {
  const names = [
    '=cmd()',
    '+1',
    '-1',
    '@sum',
    '\tx',
    'a,b',
    'say "so"',
    'two\nlines',
    '=a,"b"\r\nc',
    ...['\n=1+1', '\r=1', '\n', '\u0000=1', '\u001b=1', ' =1', '\u00a0=1', '\ufeff=1', '\u200b=1'],
    ...[
      '\uff1d1+1',
      '\uff0b1',
      '\uff0d1',
      '\uff20sum',
      ' \uff1d1',
      '\ufe661',
      '\ufe621',
      '\ufe631',
      '\ufe6bx',
      '\u22121',
    ],
  ]
  const plain = ['a,b', 'say "so"', 'two\nlines']
  const csv = csvOf(anAnswer(names.map((name) => ({ by: { tenant: name, model: name } }))))
  const [head, ...rows] = readCsv(csv)
  assert.equal(head?.length, 14)
  assert.deepEqual(
    rows.map(([tenant]) => tenant),
    names.map((name) => (plain.includes(name) ? name : `'${name}`)),
  )
  for (const row of rows) assert.equal(row.length, 14)
  assert.ok(rows.flat().every((cell) => !/^[\s\p{C}]*[=+\-@＝＋－＠]/u.test(cell)))
})

test('the pods of a cluster are added up, and the footer shows how many have answered', () => {
  const one = { by: { tenant: 'a', model: 'm' }, requests: 2, cost_nano_usd: 5 }
  const answers = [anAnswer([one]), anAnswer([one])]
  const report = joined(answers)
  assert.equal(report?.rows[0]?.requests, 4)
  assert.match(printed(report as UsageAnswer, { asked: 3, answered: 2 }), /, 2 of 3 pods/)
  assert.match(printed(report as UsageAnswer, { asked: 2, answered: 2 }), /, 2 pods/)
})

test('what caches saved is what reading was cheaper, less what writing was dearer', () => {
  const one = { by: { tenant: 'a', model: 'm' }, cost_nano_usd: 2_000_000_000 }
  const amounts = { cache_gain_nano_usd: 50_000_000, cache_surcharge_nano_usd: 300_000_000 }
  assert.match(printed(anAnswer([{ ...one, ...amounts }])), /a +m .* 2\.00 +-0\.25 /)
  const [head = [], row = []] = readCsv(csvOf(anAnswer([{ ...one, ...amounts }])))
  const cells = Object.fromEntries(head.map((name, index) => [name, row[index]]))
  assert.deepEqual([cells.cache_gain_usd, cells.cache_surcharge_usd], ['0.05', '0.30'])
})

test('a report shows its start if that is later than requested', () => {
  const kept = anAnswer([], { kept_from: '2026-11-20T00:00:00Z' })
  assert.match(printed(kept), /counted from 2026-11-20T00:00:00Z/)
  const whole = anAnswer([], { kept_from: '2026-11-01T00:00:00Z' })
  assert.doesNotMatch(printed(whole), /counted from/)
})

test('the time zone of days, and tokens without a key, are printed below the table', () => {
  const unattributed = [{ tenant: 'a', window: 'day' as const, tokens: 30, cost_nano_usd: 0 }]
  const text = printed(anAnswer([], { tz: 'Europe/Berlin', unattributed }))
  assert.match(text, /days of Europe\/Berlin/)
  assert.match(text, /30 tokens charged to a today belong to no key/)
})
