/**
 * Usage rows that several replicas add up in one Redis: each amount counts once, despite lost
 * messages, and within bounds.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Link, StoreAway } from '../../../dataplane/store/redis/link.ts'
import { UsageRollup } from '../../../dataplane/store/redis/usage-rollup.ts'
import { UsageBook } from '../../../dataplane/store/usage-book.ts'
import type { Row } from '../../../dataplane/store/usage-row.ts'
import { newTrace } from '../../../dataplane/telemetry/trace/code.ts'
import type { AttemptTrace, Trace } from '../../../dataplane/telemetry/trace/fields.ts'
import { cases } from '../../helpers/cases.ts'
import { aRandom } from '../../helpers/random.ts'
import { aStoreBench } from './store-bench.ts'

const HOUR_MS = 3_600_000
const bench = aStoreBench()
const MODELS = new Map([['up', { model: 'm' }]])

function replica(name: string, link: Link = bench.link) {
  const book = new UsageBook()
  const forgotten: number[] = []
  const folded: number[] = []
  const rollup = new UsageRollup({
    link,
    isAway: () => false,
    keyPrefix: 'gw',
    replica: name,
    book,
    clock: bench.clock,
    onFolded: (rows) => folded.push(rows),
    onForgotten: (rows) => forgotten.push(rows),
  })
  const use = (cost_nano_usd: number, fields: Partial<Trace> = {}) => {
    const trace = newTrace('r', new Date(bench.clock.wall()).toISOString(), 'POST', '/')
    const usage = { ...NOTHING, input_tokens: 7, output_tokens: 3, cost_nano_usd }
    const attempts = [{ upstream: 'up', usage } as AttemptTrace]
    book.add(
      Object.assign(trace, { tenant: 'acme', key: 'k', status: 200, attempts, ...fields }),
      MODELS,
    )
  }
  return { book, rollup, use, forgotten, folded }
}

const NOTHING = {
  input_tokens: 0,
  cached_tokens: 0,
  cache_write_tokens: 0,
  cache_write_1h_tokens: 0,
  cache_gain_nano_usd: 0,
  cache_surcharge_nano_usd: 0,
  output_tokens: 0,
  reasoning_tokens: 0,
  estimated: false,
  cost_nano_usd: 0,
}

async function rowsOf(rollup: UsageRollup, hours = 1, isByHour = false): Promise<Row[]> {
  const to = hourOf(bench.clock.wall())
  const from = hourOf(bench.clock.wall() - (hours - 1) * HOUR_MS)
  const all: Row[] = []
  for await (const rows of (await rollup.read({ from, to }, isByHour)).rows) all.push(...rows)
  return all
}

function hourOf(wallMs: number): string {
  return new Date(wallMs).toISOString().slice(0, 13)
}

const sumOf = (rows: readonly Row[], amount: 'cost_nano_usd' | 'requests' = 'cost_nano_usd') =>
  rows.reduce((sum, row) => sum + row[amount], 0)

test('every replica reads the sum of all, to the nano-dollar and beyond 32 bits', async () => {
  const [one, two] = [replica('one'), replica('two')]
  one.use(5_000_000_000_001)
  two.use(2)
  two.use(40, { tags: 'team=blue', key: 'other\nline' })
  await Promise.all([one.rollup.flush(), two.rollup.flush()])
  const [first, second] = (await rowsOf(one.rollup)).sort(
    (a, b) => b.cost_nano_usd - a.cost_nano_usd,
  )
  assert.deepEqual(first, {
    hour: hourOf(bench.clock.wall()),
    ...{ tenant: 'acme', key: 'k', route: 'none', upstream: 'up', model: 'm', tags: '' },
    ...{ requests: 2, errors: 0, estimated: 0 },
    ...{ input_tokens: 14, cached_tokens: 0, cache_write_tokens: 0, cache_write_1h_tokens: 0 },
    ...{ cache_gain_nano_usd: 0, cache_surcharge_nano_usd: 0 },
    ...{ output_tokens: 6, reasoning_tokens: 0, cost_nano_usd: 5_000_000_000_003 },
  })
  assert.deepEqual([second?.tags, second?.key], ['team=blue', 'other\nline'])
  assert.deepEqual(await rowsOf(two.rollup), await rowsOf(one.rollup))
})

test('without new usage there is no call, and new usage costs one', async () => {
  const { rollup, use } = replica('one')
  const before = bench.link.calls
  rollup.expire(0)
  assert.equal(bench.link.calls, before)
  for (let request = 0; request < 100; request++) use(1, { key: `k${request}` })
  await rollup.flush()
  await rollup.flush()
  assert.equal(bench.link.calls, before + 1)
})

test('calls that are lost, late, repeated or out of order count nothing twice and lose nothing', async (context) => {
  const random = aRandom(7)
  let late = 0
  for (let history = 0; history < cases(40, 1_000); history++) {
    await bench.link.client.flushall()
    const delayed: (() => Promise<unknown>)[] = []
    const link: Link = {
      async run(...call) {
        const fate = random(10)
        if (fate === 0) throw new StoreAway('connection', false)
        if (fate === 1) delayed.push(() => bench.link.run(...call))
        else await bench.link.run(...call)
        if (fate <= 3) throw new StoreAway('timeout', true)
        const [reply] = [await bench.link.run(...call)]
        if (random(4) === 0) await delayed.splice(random(delayed.length || 1), 1)[0]?.()
        return reply
      },
    }
    const replicas = [replica('one', link), replica('two', link), replica('three', link)]
    let cost = 0
    for (let step = 0; step < 40; step++) {
      const { use, rollup } = replicas[random(3)] as (typeof replicas)[number]
      const more = random(1_000)
      cost += more
      use(more, { key: `k${random(3)}` })
      if (random(3) === 0) await rollup.flush().catch(() => undefined)
      if (random(15) === 0) bench.clock.pass(HOUR_MS / 2)
    }
    late += delayed.length
    for (const { rollup } of replicas) {
      while (rollup.waiting > 0) await rollup.flush().catch(() => undefined)
    }
    for (const again of delayed) await again()
    const healthy = replica('four').rollup
    assert.equal(sumOf(await rowsOf(healthy, 48)), cost)
    assert.equal(sumOf(await rowsOf(healthy, 48), 'requests'), 40)
  }
  context.diagnostic(`${late} calls came after the history`)
})

test('each replica sends the rows of the last two days to a store that was emptied', async () => {
  const [one, two, ended] = [replica('one'), replica('two'), replica('ended')]
  one.use(1)
  ended.use(1000)
  await Promise.all([one.rollup.flush(), ended.rollup.flush()])
  bench.clock.pass(2 * HOUR_MS)
  one.use(10)
  two.use(100)
  await Promise.all([one.rollup.flush(), two.rollup.flush()])
  await bench.link.client.flushall()
  two.rollup.returned()
  one.use(1)
  await one.rollup.flush()
  await two.rollup.flush()
  // Rows of an ended replica are lost.
  assert.equal(sumOf(await rowsOf(one.rollup, 48)), 112)
  assert.equal(sumOf(await rowsOf(one.rollup, 240)), 112)
  // Older hours are not shown as zero: the report begins with the first rows.
  const to = hourOf(bench.clock.wall())
  const { since } = await one.rollup.read(
    { from: hourOf(bench.clock.wall() - 240 * HOUR_MS), to },
    true,
  )
  assert.equal(since, hourOf(bench.clock.wall() - 2 * HOUR_MS))
})

test('a store restored from an older copy gets the missing rows', async () => {
  const { rollup, use } = replica('one')
  use(1)
  await rollup.flush()
  const keys = await bench.link.client.keys('*')
  const copies = await Promise.all(
    keys.map(async (key) => [key, await bench.link.client.dumpBuffer(key)] as const),
  )
  use(10, { key: 'another' })
  await rollup.flush()
  await bench.link.client.flushall()
  for (const [key, copy] of copies) await bench.link.client.restore(key, 0, copy as Buffer)
  use(100)
  await rollup.flush()
  assert.equal(sumOf(await rowsOf(rollup)), 111)
})

test('hours are kept for days, days for a year; a long report reads days for deleted hours', async () => {
  const { rollup, use } = replica('one')
  use(1)
  await rollup.flush()
  for (const key of await bench.link.client.keys('*'))
    assert.ok((await bench.link.client.pttl(key)) > 0, key)
  const day = bench.clock.wall()
  bench.clock.pass(20 * 24 * HOUR_MS)
  use(10)
  await rollup.flush()
  await bench.link.client.del(`gw:v1:{usage}:hour:${hourOf(day)}`)
  const read = await rollup.read(
    { from: hourOf(day + HOUR_MS), to: hourOf(bench.clock.wall()) },
    false,
  )
  assert.deepEqual([read.from, read.since], [`${hourOf(day).slice(0, 10)}T00`, hourOf(day)])
  assert.equal(sumOf(await rowsOf(rollup, 21 * 24)), 11)
  const byHour = await rollup.read({ from: hourOf(day), to: hourOf(bench.clock.wall()) }, true)
  assert.equal(byHour.since, hourOf(bench.clock.wall() - 191 * HOUR_MS))
})

test('rows of one hour are bounded: new rows lose their key and tags, and no amount', async () => {
  const replicas = Array.from({ length: 3 }, (_, index) => replica(`r${index}`))
  for (const [index, { use }] of replicas.entries()) {
    for (let tenant = 0; tenant < 11; tenant++) {
      for (let key = 0; key < 400; key++) use(1, { tenant: `t${tenant}`, key: `k${index}-${key}` })
    }
  }
  for (const { rollup } of replicas) await rollup.flush()
  const rows = await rowsOf(replica('four').rollup)
  assert.ok(rows.length <= 10_011, String(rows.length))
  assert.equal(sumOf(rows), 3 * 11 * 400)
  const folded = replicas.flatMap((one) => one.folded).reduce((sum, one) => sum + one, 0)
  assert.equal(folded, 3 * 11 * 400 - 10_000)
  assert.ok(rows.some(({ key, tags }) => key === 'other' && tags === 'other'))
})

test('a period that ended weeks ago has its days, and none after them', async () => {
  const { rollup, use } = replica('one')
  use(1)
  await rollup.flush()
  const day = bench.clock.wall()
  bench.clock.pass(24 * HOUR_MS)
  use(10)
  await rollup.flush()
  bench.clock.pass(20 * 24 * HOUR_MS)
  use(100)
  const { rows } = await rollup.read({ from: hourOf(day), to: hourOf(day) }, false)
  const found = (await Array.fromAsync(rows)).flatMap((page) => [...page])
  assert.deepEqual([found.length, sumOf(found)], [1, 1])
})

test('rows that waited longer than the store detects repeats are dropped with a log line', async () => {
  const link: Link = { run: () => Promise.reject(new StoreAway('connection', false)) }
  const { rollup, use, forgotten } = replica('one', link)
  use(1)
  await rollup.flush().catch(() => undefined)
  bench.clock.pass(72 * HOUR_MS)
  await rollup.flush().catch(() => undefined)
  assert.deepEqual([forgotten, rollup.waiting], [[1], 0])
})
