/** Deprecated routes and aliases, as clients and operators see them. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startFront, startUpstream, whole } from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'

const upstream = await startUpstream(whole())
const single = (name: string, more: object = {}) => ({
  name,
  strategy: 'single',
  primary: 'up',
  ...more,
})
const since = '2026-01-01'
const ended = { since, until: '2026-02-01T00:00:00Z', successor: 'new' }
const front = await startFront({
  upstreams: [{ name: 'up', endpoint: upstream.url }],
  routes: [
    single('new'),
    single('old', { deprecated: { since, until: '2999-12-31', successor: 'new' } }),
    single('gone', { deprecated: ended }),
  ],
  aliases: {
    moved: { route: 'old', deprecated: { ...ended, then: 'redirect' } },
    'legacy-*': { route: 'new', deprecated: { since } },
    plain: 'old',
  },
})
after(() => Promise.all([front.process.stop(), upstream.close()]))

/** By the requests of the tests, in their order. */
const ASKED: [string, number][] = [
  ['old', 2],
  ['legacy-*', 1],
  ['gone', 2],
  ['moved', 1],
]
const seriesOf = (name: string) => `gw_deprecated_requests_total{name="${name}",tenant="acme"}`
const LINK = '</v1/models/new>; rel="successor-version"'

async function ask(model: string) {
  const answer = await fetch(`${front.process.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
  })
  const ends = ['deprecation', 'sunset', 'link', 'x-gw-route'].map((name) =>
    answer.headers.get(name),
  )
  return { status: answer.status, ends, text: await answer.text() }
}

async function get(path: string) {
  const headers = { authorization: `Bearer ${front.key}` }
  const answer = await fetch(front.process.url + path, { headers })
  return { status: answer.status, body: JSON.parse(await answer.text()) }
}

test('answers by a deprecated name carry Deprecation, Sunset and the link to the successor', async () => {
  const sunset = 'Tue, 31 Dec 2999 00:00:00 GMT'
  for (const model of ['old', 'plain']) {
    const { status, ends } = await ask(model)
    assert.deepEqual([status, ...ends], [200, '@1767225600', sunset, LINK, 'old'])
  }
  assert.deepEqual((await ask('legacy-5')).ends, ['@1767225600', null, null, 'new'])
  assert.deepEqual((await ask('new')).ends, [null, null, null, 'new'])
})

test('after its end a name is a 404 that names the successor, or the successor serves it', async () => {
  const sunset = 'Sun, 01 Feb 2026 00:00:00 GMT'
  const gone = await ask('gone')
  assert.deepEqual([gone.status, ...gone.ends], [404, '@1767225600', sunset, LINK, 'none'])
  assert.match(
    gone.text,
    /Model \\"gone\\" is not served since 2026-02-01T00:00:00Z\. Use \\"new\\" instead\./,
  )
  const moved = await ask('moved')
  assert.deepEqual([moved.status, ...moved.ends], [200, '@1767225600', sunset, LINK, 'new'])
})

test('the list of models says what ends, and leaves out what has ended', async () => {
  const { body } = await get('/v1/models')
  const listed = body.data.map(({ id, deprecated }: { id: string; deprecated?: object }) => [
    id,
    deprecated,
  ])
  const old = { since, until: '2999-12-31', successor: 'new' }
  assert.deepEqual(listed, [
    ['new', undefined],
    ['old', old],
    ['moved', ended],
    ['plain', old],
  ])
  const gone = await get('/v1/models/gone')
  assert.deepEqual([gone.status, gone.body.error.message.includes('Use "new"')], [404, true])
})

test('the metric and the log tell who still calls', async () => {
  const counts = new Map(
    [...(await front.series())].filter(([name]) => name.includes('deprecated')),
  )
  assert.deepEqual(counts, new Map(ASKED.map(([name, count]) => [seriesOf(name), count])))
  const text = () => front.process.output()
  const logged = () =>
    [...text().matchAll(/"deprecated":"([^"]+)"/g)].map(([, name]) => name).sort()
  const expected = ASKED.flatMap(([name, count]) => Array.from({ length: count }, () => name))
  await until('the log has every request', () => logged().length >= expected.length)
  assert.deepEqual(logged(), expected.sort())
})
