/** Ten tenants over 48 hours with restarts in between: `state_dir` keeps the history. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { DiskPages } from '../../../../dataplane/store/history/disk-pages.ts'
import { aClock } from '../../../helpers/clock.ts'
import { aHistory } from './a-history.ts'

const folder = mkdtempSync(join(tmpdir(), 'gw-history-'))
after(() => rmSync(folder, { recursive: true }))

const MINUTES = 48 * 60
const TENANTS = Array.from({ length: 10 }, (_, index) => `team-${index}`)

test('ten tenants over 48 hours, with a restart every 7 hours, keep each request in its minute', async (t) => {
  const clock = aClock()
  const began = clock.wall()
  const start = () => {
    const history = aHistory({ in: 'state_dir' }, clock)
    const { book } = history
    const onFailure = (error: Error | undefined) => assert.ifError(error)
    return { ...history, pages: new DiskPages({ stateDir: folder, book, clock, onFailure }) }
  }
  let running = start()
  for (let minute = 0; minute < MINUTES; minute++) {
    for (const [index, tenant] of TENANTS.entries())
      if (minute % (index + 1) === 0) running.add({ tenant, tried: { [`up-${index % 3}`]: 'ok' } })
    if (minute % 180 === 5)
      running.book.note({
        time: new Date(clock.wall()).toISOString(),
        level: 'warn',
        event: 'health',
        message: `${minute}`,
      })
    clock.pass(30_000)
    running.book.expire(clock.now())
    running.pages.expire(clock.now())
    clock.pass(30_000)
    // In the middle of a minute and an hour, so that both continue.
    if (minute % 420 === 419) {
      running.pages.close()
      running = start()
    }
  }
  const { sum, events, of } = await running.ask({ since: String(began), step: '1m' })
  for (const [index, tenant] of TENANTS.entries())
    assert.equal(sum('tenant', tenant, 'requests'), Math.ceil(MINUTES / (index + 1)), tenant)
  assert.deepEqual(of('tenant', 'team-1')?.requests?.slice(0, 4), [1, 0, 1, 0])
  assert.equal(events.length, 16)
  const hours = await running.ask({ since: String(began), step: '1h' })
  assert.equal(hours.sum('tenant', 'team-0', 'requests'), MINUTES)
  t.diagnostic(`${running.book.bytes} bytes in pages`)
  assert.ok(running.book.bytes < 8 * 1_048_576)
  running.pages.close()
})

test('a step in which the gateway did not run is apart from one without requests, also after a restart', async () => {
  const clock = aClock()
  const began = clock.wall()
  const stateDir = mkdtempSync(join(tmpdir(), 'gw-history-'))
  after(() => rmSync(stateDir, { recursive: true }))
  const onFailure = (error: Error | undefined) => assert.ifError(error)
  const start = () => {
    const history = aHistory({ in: 'state_dir' }, clock)
    return { ...history, pages: new DiskPages({ stateDir, book: history.book, clock, onFailure }) }
  }
  const first = start()
  first.add()
  first.pass(3 * 60_000)
  first.pages.close()
  clock.pass(4 * 60_000)
  const second = start()
  second.pass(2 * 60_000 + 15_000)
  second.add()
  const since = String(began)
  const { counted_ms, of } = await second.ask({ since, step: '1m' })
  const minute = 60_000
  assert.deepEqual(
    counted_ms,
    [...[1, 1, 1, 1].map(() => minute), 0, 0, 0, minute, minute, 15_000],
    'the close is in the fourth minute',
  )
  assert.deepEqual(of('route', 'chat')?.requests, [1, 0, 0, 0, 0, 0, 0, 0, 0, 1])
  const fives = await second.ask({ since, step: '5m' })
  assert.deepEqual(fives.counted_ms, [4 * minute, 2 * minute + 15_000])
  second.pass(3 * 3_600_000)
  const hours = await second.ask({ since: String(began - 3_600_000), step: '1h' })
  assert.deepEqual(
    hours.counted_ms.map((ms) => ms > 0),
    [false, true, true, true, true],
  )
  second.pages.close()
})
