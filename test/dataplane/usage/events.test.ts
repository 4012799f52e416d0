/** Usage events: one for each attempt with usage, the same for every sink, and a file that survives its disk. */
import assert from 'node:assert/strict'
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { compilePrices } from '../../../dataplane/accounts/price.ts'
import type { Section } from '../../../dataplane/schema/index.ts'
import { OtlpPage } from '../../../dataplane/telemetry/tracing/otlp-page.ts'
import { shownUser } from '../../../dataplane/usage/end-user.ts'
import { BatchPage } from '../../../dataplane/usage/events/batch-page.ts'
import { eventsOf } from '../../../dataplane/usage/events/event.ts'
import { EventFile } from '../../../dataplane/usage/events/file.ts'
import { listedPrice } from '../../../dataplane/usage/events/listed-price.ts'
import { writeRecord } from '../../../dataplane/usage/events/log-record.ts'
import { aClock } from '../../helpers/clock.ts'
import { readRecords } from '../../helpers/telemetry/spans.ts'
import { until } from '../../helpers/until.ts'
import { anAttempt, aTrace, snapshot, TRACE_ID, USAGE } from '../telemetry/tracing/a-decision.ts'

const folder = mkdtempSync(join(tmpdir(), 'gw-events-'))
after(() => rmSync(folder, { recursive: true }))

const [event] = eventsOf(aTrace({ tags: 'team=blue,feature=search' }), snapshot)
assert.ok(event !== undefined)

test('an attempt with usage has an event with an id, and one without has none', () => {
  const both = eventsOf(
    aTrace({ attempts: [anAttempt({ usage: USAGE, status: 503 }), anAttempt({ usage: USAGE })] }),
    snapshot,
  )
  assert.deepEqual(
    both.map(({ id, facts }) => [id, facts.attempt, facts.status]),
    [
      ['r-1.1', 1, 503],
      ['r-1.2', 2, 200],
    ],
  )
  assert.deepEqual(event, {
    id: 'r-1.2',
    time: '2026-11-21T12:00:00.250Z',
    facts: {
      ...{ request_id: 'r-1', attempt: 2, tenant: 'acme', key: 'k1', route: 'chat' },
      ...{ upstream: 'eu', provider: 'azure_openai', model: 'gpt-4o-mini', operation: 'chat' },
      ...{ status: 200, code: null, input_tokens: 812, output_tokens: 233 },
      ...{
        cache_read_tokens: 512,
        cache_write_tokens: 100,
        cache_write_1h_tokens: 0,
        reasoning_tokens: 33,
        searches: 0,
      },
      ...{ estimated: false, cost_nano_usd: 91_000, price: null },
      ...{ cache_gain_nano_usd: 0, cache_surcharge_nano_usd: 0 },
      tags: { team: 'blue', feature: 'search' },
      end_user: null,
      ...{ duration_ms: 28, ttft_ms: 8, trace_id: TRACE_ID },
    },
  })
})

test('an event has the applied price, tier by tier', () => {
  const model = { model: 'm', input: 10, output: 20.5, cached_input: 1, search: 0.002 }
  const tiers = [{ above_input_tokens: 1000, input: 15 }]
  const pricing = { models: [{ ...model, tiers }] } as Section['pricing']
  const price = compilePrices(pricing).get('m')
  const short = {
    input: 10,
    cached_input: 1,
    cache_write: 10,
    cache_write_1h: 20,
    output: 20.5,
    reasoning_output: 20.5,
    search: 0.002,
  }
  assert.deepEqual(listedPrice(price, 1000), short)
  assert.deepEqual(listedPrice(price, 1001), {
    ...short,
    input: 15,
    cache_write: 15,
    cache_write_1h: 30,
  })
  assert.equal(listedPrice(undefined, 1), null)
})

test('a webhook gets a batch of CloudEvents', () => {
  const page = new BatchPage('/gw/ai/production')
  page.add(event)
  page.add({ ...event, id: 'r-1.3' })
  const [first, second] = JSON.parse(Buffer.from(page.finish()).toString())
  assert.deepEqual(first, {
    ...{ specversion: '1.0', id: 'r-1.2', source: '/gw/ai/production' },
    ...{ type: 'inference.gw.usage.v1', subject: 'acme', time: event.time },
    datacontenttype: 'application/json',
    data: event.facts,
  })
  assert.equal(second.id, 'r-1.3')
  page.clear()
  page.add(event)
  assert.equal(JSON.parse(Buffer.from(page.finish()).toString()).length, 1)
})

test('a collector gets log records with the names of the conventions', () => {
  const page = new OtlpPage({ resource: { 'service.name': 'gw' }, version: '1' }, writeRecord)
  page.add(event)
  const { resource, records } = readRecords(Buffer.from(page.finish()))
  const [record] = records
  assert.deepEqual(resource, { 'service.name': 'gw' })
  assert.deepEqual(
    [record?.name, record?.body, record?.traceId, Math.round(Number(record?.time) / 1e6)],
    ['gw.usage', 'gw.usage', TRACE_ID, Date.parse(event.time)],
  )
  const { attributes = {} } = record ?? {}
  assert.deepEqual(
    ['gw.event_id', 'gw.cost_nano_usd', 'gw.tag.team', 'gen_ai.usage.cache_read.input_tokens'].map(
      (name) => attributes[name],
    ),
    ['r-1.2', 91_000, 'blue', 512],
  )
  assert.ok(!('gw.end_user' in attributes))
})

test('an event has the end user in every form, as the configuration shows it', () => {
  for (const [shown, user] of [
    ['off', undefined],
    ['plain', 'alice'],
    ['hash', '2bd806c97f0e00af1a1fc3328fa763a9'],
  ] as const) {
    const [one] = eventsOf(aTrace(), snapshot, shownUser(shown, 'alice'))
    assert.ok(one !== undefined)
    assert.equal(one.facts.end_user, user ?? null)
    const page = new OtlpPage({ resource: {}, version: '1' }, writeRecord)
    page.add(one)
    const [record] = readRecords(Buffer.from(page.finish())).records
    assert.equal(record?.attributes['gw.end_user'], user)
  }
})

function aFile(path: string, options: { max_bytes?: number; keep?: number } = {}) {
  const [delivered, dropped] = [{ value: 0 }, { value: 0 }]
  const failures: (string | undefined)[] = []
  const file = new EventFile({
    ...{ path, max_bytes: 1_000_000, keep: 2, clock: aClock(), delivered, dropped, ...options },
    onFailure: (error) => failures.push(error?.message),
  })
  let added = 0
  return {
    file,
    delivered,
    dropped,
    failures,
    async write(events = 1) {
      for (let one = 0; one < events; one++)
        file.add({ ...event, id: `e-${++added}` } as typeof event & object)
      file.flush()
      await until('it is written', () => file.isIdle || failures.at(-1) !== undefined)
    },
  }
}

const idsIn = (path: string) =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).id)

test('lines are appended, in segments of which some are kept', async () => {
  const path = join(folder, 'segments', 'usage.jsonl')
  const { write, delivered, file } = aFile(path, { max_bytes: 1_500 })
  for (let batch = 0; batch < 5; batch++) await write(2)
  assert.deepEqual(idsIn(path), ['e-9', 'e-10'])
  assert.deepEqual(idsIn(`${path}.2`), ['e-5', 'e-6'])
  assert.deepEqual(readdirSync(join(folder, 'segments')).length, 3)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal(delivered.value, 10)
  await file.close()
})

test('a file that another process moved away is created again', async () => {
  const path = join(folder, 'moved.jsonl')
  const { write, file } = aFile(path)
  await write()
  renameSync(path, `${path}.old`)
  await write()
  assert.deepEqual([idsIn(`${path}.old`), idsIn(path)], [['e-1'], ['e-2']])
  await file.close()
})

test('a line torn by a kill spoils no other', async () => {
  const path = join(folder, 'torn.jsonl')
  writeFileSync(path, '{"id":"whole"}\n{"id":"to')
  const { write, file } = aFile(path)
  await write()
  assert.equal(readFileSync(path, 'utf8').split('\n')[2]?.slice(0, 11), '{"id":"e-1"')
  await file.close()
})

test('unwritten events wait within their bound, are written later, and are counted if dropped', async () => {
  const blocker = join(folder, 'blocked')
  writeFileSync(blocker, '')
  const path = join(blocker, 'usage.jsonl')
  const { write, file, failures, dropped, delivered } = aFile(path)
  await write()
  assert.match(failures[0] ?? '', /EEXIST|ENOTDIR/)
  assert.equal(file.waiting, 1)
  for (let one = 0; one < 20_000; one++) file.add(event as typeof event & object)
  assert.ok(dropped.value > 0 && file.waiting + dropped.value === 20_001)
  rmSync(blocker)
  const kept = file.waiting
  file.flush()
  await until('it is written', () => file.isIdle)
  assert.deepEqual([delivered.value, failures.at(-1)], [kept, undefined])
  await file.close()
})
