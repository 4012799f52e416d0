/** The admission webhook with an existing Secret: a real API server calls it, and its renewal needs no restart. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { startWebhook, type Webhook } from '../../operator/admission/webhook.ts'
import { ApiClient } from '../../operator/kube/api.ts'
import { openCluster } from '../../operator/kube/cluster.ts'
import { createLog } from '../../operator/log.ts'
import { createTelemetry } from '../../operator/telemetry.ts'
import { World } from '../../operator/world.ts'
import { Certificates } from '../helpers/certificates.ts'
import { CHART, runHelm } from '../helpers/kubernetes/chart.ts'
import { refusalOf } from '../helpers/kubernetes/kubectl.ts'
import { until } from '../helpers/until.ts'
import { type ControlPlane, startControlPlane, untilEstablished } from './control-plane.ts'
import { aGateway } from './operator-rig.ts'

const certificates = new Certificates()
const authority = certificates.authority()
const folder = mkdtempSync(join(tmpdir(), 'gw-webhook-'))
const lines: string[] = []
let cluster: ControlPlane
let webhook: Webhook
let api: ApiClient

function bring({ cert, key }: { cert: string; key: string }): void {
  writeFileSync(join(folder, 'tls.crt'), cert)
  writeFileSync(join(folder, 'tls.key'), key)
}

const names = 'DNS:gw-webhook.gw-system.svc,IP:127.0.0.1'
const made = () => certificates.make({ by: authority, names })
const bad = aGateway({ gw: { aliases: { a: 'nowhere' } } })
const refused = async () =>
  await refusalOf(
    cluster.kubectl(['create', '--dry-run=server', '-f', '-'], { stdin: JSON.stringify(bad) }),
  )

before(async () => {
  cluster = await startControlPlane()
  for (const name of ['ai', 'gw-system']) await cluster.kubectl(['create', 'namespace', name])
  const first = made()
  bring(first)
  const files = { 'tls.crt': first.cert, 'tls.key': first.key, 'ca.crt': authority.cert }
  const data = Object.entries(files).map(([name, text]) => [
    name,
    Buffer.from(text).toString('base64'),
  ])
  const metadata = { name: 'mine', namespace: 'gw-system' }
  const secret = { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', metadata }
  const stdin = JSON.stringify({ ...secret, data: Object.fromEntries(data) })
  await cluster.kubectl(['create', '-f', '-'], { stdin })
  const values = ['enabled=true', 'failurePolicy=Fail', 'timeoutSeconds=10']
  const origin = ['certificates.from=secret', 'certificates.secretName=mine']
  const flags = [...values, ...origin].map((value) => `--set=webhook.${value}`)
  const env = { KUBECONFIG: cluster.kubeconfig }
  const install = ['install', 'gw', CHART, '--namespace=gw-system', ...flags]
  const { status, stderr } = await runHelm('helm', install, env)
  assert.equal(status, 0, stderr)
  await untilEstablished(cluster.kubectl)
  const { kubeconfig } = cluster
  api = new ApiClient({ cluster: await openCluster({ env: process.env, kubeconfig }) })
  webhook = startWebhook(
    {
      listen: { port: 0, host: '127.0.0.1' },
      certificates: { folder },
      drainMs: 0,
      log: createLog((line) => lines.push(line), Date.now),
      telemetry: createTelemetry(),
      wallClock: Date.now,
      timings: { lookMs: 50, retryMs: 50 },
    },
    { api, isLeading: () => true, world: new World({ api, namespaces: [], random: Math.random }) },
  )
  const { port } = await webhook.listening
  // There is no network of Services here; the authority is the one that the chart read from the Secret.
  const url = `https://127.0.0.1:${port}/validate`
  const edits = [
    { op: 'remove', path: '/webhooks/0/clientConfig/service' },
    { op: 'add', path: '/webhooks/0/clientConfig/url', value: url },
  ]
  const place = ['validatingwebhookconfiguration', 'gw-system-gw', '--type=json']
  await cluster.kubectl(['patch', ...place, '-p', JSON.stringify(edits)])
})

after(async () => {
  await webhook?.stop()
  await api?.close()
  await cluster?.stop()
  certificates.remove()
  rmSync(folder, { recursive: true })
})

test('the API server trusts the given certificate by ca.crt of its Secret', async () => {
  await until('it is asked', async () => /unknown route "nowhere"/.test(await refused()), 120)
  assert.ok(webhook.isReady)
})

test('the webhook uses a renewed pair without a restart, and ignores one that does not match', async () => {
  const changes = () => lines.filter((line) => line.includes('shows another certificate')).length
  const [before, next] = [changes(), made()]
  writeFileSync(join(folder, 'tls.key'), next.key)
  await until('it is said', () => lines.some((line) => line.includes('is not the key of tls.crt')))
  assert.match(await refused(), /unknown route "nowhere"/)
  writeFileSync(join(folder, 'tls.crt'), next.cert)
  await until('the webhook uses the new certificate', () => changes() === before + 1)
  assert.match(await refused(), /unknown route "nowhere"/)
})
