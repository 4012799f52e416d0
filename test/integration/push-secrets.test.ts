/**
 * Secrets mounted into a real pod: missing, created later, rotated, removed; only the upstream that
 * needs a missing one is unavailable.
 */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { aKey } from '../helpers/a-key.ts'
import { failing, startUpstream, whole } from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'
import {
  aConfiguration,
  allKeys,
  makeMounts,
  mountBundle,
  mountSecret,
  type Pushed,
  signed,
  startPod,
} from './pod.ts'

const CANARY = 'sk-canary-7d1c3b9a5e4f'
const upstream = await startUpstream(whole())
const mounts = await makeMounts()
const { key, record } = aKey({ id: 'client' })
let sequence = 1

function aDocumentWith(reference: string, more = {}) {
  const gw = {
    upstreams: [
      { name: 'open', endpoint: upstream.url },
      { name: 'secret', endpoint: upstream.url, api_key: reference },
    ],
    routes: [
      { name: 'open', strategy: 'single', primary: 'open' },
      { name: 'secret', strategy: 'single', primary: 'secret' },
      {
        name: 'spilling',
        strategy: 'primary_with_fallback',
        primary: 'secret',
        fallback: ['open'],
      },
    ],
    ...more,
  }
  return aConfiguration(gw, { sequence })
}

await mountSecret(mounts, 'there', { key: `${CANARY}-1` })
const first = signed(mounts, aDocumentWith('${secret:there/key}'))
await mountBundle(mounts, 'config.json', first)
await mountBundle(mounts, 'keys.json.gz', signed(mounts, allKeys([record], { sequence: 1 })))
const pod = await startPod({ mounts, key })
const heard: unknown[] = []
after(() => Promise.all([pod.process.stop(), upstream.close()]))

async function push(document: ReturnType<typeof aDocumentWith>): Promise<Pushed> {
  const pushed = await pod.push(document)
  heard.push(pushed)
  return pushed
}

async function ask(model: string): Promise<number> {
  const answer = await pod.chat({ model })
  heard.push(answer.text, answer.headers)
  return answer.status
}

function lastCredential(): string | undefined {
  return upstream.asked.at(-1)?.headers.authorization
}

test('a rotated secret is used without a restart, and no request fails', async () => {
  assert.equal(await ask('secret'), 200)
  assert.equal(lastCredential(), `Bearer ${CANARY}-1`)
  await mountSecret(mounts, 'there', { key: `${CANARY}-2` })
  await until('the new value is used', async () => {
    assert.equal(await ask('secret'), 200)
    return lastCredential() === `Bearer ${CANARY}-2`
  })
  assert.equal((await pod.status()).configuration.sequence, sequence)
})

test('a missing secret disables only its upstream, and creating the secret heals it', async () => {
  sequence += 1
  const { status, body } = await push(aDocumentWith('${secret:later/key}'))
  assert.equal(status, 200)
  const [only, ...others] = body.unresolved
  assert.deepEqual(others, [])
  assert.equal(only.upstream, 'secret')
  assert.equal(only.pointer, '/gw/upstreams/1/api_key')
  assert.equal(only.reference, '${secret:later/key}')
  assert.match(only.why, /ENOENT/)
  assert.deepEqual((await pod.status()).unresolved, body.unresolved)
  assert.deepEqual([await ask('open'), await ask('secret'), await ask('spilling')], [200, 503, 200])
  const { upstreams } = await pod.admin('/status')
  const standing = upstreams.map((one: { name: string; eligible: boolean }) => [
    one.name,
    one.eligible,
  ])
  assert.deepEqual(Object.fromEntries(standing), { open: true, secret: false })
  await mountSecret(mounts, 'later', { key: `${CANARY}-3` })
  await until('it heals', async () => (await ask('secret')) === 200)
  assert.equal(lastCredential(), `Bearer ${CANARY}-3`)
  assert.deepEqual((await pod.status()).unresolved, [])
})

test('a removed or unusable secret disables its upstream', async () => {
  await rm(join(mounts.secrets, 'later'), { recursive: true })
  await until('it is out', async () => (await ask('secret')) === 503)
  await mountSecret(mounts, 'later', { key: `${CANARY}\nsecond line` })
  await until('the reason is reported', async () => {
    const [only] = (await pod.status()).unresolved
    return /line break/.test(only?.why)
  })
  assert.deepEqual([await ask('open'), await ask('secret')], [200, 503])
  await mountSecret(mounts, 'later', { key: `${CANARY}-4` })
  await until('it heals', async () => (await ask('secret')) === 200)
})

test('an endpoint may be a reference to a missing secret', async () => {
  sequence += 1
  const upstreams = [
    { name: 'open', endpoint: upstream.url },
    { name: 'secret', endpoint: '${env:NOT_SET_ANYWHERE}' },
  ]
  const { status, body } = await push(aDocumentWith('', { upstreams }))
  assert.equal(status, 200, JSON.stringify(body))
  assert.equal(body.unresolved[0].pointer, '/gw/upstreams/1/endpoint')
  assert.deepEqual([await ask('open'), await ask('secret')], [200, 503])
})

test("an upstream's missing certificate disables only that upstream; the gateway's refuses the document", async () => {
  sequence += 1
  const tls = { ca_bundle_path: join(mounts.folder, 'missing.pem') }
  const upstreams = [
    { name: 'open', endpoint: upstream.url },
    { name: 'secret', endpoint: 'https://127.0.0.1:1', tls },
  ]
  const { status, body } = await push(aDocumentWith('', { upstreams }))
  assert.equal(status, 200, JSON.stringify(body))
  assert.equal(body.unresolved[0].upstream, 'secret')
  sequence += 1
  const refused = await push(aDocumentWith('${secret:there/key}', { tls }))
  assert.equal(refused.status, 422)
  assert.equal(refused.body.problems[0].pointer, '/gw/tls/ca_bundle_path')
})

test('a missing reference in another section refuses the document until it exists', async () => {
  sequence += 1
  const before = (await pod.status()).configuration.hash
  const alerts = {
    webhook_url: 'http://127.0.0.1:1',
    headers: { authorization: '${secret:hook/key}' },
  }
  const { status, body } = await push(aDocumentWith('${secret:there/key}', { alerts }))
  assert.equal(status, 422)
  assert.equal(body.problems[0].pointer, '/gw/alerts/headers/authorization')
  assert.match(body.problems[0].message, /hook\/key/)
  assert.equal((await pod.status()).configuration.hash, before)
  assert.equal(await ask('open'), 200)
  await mountSecret(mounts, 'hook', { key: `Bearer ${CANARY}` })
  await until('it is taken', async () => (await pod.status()).configuration.sequence === sequence)
  assert.equal(await ask('secret'), 200)
})

test('a credential that the upstream refuses is reported, until it is replaced', async () => {
  const before = upstream.reply
  upstream.reply = failing(401, { message: 'Incorrect API key provided.' })
  await ask('secret')
  const reported = async () => (await pod.status()).refusedCredentials
  assert.deepEqual(await reported(), [{ upstream: 'secret', status: 401 }])
  await mountSecret(mounts, 'there', { key: `${CANARY}-9` })
  await until('it is taken', async () => (await reported()).length === 0)
  upstream.reply = before
})

test("no secret's value is in an answer, a log line or a metric", async () => {
  heard.push(await pod.status(), await pod.admin('/status'), await pod.admin('/config'))
  heard.push(await pod.admin('/traces'), await pod.admin('/explain'), [...(await pod.series())])
  await pod.process.stop()
  const said = JSON.stringify(heard) + pod.process.output()
  assert.ok(said.includes('there/key'))
  assert.ok(!said.includes('canary'))
})
