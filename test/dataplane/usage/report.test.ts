/** Reports of usage: days of a time zone, requested periods, and charges without a row. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { UsageBook } from '../../../dataplane/store/usage-book.ts'
import type { Row } from '../../../dataplane/store/usage-row.ts'
import {
  type ReportQuestion,
  reportOf,
  type UsageSources,
} from '../../../dataplane/usage/report.ts'
import type { Charged } from '../../../dataplane/usage/unattributed.ts'
import { aTrace, snapshot } from '../telemetry/tracing/a-decision.ts'

const HOUR_MS = 3_600_000
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
const PLACE = { tenant: 'acme', key: 'k', route: 'chat', upstream: 'eu', model: 'm', tags: '' }

function aRow(hour: string, fields: Partial<Row> = {}): Row {
  return { ...NOTHING, ...PLACE, hour, requests: 1, ...fields }
}

function sourcesOf(rows: readonly Row[], fields: Partial<UsageSources> = {}): UsageSources {
  const book = {
    *between(from: string, to: string) {
      yield* rows.filter(({ hour }) => hour >= from && hour <= to)
    },
    since: rows[0]?.hour,
  }
  return { book, kept: { in: 'state_dir' }, tags: [], upstreams: snapshot.upstreams, ...fields }
}

/** One request in each hour. */
function hourly(from: string, hours: number): Row[] {
  const start = Date.parse(`${from}:00Z`)
  return Array.from({ length: hours }, (_, at) =>
    aRow(new Date(start + at * HOUR_MS).toISOString().slice(0, 13)),
  )
}

async function reported(sources: UsageSources, asked: ReportQuestion, now: string) {
  const report = await reportOf(sources, asked, Date.parse(now))
  assert.ok(typeof report !== 'string', String(report))
  return report
}

async function daysOf(rows: readonly Row[], tz: string, from: string, to: string) {
  const { rows: days } = await reported(
    sourcesOf(rows),
    { by: 'day', tz, from, to },
    '2026-12-31T12:00:00Z',
  )
  return Object.fromEntries(days.map(({ by, requests }) => [by.day, requests]).sort())
}

for (const [tz, from, lengths] of [
  ['UTC', '2026-10-24', { '2026-10-24': 24, '2026-10-25': 24, '2026-10-26': 24 }],
  // Clocks go back, so one day has 25 hours.
  ['Europe/Berlin', '2026-10-24', { '2026-10-24': 24, '2026-10-25': 25, '2026-10-26': 24 }],
  ['Europe/Berlin', '2026-03-28', { '2026-03-28': 24, '2026-03-29': 23, '2026-03-30': 24 }],
  ['Asia/Shanghai', '2026-10-24', { '2026-10-24': 24, '2026-10-25': 24, '2026-10-26': 24 }],
  ['America/New_York', '2026-10-31', { '2026-10-31': 24, '2026-11-01': 25, '2026-11-02': 24 }],
] as const) {
  test(`${tz} from ${from}: every request is in exactly one day of the zone`, async () => {
    const [first = '', , last = ''] = Object.keys(lengths)
    const days = await daysOf(hourly(`${first.slice(0, 8)}20T00`, 24 * 20), tz, first, last)
    assert.deepEqual(days, lengths)
  })
}

test('hours of a zone have different names if its clocks go back', async () => {
  const rows = hourly('2026-10-24T22', 6)
  const { rows: hours, tz } = await reported(
    sourcesOf(rows),
    { by: 'hour', tz: 'Europe/Berlin', from: '2026-10-25T00', to: '2026-10-25T04' },
    '2026-12-31T12:00:00Z',
  )
  assert.equal(tz, 'Europe/Berlin')
  const names = hours.map(({ by }) => by.hour)
  assert.equal(new Set(names).size, 6)
  assert.ok(names.includes('2026-10-25T02+02:00') && names.includes('2026-10-25T02+01:00'))
})

test('a month, a day or an hour may be requested, and both ends are included', async () => {
  const rows = hourly('2026-10-01T00', 24 * 61)
  const now = '2026-11-30T12:00:00Z'
  for (const [from, to, requests] of [
    ['2026-10', '2026-10', 24 * 31],
    ['2026-11-03', '2026-11-04', 48],
    ['2026-11-03T07', '2026-11-03T07', 1],
    // A period that has not ended is valid too.
    ['2026-11-30', '2026-11', 13],
    ['2026-11-29', undefined, 37],
  ] as const) {
    const { rows: found } = await reported(sourcesOf(rows), { from, to }, now)
    assert.equal(found[0]?.requests, requests, `${from} to ${to}`)
  }
})

for (const [what, asked, says] of [
  ['an unknown zone', { tz: 'Europe/Bärlin', by: 'day' }, /There is no time zone/],
  ['days half an hour apart', { tz: 'Asia/Kolkata', by: 'day' }, /no offset of whole hours/],
  ['a zone without a day', { tz: 'Europe/Berlin' }, /tz cannot take effect/],
  ['two beginnings', { hours: '3', from: '2026-11' }, /not both/],
  ['an end alone', { to: '2026-11' }, /Give from, too/],
  ['a 13th month', { from: '2026-13' }, /Give a month, day or hour/],
  ['a 30th of February', { from: '2026-02-30' }, /Give a month, day or hour/],
  ['a word for an end', { from: '2026-01', to: 'soon' }, /as to: there is no "soon"/],
  [
    'an hour that the clocks leave out',
    { from: '2026-03-29T02', tz: 'Europe/Berlin' },
    /there is no "2026-03-29T02" in/,
  ],
  ['the future', { from: '2027-01' }, /in the future/],
  ['an end before the beginning', { from: '2026-11-03', to: '2026-11-02' }, /later than to/],
  ['a year long gone', { from: '2024-01' }, /older rows are not kept/],
] as const) {
  test(`${what} gets an error text`, async () => {
    const report = await reportOf(sourcesOf([]), asked, Date.parse('2026-11-30T12:00:00Z'))
    assert.match(String(report), says)
  })
}

test('a request counts in the hour and the month in which it arrived', async () => {
  const book = new UsageBook()
  const late = { time: '2026-10-31T23:59:59.900Z', duration_ms: 60_000 }
  book.add(aTrace(late), snapshot.upstreams)
  assert.deepEqual([...book.between('2026-10-31T23', '2026-10-31T23')].length > 0, true)
  assert.deepEqual([...book.between('2026-11', '2026-12')], [])
})

const NOW = '2026-11-21T12:30:00Z'
const CHARGED: readonly Charged[] = [
  { tenant: 'acme', window: 'day', since: '2026-11-21', settled: 100 },
  { tenant: 'acme', window: 'month', since: '2026-11-01', settled: 5_000 },
]
const ROWS = [
  aRow('2026-11-03T08', { cost_nano_usd: 3_000, input_tokens: 999 }),
  aRow('2026-11-21T11', { cost_nano_usd: 1_000, input_tokens: 60, output_tokens: 10 }),
]

test('a charge without a row is in an unattributed row, so that the sum equals the charge', async () => {
  const sources = sourcesOf(ROWS, { charged: async () => CHARGED })
  const report = await reported(sources, { by: 'tenant,model', from: '2026-11' }, NOW)
  assert.deepEqual(report.unattributed, [
    { tenant: 'acme', window: 'day', tokens: 30, cost_nano_usd: 0 },
    { tenant: 'acme', window: 'month', tokens: 0, cost_nano_usd: 1_000 },
  ])
  const unattributed = report.rows.find(({ by }) => by.model === '(unattributed)')
  assert.deepEqual(
    [unattributed?.by.tenant, unattributed?.cost_nano_usd, unattributed?.requests],
    ['acme', 1_000, 0],
  )
  const sum = report.rows.reduce((all, { cost_nano_usd }) => all + cost_nano_usd, 0)
  assert.equal(sum, 5_000)
})

test('rows that another replica is about to write are waited for, and are not missing', async () => {
  const rows: Row[] = [...ROWS]
  const sources = sourcesOf([], {
    book: {
      *between() {
        yield* rows
      },
      since: '2026-11-03T08',
    },
    charged: async () => CHARGED,
    async written() {
      rows.push(aRow('2026-11-21T12', { cost_nano_usd: 1_000, output_tokens: 30 }))
    },
  })
  const report = await reported(sources, { from: '2026-11' }, NOW)
  assert.equal(report.unattributed, undefined)
  assert.equal(report.rows[0]?.cost_nano_usd, 5_000)
})

test('a report of one key has nothing of another, and nothing unattributed', async () => {
  const sources = sourcesOf([...ROWS, aRow('2026-11-21T11', { key: 'other', requests: 7 })], {
    charged: async () => CHARGED,
  })
  const only = { tenant: 'acme', key: 'other' }
  const report = await reported(sources, { by: 'key', from: '2026-11', only }, NOW)
  assert.deepEqual(
    report.rows.map(({ by, requests }) => [by.key, requests]),
    [['other', 7]],
  )
  assert.equal(report.unattributed, undefined)
})

test('a report of 100,000 rows lets other work run in between', async () => {
  const rows = Array.from({ length: 100_000 }, (_, at) => aRow('2026-11-21T11', { key: `k${at}` }))
  let isOver = false
  let turns = 0
  const others = (async () => {
    for (; !isOver; turns++) await turn()
  })()
  const { rows: groups } = await reported(sourcesOf(rows), {}, NOW)
  isOver = true
  await others
  assert.equal(groups[0]?.requests, 100_000)
  assert.ok(turns >= 499, String(turns))
})
