/** Rows of usage: their sums, their groups, and their bounds. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { keyOf } from '../../../dataplane/call/key-entry.ts'
import { UsageBook } from '../../../dataplane/store/usage-book.ts'
import { joinedNames, namesIn } from '../../../dataplane/store/usage-row.ts'
import type { AttemptTrace, Trace } from '../../../dataplane/telemetry/trace/fields.ts'
import { reportOf, type UsageSources } from '../../../dataplane/usage/report.ts'
import { metadataIn, tagsOf } from '../../../dataplane/usage/tags.ts'
import { KEY } from '../request/stages/keys.ts'
import { anAttempt, aTrace, snapshot, USAGE } from '../telemetry/tracing/a-decision.ts'

const NOW = Date.parse('2026-11-21T12:30:00Z')

function aBook(requests: readonly Partial<Trace>[]): UsageBook {
  const book = new UsageBook()
  for (const fields of requests) book.add(aTrace(fields), snapshot.upstreams)
  return book
}

const served = (cost_nano_usd: number, fields: Partial<AttemptTrace> = {}) => ({
  attempts: [anAttempt({ usage: { ...USAGE, cost_nano_usd }, ...fields })],
})

const DECLARED = ['team', 'feature']
const TAGS = { tags: DECLARED, tag_headers: [] }
const sourcesOf = (book: UsageBook, tags = DECLARED): UsageSources => ({
  book,
  kept: { in: 'memory' },
  tags,
  upstreams: snapshot.upstreams,
})

async function rowsOf(book: UsageBook, by: string, hours?: string) {
  const report = await reportOf(sourcesOf(book), { by, hours }, NOW)
  assert.ok(typeof report !== 'string', String(report))
  return report.rows
}

test('a request counts once, at its last attempt, and each attempt with its usage', async () => {
  const first = anAttempt({ outcome: 'reset', usage: { ...USAGE, estimated: true } })
  const second = anAttempt({ upstream: 'eu', usage: USAGE })
  const failed = { status: 502, attempts: [anAttempt({ outcome: 'reset' })] }
  const rows = await rowsOf(aBook([{ attempts: [first, second] }, failed]), 'upstream,model')
  assert.deepEqual(
    rows.map(({ by, requests, errors, input_tokens, estimated }) => [
      by,
      requests,
      errors,
      input_tokens,
      estimated,
    ]),
    [
      [{ upstream: 'local', model: 'llama' }, 1, 1, 812, 1],
      [{ upstream: 'eu', model: 'gpt-4o-mini' }, 1, 0, 812, 0],
    ],
  )
})

test('requests of any hours, tenants, keys, routes and tags in any order count in their own rows', () => {
  const one = fc.constantFrom('a', 'b')
  const names = fc.record({
    time: fc.constantFrom('2026-11-21T11:59:59.999Z', '2026-11-21T12:00:00.000Z'),
    ...{ tenant: one, key: fc.option(one, { nil: undefined }), route: one },
    tags: fc.option(fc.constantFrom('team=a', 'team=b'), { nil: undefined }),
  })
  fc.assert(
    fc.property(fc.array(names), (requests) => {
      const sums = new Map<string, number>()
      for (const { time, tenant, key = '', route, tags = '' } of requests) {
        const name = [time.slice(0, 13), tenant, key, route, tags].join()
        sums.set(name, (sums.get(name) ?? 0) + 1)
      }
      const book = aBook(requests.map((fields) => ({ ...fields, ...served(1) })))
      const rows = [...book.between('2026', '2027')].map(
        ({ hour, tenant, key, route, tags, requests: count }) =>
          [[hour, tenant, key, route, tags].join(), count] as const,
      )
      assert.deepEqual(new Map(rows), sums)
      assert.equal(rows.length, sums.size)
    }),
  )
})

test('rows are grouped by the requested names, the most expensive first, in the requested hours', async () => {
  const book = aBook([
    { ...served(5), tags: 'team=blue,feature=a' },
    { ...served(7), tags: 'team=red', tenant: 'other' },
    { ...served(9), tags: 'team=blue', time: '2026-11-20T23:59:59.999Z' },
  ])
  const costs = async (by: string, hours?: string) =>
    (await rowsOf(book, by, hours)).map(({ by: of, cost_nano_usd }) => [
      Object.values(of).join(' '),
      cost_nano_usd,
    ])
  assert.deepEqual(await costs('tenant'), [
    ['acme', 14],
    ['other', 7],
  ])
  assert.deepEqual(await costs('tag:team,day'), [
    ['blue 2026-11-20', 9],
    ['red 2026-11-21', 7],
    ['blue 2026-11-21', 5],
  ])
  assert.deepEqual(await costs('tenant', '12'), [
    ['other', 7],
    ['acme', 5],
  ])
  assert.deepEqual(await costs('tag:feature', '1'), [
    ['', 7],
    ['a', 5],
  ])
})

test('a row has the last hour with usage', async () => {
  const book = aBook([
    { ...served(5), time: '2026-11-20T23:59:59.999Z' },
    { ...served(9), time: '2026-11-21T07:10:00.000Z' },
    { ...served(1), time: '2026-11-21T05:00:00.000Z' },
  ])
  const rows = await rowsOf(book, 'tenant')
  assert.deepEqual(
    rows.map(({ last, requests }) => [last, requests]),
    [['2026-11-21T07:00:00Z', 3]],
  )
})

test('invalid parameters get an error text', async () => {
  const book = aBook([])
  for (const by of ['', 'prompt', 'tenant,', 'tag:', Array(9).fill('key').join()])
    assert.match(String(await reportOf(sourcesOf(book), { by }, NOW)), /^Group by/)
  for (const hours of ['0', '9481', 'x', '1.5'])
    assert.match(String(await reportOf(sourcesOf(book), { hours }, NOW)), /^Give a number/)
})

test('an unknown tag gets an error with the declared ones', async () => {
  const answer = async (by: string, tags?: string[]) =>
    await reportOf(sourcesOf(aBook([]), tags), { by }, NOW)
  assert.equal(
    await answer('tag:taem'),
    'usage.tags does not declare "taem"; it has team, feature.',
  )
  for (const by of ['tag:team', 'tag', 'tags'])
    assert.equal(
      await answer(by, []),
      'usage.tags declares no tag, so usage is not counted by tag.',
    )
  assert.equal(typeof (await answer('tag')), 'object')
})

test('a report has the place of its rows, and their future', async () => {
  const book = aBook([served(5)])
  const inMemory = await reportOf(sourcesOf(book), {}, NOW)
  const away: UsageSources = {
    ...sourcesOf(book),
    kept: { in: 'redis', read: () => Promise.reject(new Error('away')) },
  }
  const [kept, lost] = [inMemory, await reportOf(away, {}, NOW)].map((report) => {
    assert.ok(typeof report !== 'string')
    return [report.kept_in, report.warning?.slice(0, 24), report.rows[0]?.cost_nano_usd]
  })
  assert.deepEqual(kept, ['memory', 'Usage is kept in memory ', 5])
  assert.deepEqual(lost, ['memory', 'The shared store does no', 5])
})

test('beyond the rows of an hour tags and then keys count together, and no amount is lost', async () => {
  const folded = { tags: 0, model: 0, key: 0 }
  const book = new UsageBook((reason) => folded[reason]++)
  for (let request = 0; request < 3000; request++) {
    const fields = { ...served(1), tags: `team=t${request}`, key: `k${request % 900}` }
    book.add(aTrace(fields), snapshot.upstreams)
  }
  const rows = await rowsOf(book, 'key,tags')
  assert.ok(rows.length <= 502, String(rows.length))
  assert.equal(
    rows.reduce((sum, row) => sum + row.cost_nano_usd, 0),
    3000,
  )
  assert.ok(rows.some(({ by }) => by.tags === 'other' && by.key === 'other'))
  assert.ok(folded.tags > 2000 && folded.key > 0, JSON.stringify(folded))
})

test('beyond the rows of an hour models that clients named count together', async () => {
  const folded = { tags: 0, model: 0, key: 0 }
  const book = new UsageBook((reason) => folded[reason]++)
  for (let request = 0; request < 3000; request++) {
    const { attempts } = served(1)
    const named = attempts.map((attempt) => ({ ...attempt, model: `m${request}` }))
    book.add(aTrace({ attempts: named }), snapshot.upstreams)
  }
  const rows = await rowsOf(book, 'key,model')
  assert.ok(rows.length <= 502, String(rows.length))
  assert.ok(rows.some(({ by }) => by.model === 'other'))
  assert.equal(folded.model, 2500)
})

test('the oldest hours are removed when there are too many', async () => {
  const book = new UsageBook()
  const start = Date.parse('2026-01-01T00:00:00Z')
  for (let hour = 0; hour < 800; hour++)
    book.add(aTrace({ time: new Date(start + hour * 3_600_000).toISOString() }), snapshot.upstreams)
  assert.equal(book.since, new Date(start + 56 * 3_600_000).toISOString().slice(0, 13))
})

for (const [header, tags] of [
  [undefined, ''],
  ['team=blue', 'team=blue'],
  ['feature=a.b/c:d@e-f, team = blue ', 'team=blue,feature=a.b/c:d@e-f'],
  ['other=x,team=blue', 'team=blue'],
  ['team=a=b', 'team=invalid'],
  ['team=', 'team=invalid'],
  ['team=é', 'team=invalid'],
  [`team=${'x'.repeat(65)}`, 'team=invalid'],
  ['team', ''],
  [`team=blue,${'x'.repeat(2000)}`, ''],
] as const) {
  test(`the tags of ${JSON.stringify(header?.slice(0, 40))} are ${JSON.stringify(tags)}`, () => {
    assert.equal(tagsOf(TAGS, undefined, { header: () => header }), tags)
  })
}

for (const [metadata, header, tags] of [
  ['{"team":"blue","hidden":"x"}', undefined, 'team=blue'],
  ['{"team":"blue","feature":"a"}', 'team=red', 'team=red,feature=a'],
  ['{"team":1,"feature":null}', undefined, 'team=invalid,feature=invalid'],
  ['{"team":"b=c,d"}', undefined, 'team=invalid'],
  ['{"__proto__":{"team":"x"}}', undefined, ''],
  ['["team"]', 'team=red', 'team=red'],
  ['{"team"', 'team=red', 'team=red'],
  [`{"team":"blue","x":"${'x'.repeat(20_000)}"}`, undefined, ''],
] as const) {
  const shown = metadata.slice(0, 40)
  test(`the tags of the metadata ${shown} and the header ${header} are ${JSON.stringify(tags)}`, () => {
    const bytes = Buffer.from(`{"metadata":${metadata}}`)
    const found = metadataIn(bytes, { start: 12, end: bytes.length - 1 })
    assert.equal(tagsOf(TAGS, undefined, { header: () => header }, found), tags)
  })
}

for (const [ofKey, tags] of [
  [{ team: 'blue' }, 'team=blue,feature=h'],
  [{ feature: 'x' }, 'team=h,feature=x'],
  [{ team: 'blue', feature: 'x' }, 'team=blue,feature=x'],
  [{ hidden: 'x' }, 'team=h,feature=h'],
] as const) {
  const shown = JSON.stringify(ofKey)
  test(`with a key of the tags ${shown} a request that sets all has ${JSON.stringify(tags)}`, () => {
    const key = keyOf({ ...KEY.record, tags: ofKey })
    const metadata = { team: 'm', feature: 'm' }
    let reads = 0
    const header = () => {
      reads++
      return 'team=h,feature=h'
    }
    assert.equal(tagsOf(TAGS, key.tags, { header }, metadata), tags)
    assert.equal(reads, tags.includes('h') ? 1 : 0)
  })
}

test('names that hold the line feeds by which names are joined have separate rows', async () => {
  const book = aBook([
    { tenant: 'a\nb', key: 'c', ...served(1) },
    { tenant: 'a', key: 'b\nc', ...served(2) },
    { tenant: 'a', key: 'b\uffffnc', ...served(4) },
  ])
  const rows = await rowsOf(book, 'tenant,key')
  assert.deepEqual(
    rows.map(({ by, cost_nano_usd }) => [by.tenant, by.key, cost_nano_usd]),
    [
      ['a', 'b\uffffnc', 4],
      ['a', 'b\nc', 2],
      ['a\nb', 'c', 1],
    ],
  )
})

test('joined names are read back unchanged, with any text', () => {
  const names = fc.array(
    fc.string({ unit: fc.constantFrom('\n', '\uffff', 'n', 'e', '\\', ' ') }),
    {
      minLength: 6,
      maxLength: 6,
    },
  )
  fc.assert(
    fc.property(names, (parts) => {
      const name = joinedNames(parts)
      assert.deepEqual(namesIn(name), parts)
      assert.equal(name.split('\n').length, 6)
    }),
  )
  assert.equal(joinedNames(['acme', 'DOMAIN\\next']), 'acme\nDOMAIN\\next')
})
