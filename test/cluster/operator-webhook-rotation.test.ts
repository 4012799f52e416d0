/** The webhook's certificates over a year: each is replaced while the API server calls it, and no edit is refused. */

import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { after, before, test } from 'node:test'
import { connect } from 'node:tls'
import { valueBelow } from '../../dataplane/json/values.ts'
import { startWebhook, type Webhook } from '../../operator/admission/webhook.ts'
import { ApiClient } from '../../operator/kube/api.ts'
import { openCluster } from '../../operator/kube/cluster.ts'
import { RESOURCES } from '../../operator/kube/objects.ts'
import { createLog } from '../../operator/log.ts'
import { createTelemetry } from '../../operator/telemetry.ts'
import { World } from '../../operator/world.ts'
import { until } from '../helpers/until.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { aGateway } from './operator-rig.ts'
import { configurationOf } from './webhook-configuration.ts'

const DAY_MS = 86_400_000
const NAME = 'rotation'
const SETTLING_MS = 2 * 3_600_000

let cluster: ControlPlane
let api: ApiClient
let webhook: Webhook
let port: number
/**
 * The operator's clock; the API server uses the real one, so every certificate must be valid at
 * both times.
 */
let clock = Date.now() - 300 * DAY_MS
const lines: string[] = []

before(async () => {
  cluster = await startControlPlane()
  await cluster.installDefinitions()
  for (const name of ['ai', 'gw-system']) await cluster.kubectl(['create', 'namespace', name])
  const { kubeconfig } = cluster
  api = new ApiClient({ cluster: await openCluster({ env: process.env, kubeconfig }) })
  webhook = startWebhook(
    {
      listen: { port: 0, host: '127.0.0.1' },
      certificates: {
        hosts: ['127.0.0.1', 'localhost'],
        configuration: NAME,
        namespace: 'gw-system',
      },
      drainMs: 0,
      log: createLog((line) => lines.push(line), Date.now),
      telemetry: createTelemetry(),
      wallClock: () => clock,
      timings: { lookMs: 50, retryMs: 50 },
    },
    { api, isLeading: () => true, world: new World({ api, namespaces: [], random: Math.random }) },
  )
  const address = await webhook.listening
  port = address.port
  const stdin = JSON.stringify(await configurationOf(NAME, port, 'Fail'))
  await cluster.kubectl(['apply', '-f', '-'], { stdin })
})

after(async () => {
  await webhook?.stop()
  await api?.close()
  await cluster?.stop()
})

/** The authority that the API server trusts. */
async function published(): Promise<string[]> {
  const configuration = await api.get(RESOURCES.webhookConfigurations, { name: NAME })
  const [first] = (configuration?.webhooks ?? []) as unknown[]
  const encoded = valueBelow(first, 'clientConfig', 'caBundle')
  const bundle = typeof encoded === 'string' ? Buffer.from(encoded, 'base64').toString() : ''
  return bundle.match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g) ?? []
}

/** The certificate of a new connection with the API server's trusted authorities. */
async function shown(): Promise<X509Certificate> {
  const ca = await published()
  return await new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, ca }, () => {
      const certificate = socket.getPeerX509Certificate()
      socket.destroy()
      if (certificate === undefined) reject(new Error('no certificate was shown'))
      else resolve(certificate)
    })
    socket.once('error', reject)
  })
}

/** The published authority that signed the certificate in use. */
async function signedBy(): Promise<number> {
  const leaf = await shown()
  const authorities = (await published()).map((pem) => new X509Certificate(pem))
  return authorities.findIndex((authority) => leaf.verify(authority.publicKey))
}

/**
 * The answer to an edit with a mistake that only the webhook finds, so the answer shows whether the webhook was called.
 */
async function edit(): Promise<void> {
  const bad = aGateway({ gw: { aliases: { a: 'nowhere' } } })
  const asked = api.apply(RESOURCES.gatewayConfigs, bad, { manager: 'test', dryRun: true })
  await assert.rejects(asked, /denied the request: gw\.aliases\.a: /)
}

const isJudged = () =>
  edit().then(
    () => true,
    () => false,
  )

/** Edits in sequence until the test stops it; returns the number of edits. */
function editOn(): () => Promise<number> {
  let isOver = false
  let edits = 0
  const run = async () => {
    for (; !isOver; edits++) await edit()
    return edits
  }
  const running = run()
  running.catch(() => undefined)
  return async () => {
    isOver = true
    return await running
  }
}

test('authority and certificate are replaced in sequence, and no edit is refused meanwhile', async () => {
  await until('an authority is published', async () => (await published()).length === 1)
  const [first] = await published()
  // A certificate made 300 days ago has expired; the authority has not.
  clock = Date.now() - 29 * DAY_MS
  await until('an edit is judged', isJudged)
  assert.deepEqual(await published(), [first])
  const before = await shown()
  const stop = editOn()
  const said = lines.length
  clock = Date.now() - 20 * DAY_MS
  await until('a second authority is published', async () => (await published()).length === 2)
  assert.equal((await published())[1], first)
  // Clients trust both now, and the old one signed the current certificate.
  assert.equal((await shown()).fingerprint256, before.fingerprint256)
  clock += SETTLING_MS
  await until(
    'the new one has signed the current certificate',
    async () => (await signedBy()) === 0,
  )
  assert.notEqual((await shown()).fingerprint256, before.fingerprint256)
  // With another name the API server opens a new connection, and must trust the current
  // certificate.
  const url = `https://localhost:${port}/validate`
  const patch = JSON.stringify([
    { op: 'replace', path: '/webhooks/0/clientConfig/url', value: url },
  ])
  await cluster.kubectl([
    ...['patch', 'validatingwebhookconfiguration', NAME, '--type=json', '-p', patch],
  ])
  for (let count = 0; count < 20; count++) await edit()
  assert.ok((await stop()) > 5)
  assert.deepEqual(
    lines.slice(said).filter((line) => line.includes('"level":"error"')),
    [],
  )
})

test('an emptied Secret gets new certificates, which are published at once', async () => {
  const [old] = await published()
  const patch = JSON.stringify([{ op: 'remove', path: '/data' }])
  await cluster.kubectl([
    ...['patch', 'secret', 'gw-operator-webhook', '-n', 'gw-system', '--type=json', '-p', patch],
  ])
  await until('another authority is published', async () => {
    const now = await published()
    return now.length === 1 && now[0] !== old
  })
  await until('edits are judged again', isJudged)
})
