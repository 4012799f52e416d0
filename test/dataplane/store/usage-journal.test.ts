/** Rows of usage in `state_dir`: they are restored, and old ones are removed. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { StateError } from '../../../dataplane/store/memory/database.ts'
import { UsageJournal } from '../../../dataplane/store/memory/usage-journal.ts'
import { UsageBook } from '../../../dataplane/store/usage-book.ts'
import { aClock } from '../../helpers/clock.ts'
import { anAttempt, aTrace, snapshot, USAGE } from '../telemetry/tracing/a-decision.ts'

const folder = mkdtempSync(join(tmpdir(), 'gw-usage-'))
after(() => rmSync(folder, { recursive: true }))
let folders = 0

function open(stateDir: string) {
  const book = new UsageBook()
  const clock = aClock()
  const failures: (string | undefined)[] = []
  const journal = new UsageJournal({
    stateDir,
    book,
    clock,
    onFailure: (error) => failures.push(error?.message),
  })
  const add = (fields = {}) => {
    const attempts = [anAttempt({ usage: USAGE })]
    book.add(aTrace({ attempts, tags: 'team=blue', ...fields }), snapshot.upstreams)
  }
  return { book, journal, add, failures, rows: () => [...book.between('2026', '2027')] }
}

const aFolder = () => join(folder, `state-${++folders}`)

test('rows are restored, and continue', () => {
  const stateDir = aFolder()
  const first = open(stateDir)
  first.add()
  first.add({ tenant: 'other' })
  first.journal.expire(1000)
  first.add()
  first.journal.close()
  assert.equal(statSync(join(stateDir, 'usage.sqlite')).mode & 0o777, 0o600)
  const second = open(stateDir)
  assert.deepEqual(
    second.rows().map((row) => ({ ...row })),
    first.rows().map((row) => ({ ...row })),
  )
  second.add()
  second.journal.close()
  const third = open(stateDir)
  const [row] = third.rows().filter(({ tenant }) => tenant === 'acme')
  assert.deepEqual([row?.requests, row?.input_tokens, row?.tags], [3, 3 * 812, 'team=blue'])
  third.journal.close()
})

test('a file of an earlier release is read, and continues with the missing amounts', () => {
  const stateDir = aFolder()
  const first = open(stateDir)
  first.add()
  first.journal.close()
  const file = new DatabaseSync(join(stateDir, 'usage.sqlite'))
  for (const amount of ['cache_surcharge_nano_usd', 'cache_gain_nano_usd', 'cache_write_1h_tokens'])
    file.exec(`ALTER TABLE rows DROP COLUMN ${amount}`)
  file.close()
  const second = open(stateDir)
  assert.deepEqual(
    second.rows().map(({ input_tokens, cache_write_1h_tokens: hourly }) => [input_tokens, hourly]),
    [[812, 0]],
  )
  const saved = { cache_gain_nano_usd: 700, cache_surcharge_nano_usd: 80 }
  const usage = { ...USAGE, cache_write_1h_tokens: 60, ...saved }
  second.add({ attempts: [anAttempt({ usage })] })
  second.journal.close()
  const third = open(stateDir)
  assert.deepEqual(
    third.rows().map((row) => [row.input_tokens, row.cache_write_1h_tokens]),
    [[2 * 812, 60]],
  )
  assert.partialDeepStrictEqual(third.rows()[0], saved)
  third.journal.close()
  assert.deepEqual(second.failures, [])
})

test('hours that the book has dropped leave the file with the next write', () => {
  const stateDir = aFolder()
  const first = open(stateDir)
  first.add({ time: '2026-01-01T00:00:00.000Z' })
  first.journal.expire(1000)
  const start = Date.parse('2026-02-01T00:00:00Z')
  for (let hour = 0; hour < 744; hour++)
    first.add({ time: new Date(start + hour * 3_600_000).toISOString() })
  first.journal.close()
  const second = open(stateDir)
  assert.deepEqual([second.rows().length, second.book.since], [744, '2026-02-01T00'])
  second.journal.close()
})

test('a folder that another gateway uses is refused with advice', () => {
  const stateDir = aFolder()
  const first = open(stateDir)
  assert.throws(
    () => open(stateDir),
    (error) => error instanceof StateError && /in use by another gateway/.test(error.message),
  )
  first.journal.close()
})
