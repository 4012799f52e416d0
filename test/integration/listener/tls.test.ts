/**
 * The client listener over TLS: a key pair from a mounted Secret, renewed under load, and bad pairs
 * that change nothing.
 */
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { after, test } from 'node:test'
import { connect as connectSecurely } from 'node:tls'
import { cases } from '../../helpers/cases.ts'
import { Certificates } from '../../helpers/certificates.ts'
import { startFront, startUpstream, streaming, whole } from '../../helpers/fake-upstream.ts'
import { until } from '../../helpers/until.ts'
import { makeMounts, mountSecret } from '../pod.ts'
import { ask, failsToShake, handshake } from './secure-client.ts'

const certificates = new Certificates()
const authority = certificates.authority()
const pairOf = (from?: string, until?: string) =>
  certificates.make({ by: authority, ...(from && { from }), ...(until && { until }) })
const [first, second] = [pairOf(), pairOf()]
const RENEWALS = cases(20, 100)
const older = pairOf('190101000000Z', '390101000000Z')

const mounts = await makeMounts()
const bring = (pair: { cert: string; key: string }) =>
  mountSecret(mounts, 'listener', { 'tls.crt': pair.cert, 'tls.key': pair.key })
await bring(first)
const upstream = await startUpstream(whole())
const front = await startFront(
  {
    gateway: {
      tls: { cert: '${secret:listener/tls.crt}', key: '${secret:listener/tls.key}' },
    },
    // One stream is silent while all pairs are renewed.
    upstreams: [{ name: 'model', endpoint: upstream.url, idle_timeout_seconds: 600 }],
    routes: [{ name: 'chat', strategy: 'single', primary: 'model' }],
  },
  { env: { GW_SECRETS_DIR: mounts.secrets } },
)
const client = { url: front.process.url, key: front.key, ca: authority.cert }
after(async () => {
  await Promise.all([front.process.stop(), upstream.close()])
  await rm(mounts.folder, { recursive: true })
  certificates.remove()
})

const fingerprintOf = ({ cert }: { cert: string }) => new X509Certificate(cert).fingerprint256
const servedOne = async () => (await handshake(client)).fingerprint256

test("clients are served over TLS with the Secret's certificate, as HTTP/1.1", async () => {
  assert.equal((await ask(client, { model: 'chat' })).status, 200)
  const { protocol, fingerprint256 } = await handshake(client, ['h2', 'http/1.1'])
  assert.equal(protocol, 'http/1.1')
  assert.equal(fingerprint256, fingerprintOf(first))
  assert.match(front.process.output(), /Clients: https:/)
})

test('a client of TLS 1.2 performs one handshake per connection', async () => {
  const { hostname: host, port } = new URL(client.url)
  const socket = connectSecurely({
    ...{ host, port: Number(port), ca: client.ca, servername: 'localhost', maxVersion: 'TLSv1.2' },
  })
  await once(socket, 'secureConnect')
  const again = new Promise((resolve, reject) => {
    socket.once('error', reject)
    assert.ok(socket.renegotiate({}, resolve))
  })
  await assert.rejects(again, { code: 'ERR_SSL_NO_RENEGOTIATION' })
  socket.destroy()
})

test('renewals under load break no connection, and streams continue', async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  upstream.script.push(streaming({ hold: held }))
  const stream = ask(client, { model: 'chat', stream: true })
  await until('the stream is open', () => upstream.asked.at(-1)?.body.stream === true)
  const { pid } = front.process
  const statuses = new Set<number>()
  let isRenewing = true
  const load = [1, 2].map(async () => {
    while (isRenewing) statuses.add((await ask(client, { model: 'chat' })).status)
  })
  for (let renewal = 1; renewal <= RENEWALS; renewal++) {
    const pair = renewal % 2 === 1 ? second : first
    await bring(pair)
    await until('the new pair is served', async () => (await servedOne()) === fingerprintOf(pair))
  }
  isRenewing = false
  await Promise.all(load)
  release()
  assert.equal(front.process.pid, pid)
  assert.deepEqual([...statuses], [200])
  assert.match((await stream).text, /\[DONE\]/)
  const failures = [...(await front.series())].filter(
    ([name, count]) => name.includes('handshake') && count > 0,
  )
  assert.deepEqual(failures, [])
})

test('a key that does not match the certificate changes nothing, and the log names the field', async () => {
  const before = await servedOne()
  await bring({ cert: pairOf().cert, key: first.key })
  const said = /gw\.gateway\.tls\.key: is not the key of cert/
  await until('it is refused', () => said.test(front.process.output()))
  assert.equal(await servedOne(), before)
  assert.equal((await ask(client, { model: 'chat' })).status, 200)
})

test('a pair that is older than the current one changes nothing', async () => {
  const before = await servedOne()
  await bring(older)
  await until('it is refused', () => /tls\.cert is older than/.test(front.process.output()))
  assert.equal(await servedOne(), before)
})

test('metrics show how long the certificate is valid, and why handshakes failed', async () => {
  const seconds = await front.value('gw_listener_certificate_expiry_seconds{name="localhost"}')
  const left = (Date.UTC(2040, 0, 1) - Date.now()) / 1000
  assert.ok(Math.abs(Number(seconds) - left) < 60, `${seconds} is about ${left}`)
  const life = await front.value('gw_listener_certificate_lifetime_seconds{name="localhost"}')
  assert.equal(life, (Date.UTC(2040, 0, 1) - Date.UTC(2020, 0, 1)) / 1000)
  const plain = connect(Number(new URL(client.url).port), '127.0.0.1')
  plain.on('error', () => undefined).write('GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n')
  const counted = 'gw_listener_handshake_failures_total{reason="plain_http"}'
  await until('it is counted', async () => (await front.value(counted)) === 1)
  plain.destroy()
  assert.ok(await failsToShake({ ...client, maxVersion: 'TLSv1.1' }))
})

test('no part of the key appears in the log, the metrics or the admin API', async () => {
  const { adminUrl, adminHeaders: headers } = front.process
  const shown = await (await fetch(`${adminUrl}/config`, { headers })).text()
  assert.match(shown, /secret:listener\/tls.key/)
  const said =
    shown +
    front.process.output() +
    (await (await fetch(`${front.process.metricsUrl}/metrics`)).text())
  assert.doesNotMatch(said, /BEGIN|PRIVATE/)
  for (const { key } of [first, second]) assert.ok(!said.includes(key.split('\n')[1] ?? 'none'))
})
