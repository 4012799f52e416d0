/**
 * The admin API's previews of changes, its keys and trials; and which callers may not start trials.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { aKey } from '../helpers/a-key.ts'
import { startFront, startUpstream } from '../helpers/fake-upstream.ts'

const upstream = await startUpstream()
const { record } = aKey({ id: 'client', prefix: 'gw_test_client_abcd' })
const expired = aKey({ id: 'late', tenant: 'other', expires_at: '2026-01-01T00:00:00Z' })
const rotated = aKey({ id: 'turned', rotated_to: 'client' })
const front = await startFront({
  api_keys: [record, expired.record, rotated.record],
  upstreams: [{ name: 'up', endpoint: upstream.url }],
  routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
})
after(() => Promise.all([front.process.stop(), upstream.close()]))
const { adminUrl, adminHeaders } = front.process

async function send(method: string, path: string, init: RequestInit = {}) {
  const headers = new Headers({ ...adminHeaders, ...Object(init.headers) })
  const answer = await fetch(adminUrl + path, { ...init, headers, method })
  // The body stays unparsed by type; the assertions look at it.
  return { status: answer.status, body: JSON.parse(await answer.text()) }
}

for (const [method, path] of [
  ['POST', '/upstreams/test'],
  ['POST', '/routes/test?route=chat'],
  ['PUT', '/config'],
] as const) {
  test(`${method} ${path} refuses pages in a browser`, async () => {
    const asked = upstream.asked.length
    const headers = { origin: 'https://evil.example' }
    const { status, body } = await send(method, path, { headers })
    assert.equal(status, 403)
    assert.match(body.error.message, /pages in a browser/)
    assert.equal(upstream.asked.length, asked)
  })
}

test('/keys shows the state of each key, but neither the key nor its hash', async () => {
  const { keys, total } = await front.admin('/keys')
  assert.equal(total, 3)
  const states = keys.map(({ id, status }: Record<string, string>) => [id, status])
  assert.deepEqual(states, [
    ['client', 'ACTIVE'],
    ['late', 'EXPIRED'],
    ['turned', 'ROTATED'],
  ])
  assert.doesNotMatch(JSON.stringify(keys), /sha256|[0-9a-f]{64}/)
  const idsOf = async (query: string) =>
    (await front.admin(`/keys?${query}`)).keys.map(({ id }: { id: string }) => id)
  assert.deepEqual(await idsOf('tenant=other'), ['late'])
  assert.deepEqual(await idsOf('id=turned'), ['turned'])
  assert.deepEqual(await idsOf('prefix=gw_test_client'), ['client'])
  assert.deepEqual(await idsOf('prefix='), [])
  assert.deepEqual(await idsOf('limit=1'), ['client'])
  assert.equal((await idsOf('limit=-1')).length, 3)
})

test('a dry run shows the differences and changes nothing', async () => {
  const { config } = await front.admin('/status')
  const document = await front.admin('/config')
  document.gw.routes[0].timeout_seconds = 7
  const body = JSON.stringify(document)
  const answer = await send('PUT', '/config?dry_run=true', { body })
  assert.equal(answer.status, 200)
  const path = 'gw.routes[chat].timeout_seconds'
  assert.deepEqual(answer.body.differences, [{ path, new: 7, reloadable: false }])
  const narrow = await send('PUT', '/config?only=limits', { body })
  assert.equal(narrow.status, 409)
  assert.equal(narrow.body.error.differences[0].path, path)
  const other = await send('PUT', '/config?only=everything', { body })
  assert.equal(other.status, 400)
  const wrong = await send('PUT', '/config?dry_run=true', { body: 'gw: {}' })
  assert.equal(wrong.status, 422)
  assert.deepEqual((await front.admin('/status')).config, config)
})

test('a trial of an unknown route or upstream returns 404 with its name', async () => {
  for (const path of ['/upstreams/test?name=x', '/routes/test?route=x', '/routes/test']) {
    assert.equal((await send('POST', path)).status, 404, path)
  }
  const odd = await send('POST', '/routes/test?route=chat&fail=moon')
  assert.match(odd.body.error.message, /server or rate_limited/)
})

test('a trial sends one request with the configured model and credential', async () => {
  const asked = upstream.asked.length
  const { body } = await send('POST', '/routes/test?route=chat')
  assert.partialDeepStrictEqual(body, { ok: true, status: 200, upstream: 'up' })
  assert.equal(upstream.asked.length, asked + 1)
  const { headers, body: sent } = upstream.asked.at(-1) ?? assert.fail('nothing was asked')
  assert.equal(headers.authorization, 'Bearer upstream-credential')
  assert.deepEqual([sent.model, sent.max_tokens], ['served', 16])
})
