/** One GatewayConfig from apply to deletion: pods, documents and acknowledgements. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { aKey } from '../helpers/a-key.ts'
import { until } from '../helpers/until.ts'
import { recordFigure } from './figures.ts'
import { conditionIn, startOperatorProcess, statusOf, untilCondition } from './operator-process.ts'
import { aGateway, aGatewayKey, type OperatorRig, startOperatorRig } from './operator-rig.ts'

let rig: OperatorRig

const { key, record } = aKey({ id: 'first', tenant: 'acme' })

/** Objects of a user in the same namespace, with names similar to the gateway's. */
const FOREIGN = ['configmap/production-notes', 'secret/production-key', 'service/production-front']

before(async () => {
  rig = await startOperatorRig()
  const { kubectl } = rig.cluster
  await kubectl(['create', 'configmap', 'production-notes', '-n', 'ai'])
  await kubectl(['create', 'secret', 'generic', 'production-key', '-n', 'ai'])
  await kubectl(['create', 'service', 'clusterip', 'production-front', '--tcp=80', '-n', 'ai'])
})

after(() => rig?.stop())

test('an applied gateway gets pods that enforce it, and its status proves it', async () => {
  const { cluster } = rig
  await rig.apply(aGateway({ gw: { api_keys: [record] } }))
  const status = await untilCondition(cluster, 'production', ['Programmed', 'True'])
  assert.equal(conditionIn(status, 'Accepted')?.status, 'True')
  await untilCondition(cluster, 'production', ['Ready', 'True'])
  const { pods, activeHash, keys } = await statusOf(cluster, 'production')
  assert.equal(pods.length, 2)
  for (const pod of pods) assert.equal(pod.hash, activeHash)
  assert.equal(keys?.count, 1)
})

test('the metrics show the state of gateways and pods', async () => {
  await until('the metrics say so', async () => {
    const metrics = await (await fetch(`${rig.operator.healthUrl}/metrics`)).text()
    return /^gw_gateways\{ready="true"\} 1$[\s\S]*^gw_config_pods\{state="Programmed"\} 2$/m.test(
      metrics,
    )
  })
})

test('every pod accepts the key', async () => {
  assert.deepEqual(await rig.answersTo(key), [200, 200])
})

test('deleting the gateway removes all its objects, and no others', async () => {
  const { kubectl } = rig.cluster
  const everything = async () => {
    const kinds = 'deploy,rs,pod,svc,sa,cm,secret,pdb,netpol,hpa,gwk'
    const names = await kubectl(['get', kinds, '-n', 'ai', '-o', 'name'])
    return names.trim().split('\n').sort()
  }
  await rig.apply(aGatewayKey('kept', { hash: aKey({ id: 'kept' }).record.hash }))
  const made = await everything()
  assert.ok(made.length > FOREIGN.length + 8, made.join())
  await kubectl(['delete', 'gwc', 'production', '-n', 'ai'])
  // Objects of the cluster and of other users stay in the namespace.
  const left = [...FOREIGN, ...OF_EVERY_NAMESPACE, 'gatewaykey.inference.gw/kept'].sort()
  await until('only objects of others are left', async () => {
    return JSON.stringify(await everything()) === JSON.stringify(left)
  })
  recordFigure('gone', `${made.length - left.length} objects, ${left.length} of others left`)
})

const OF_EVERY_NAMESPACE = ['configmap/kube-root-ca.crt', 'serviceaccount/default']

test('an operator older than the types takes no lease, reports why, and leads once the types fit', async () => {
  const { kubectl, kubeconfig } = rig.cluster
  const types = ['annotate', 'crd', 'gatewaykeys.inference.gw', '--overwrite']
  const now = 'inference.gw/bundle-version'
  const holder = async () =>
    await kubectl([
      ...['get', 'lease/gw-operator', '-n', 'gw-system', '-o'],
      'jsonpath={.spec.holderIdentity}',
    ])
  await rig.operator.stop()
  await kubectl([...types, `${now}=99.0.0`])
  const older = await startOperatorProcess({ kubeconfig, isAwaited: false })
  await until('it tells why', () => /of release 99\.0\.0.*takes no lease/.test(older.output()))
  await until('its readiness tells why', async () => {
    const { status, body } = await readyz(older.healthUrl)
    return status === 503 && body.includes('helm upgrade')
  })
  assert.equal(await holder(), '')
  await kubectl([...types, `${now}=1.4.0`])
  await until('it leads', async () => (await holder()) !== '')
  await until('it is ready', async () => (await readyz(older.healthUrl)).status === 200)
})

async function readyz(url: string): Promise<{ status: number; body: string }> {
  const answer = await fetch(`${url}/readyz`).catch(() => undefined)
  return { status: answer?.status ?? 0, body: (await answer?.text()) ?? '' }
}
