/** The history of several replicas in one Redis: added up when read, also those of processes that have ended. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { historyOf } from '../../../dataplane/store/history/answer.ts'
import { HistoryBook } from '../../../dataplane/store/history/book.ts'
import { RedisPages } from '../../../dataplane/store/history/redis-pages.ts'
import { type Link, StoreAway } from '../../../dataplane/store/redis/link.ts'
import { newTrace } from '../../../dataplane/telemetry/trace/code.ts'
import { aStoreBench } from './store-bench.ts'

const bench = aStoreBench()

function replica(name: string, link: Link = bench.link) {
  const { clock } = bench
  const book = new HistoryBook(clock)
  const pages = new RedisPages({
    link,
    isAway: () => false,
    keyPrefix: 'gw',
    replica: name,
    book,
    clock,
  })
  const add = (requests: number) => {
    const trace = newTrace('r', '', 'POST', '/')
    for (let one = 0; one < requests; one++)
      book.tally.add({ ...trace, tenant: 'acme', route: 'chat', status: 200 }, false)
  }
  const ask = async (query: Readonly<Record<string, string>> = {}) => {
    const { body } = await historyOf(query, {
      history: book,
      historyKept: { in: 'redis', read: (span) => pages.read(span) },
    })
    if (!('series' in body)) throw new Error(body.error.message)
    const requests = body.series.find(({ by }) => by === 'route') as unknown as
      | { requests: number[] }
      | undefined
    return { ...body, total: (requests?.requests ?? []).reduce((sum, count) => sum + count, 0) }
  }
  return { book, pages, add, ask }
}

test('a replica reads the sum of all, also of one that has ended, by minute and by hour', async () => {
  const one = replica('one')
  one.add(3)
  one.book.note({
    time: '2026-11-21T12:00:00.000Z',
    level: 'info',
    event: 'start',
    message: 'It listens.',
  })
  await one.pages.flush()
  bench.clock.pass(120_000)
  const two = replica('two')
  two.add(4)
  const minutes = await two.ask({ since: '2026-11-21T12:00:00Z', step: '1m' })
  assert.deepEqual(
    minutes.series.find(({ by }) => by === 'tenant')?.['requests' as never],
    [3, 0, 4],
  )
  assert.equal(minutes.kept_in, 'redis')
  assert.deepEqual(
    minutes.events.map(({ message, replica }) => [message, replica]),
    [['It listens.', 'one']],
  )
  assert.equal((await two.ask({ since: '2026-11-20T12:00:00Z', step: '1h' })).total, 7)
})

test('a write that is repeated counts once, and each hash expires', async () => {
  const one = replica('one')
  one.add(3)
  await one.pages.flush()
  one.add(1)
  one.pages.returned()
  await one.pages.flush()
  assert.equal((await replica('two').ask()).total, 4)
  const keys = await bench.link.client.keys('*history*')
  assert.deepEqual(keys.sort(), [
    'gw:v1:{usage}:history:2026-11-21',
    'gw:v1:{usage}:history:2026-11-21T12',
  ])
  for (const key of keys) assert.ok((await bench.link.client.pttl(key)) > 48 * 3_600_000, key)
})

test('while the store is away, a replica answers with its own part and says so', async () => {
  const away: Link = { run: () => Promise.reject(new StoreAway('connection', false)) }
  const one = replica('one', away)
  one.add(2)
  const { total, missing } = await one.ask()
  assert.equal(total, 2)
  assert.match(missing ?? '', /away/)
  // It is written once the store is back.
  assert.ok((one.book.changed?.size ?? 0) > 0)
})
