/** Rows of usage under more tags and keys than fit, for two hours, or twenty with GW_LONG=1. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { UsageBook } from '../../../dataplane/store/usage-book.ts'
import type { Trace } from '../../../dataplane/telemetry/trace/fields.ts'
import { cases } from '../../helpers/cases.ts'
import { anAttempt, aTrace, snapshot, USAGE } from '../telemetry/tracing/a-decision.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const HOURS = cases(2, 20)
const TAGS = 50_000
const KEYS = 10_000
const TENANTS = 12
const ROWS_OF_HOUR = 5_000

const HEAP_BYTES_MAX = 67_108_864

test('50,000 values of a tag by 10,000 keys in each hour stay within rows and memory; amounts are exact, and folding is counted', () => {
  collect()
  const before = process.memoryUsage().heapUsed
  const folded = { tags: 0, model: 0, key: 0 }
  const book = new UsageBook((reason) => folded[reason]++)
  const attempts = [anAttempt({ usage: { ...USAGE, cost_nano_usd: 3 } })]
  const trace: Trace = aTrace({ attempts })
  for (let hour = 0; hour < HOURS; hour++) {
    const time = `2026-11-20T${String(hour).padStart(2, '0')}:10:00.000Z`
    for (let request = 0; request < TAGS; request++) {
      const key = `k${request % KEYS}`
      const tenant = `t${request % TENANTS}`
      book.add(
        Object.assign(trace, { time, key, tenant, tags: `run=${hour}-${request}` }),
        snapshot.upstreams,
      )
    }
  }
  collect()
  const grown = process.memoryUsage().heapUsed - before
  const rows = [...book.between('', '9')]
  const perHour = Map.groupBy(rows, ({ hour }) => hour)
  assert.equal(perHour.size, HOURS)
  for (const ofHour of perHour.values()) assert.equal(ofHour.length, ROWS_OF_HOUR + TENANTS)
  const sum = (amount: 'requests' | 'cost_nano_usd') =>
    rows.reduce((all, row) => all + row[amount], 0)
  assert.deepEqual([sum('requests'), sum('cost_nano_usd')], [HOURS * TAGS, HOURS * TAGS * 3])
  const beyond = HOURS * (TAGS - ROWS_OF_HOUR)
  assert.deepEqual(folded, { tags: beyond, model: 0, key: beyond })
  const together = rows.filter(({ key, tags }) => key === 'other' && tags === 'other')
  assert.equal(
    together.reduce((all, row) => all + row.requests, 0),
    beyond,
  )
  assert.ok(grown < HEAP_BYTES_MAX, `${grown} bytes for ${rows.length} rows`)
})
