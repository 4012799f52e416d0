/** One GatewayConfig applied: pods, documents, acknowledgement, and all of it gone again. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { aKey, until } from '../integration/gateway-process.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import {
  conditionIn,
  type OperatorProcess,
  startOperatorProcess,
  statusOf,
  untilCondition,
} from './operator-process.ts'
import { type ProcessKubelet, startProcessKubelet } from './process-kubelet.ts'

let cluster: ControlPlane
let operator: OperatorProcess
let kubelet: ProcessKubelet

const { key, record } = aKey({ id: 'first', tenant: 'acme' })

function aGateway(fields: object = {}, spec: object = {}) {
  return {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayConfig',
    metadata: { name: 'production', namespace: 'ai' },
    spec: { replicas: 2, ...spec },
    gw: {
      upstreams: [
        { name: 'local', provider: 'vllm', endpoint: 'http://10.1.2.3:8000', model: 'm' },
      ],
      routes: [{ name: 'chat', strategy: 'single', upstreams: ['local'] }],
      api_keys: [record],
      ...fields,
    },
  }
}

async function apply(document: object): Promise<void> {
  await cluster.kubectl(['apply', '--server-side', '-f', '-'], { stdin: JSON.stringify(document) })
}

before(async () => {
  cluster = await startControlPlane()
  await cluster.installDefinitions()
  for (const name of ['ai', 'gw-system']) await cluster.kubectl(['create', 'namespace', name])
  operator = await startOperatorProcess(cluster)
  kubelet = await startProcessKubelet(cluster)
})

after(async () => {
  await operator?.stop()
  await kubelet?.stop()
  await cluster?.stop()
})

test('an applied gateway gets pods that enforce it, and its status proves it', async () => {
  await apply(aGateway())
  const status = await untilCondition(cluster.kubectl, 'production', ['Programmed', 'True'])
  assert.equal(conditionIn(status, 'Accepted')?.status, 'True')
  await untilCondition(cluster.kubectl, 'production', ['Ready', 'True'])
  const { pods, activeHash, keys } = await statusOf(cluster.kubectl, 'production')
  assert.equal(pods.length, 2)
  for (const pod of pods) assert.equal(pod.hash, activeHash)
  assert.equal(keys?.count, 1)
})

test('its metrics tell how gateways and pods stand', async () => {
  await until('the metrics say so', async () => {
    const metrics = await (await fetch(`${operator.healthUrl}/metrics`)).text()
    return /^gw_gateways\{ready="true"\} 1$[\s\S]*^gw_config_pods\{state="Programmed"\} 2$/m.test(
      metrics,
    )
  })
})

test('every pod takes the key', async () => {
  assert.equal(kubelet.pods().length, 2)
  for (const { url } of kubelet.pods()) {
    const answer = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })
    assert.equal(answer.status, 200)
  }
})

test('deleting the gateway removes all that was made for it', async () => {
  await cluster.kubectl(['delete', 'gwc', 'production', '-n', 'ai'])
  const kinds = 'deploy,rs,pod,svc,sa,cm,pdb,netpol'
  await until(
    'everything is gone',
    async () => {
      const left = await cluster.kubectl([
        'get',
        kinds,
        '-n',
        'ai',
        '-l',
        'app.kubernetes.io/managed-by=gw-operator',
        '-o',
        'name',
      ])
      return left.trim() === ''
    },
    60,
  )
})
