/** Edits to the objects of a gateway with kubectl, and the operator's report of a stuck rollout. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ApiClient } from '../../operator/kube/api.ts'
import { openCluster } from '../../operator/kube/cluster.ts'
import { RESOURCES } from '../../operator/kube/objects.ts'
import { Reflector } from '../../operator/kube/watch/reflector.ts'
import { ObjectStore } from '../../operator/kube/watch/store.ts'
import { until } from '../helpers/until.ts'
import { type FaultyServer, startFaultyServer } from './faulty-server.ts'
import { conditionIn, startOperatorProcess, statusOf, untilCondition } from './operator-process.ts'
import { aGateway, type OperatorRig, startOperatorRig } from './operator-rig.ts'

let rig: OperatorRig
let api: ApiClient
let reflector: Reflector
let server: FaultyServer | undefined
const gateways = new ObjectStore()

before(async () => {
  rig = await startOperatorRig({ kubelet: { missingImages: 'missing:' } })
  await rig.apply(aGateway())
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'])
  const { kubeconfig } = rig.cluster
  api = new ApiClient({ cluster: await openCluster({ env: process.env, kubeconfig }) })
  const resource = RESOURCES.gatewayConfigs
  const selection = { namespace: 'ai' }
  reflector = new Reflector({ api, store: gateways, resource, selection, random: Math.random })
  reflector.start()
  await reflector.synced
})

after(async () => {
  await reflector?.stop()
  await api?.close()
  await rig?.stop()
  await server?.stop()
})

async function patch(object: string, change: object, type = 'strategic'): Promise<void> {
  const args = ['patch', object, '-n', 'ai', `--type=${type}`, '-p', JSON.stringify(change)]
  await rig.cluster.kubectl(args)
}

async function untilPath(object: string, path: string, value: string): Promise<void> {
  await until(`${object} has ${path}=${value}`, async () => {
    const args = ['get', object, '-n', 'ai', '-o', `jsonpath=${path}`]
    return (await rig.cluster.kubectl(args)) === value
  })
}

/** The notes of the events about hand edits. */
async function notesOfEdits(): Promise<string[]> {
  const args = ['get', 'events.events.k8s.io', '-n', 'ai', '-o', 'json']
  const { items } = JSON.parse(await rig.cluster.kubectl(args))
  return items
    .filter(({ reason }: { reason: string }) => reason === 'EditReverted')
    .map(({ note }: { note: string }) => note)
}

async function untilTold(note: RegExp): Promise<void> {
  await until(`an event tells ${note}`, async () =>
    (await notesOfEdits()).some((one) => note.test(one)),
  )
}

const IMAGE = '{.spec.template.spec.containers[*].image}'

test('the operator reverts hand edits made after its restart', async () => {
  const { kubectl } = rig.cluster
  const args = ['get', 'deployment/production', '-n', 'ai', '-o', `jsonpath=${IMAGE}`]
  const image = await kubectl(args)
  await rig.operator.stop()
  rig.operator = await startOperatorProcess({ kubeconfig: rig.cluster.kubeconfig })
  await kubectl(['set', 'image', 'deployment/production', 'gateway=other:1', '-n', 'ai'])
  await untilPath('deployment/production', IMAGE, image)
  await untilTold(/Deployment production was changed by kubectl-set, and is reverted/)
  await kubectl(['scale', 'deployment/production', '--replicas=4', '-n', 'ai'])
  await untilPath('deployment/production', '{.spec.replicas}', '2')
  await untilTold(/Deployment production was changed by kubectl, and is reverted/)
  assert.ok((await notesOfEdits()).every((note) => note.startsWith('Deployment')))
})

test('a new operator reverts hand edits made while none ran', async () => {
  const before = await statusOf(rig.cluster, 'production')
  await rig.operator.stop()
  await patch('service/production', { spec: { selector: { by: 'hand' } } })
  const container = { name: 'gateway', env: [{ name: 'BY_HAND', value: 'x' }] }
  await patch('deployment/production', {
    spec: { template: { spec: { containers: [container] } } },
  })
  rig.operator = await startOperatorProcess({ kubeconfig: rig.cluster.kubeconfig })
  await untilPath('service/production', '{.spec.selector.by}', '')
  const names = '{.spec.template.spec.containers[0].env[?(@.name=="BY_HAND")].name}'
  await untilPath('deployment/production', names, '')
  assert.equal((await statusOf(rig.cluster, 'production')).activeHash, before.activeHash)
})

test("the operator removes a user's selector label, container, variable and volume", async () => {
  await patch('service/production', { spec: { selector: { by: 'hand' } } })
  await untilPath('service/production', '{.spec.selector.by}', '')
  const spec = {
    containers: [
      { name: 'gateway', env: [{ name: 'BY_HAND', value: 'x' }] },
      { name: 'beside', image: 'other:1' },
    ],
    initContainers: [{ name: 'first', image: 'other:1' }],
    volumes: [{ name: 'more', emptyDir: {} }],
    hostNetwork: true,
  }
  await patch('deployment/production', { spec: { template: { spec } } })
  const at = (path: string) => `{.spec.template.spec.${path}}`
  await untilPath('deployment/production', at('containers[*].name'), 'gateway')
  await untilPath('deployment/production', at('initContainers[*].name'), '')
  await untilPath('deployment/production', at('hostNetwork'), '')
  await untilPath('deployment/production', at('volumes[?(@.name=="more")].name'), '')
  const variable = at('containers[0].env[?(@.name=="BY_HAND")].name')
  await untilPath('deployment/production', variable, '')
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'])
})

test('the operator leaves the number of pods to the scaler, also while it reverts another field', async () => {
  const { kubectl } = rig.cluster
  await rig.apply(aGateway({ spec: { autoscaling: { mode: 'External' } } }))
  await untilCondition(rig.cluster, 'production', ['Accepted', 'True'])
  await kubectl(['scale', 'deployment/production', '--replicas=3', '-n', 'ai'])
  await kubectl(['set', 'env', 'deployment/production', 'BY_HAND=x', '-n', 'ai'])
  const names = '{.spec.template.spec.containers[0].env[?(@.name=="BY_HAND")].name}'
  await untilPath('deployment/production', names, '')
  await untilPath('deployment/production', '{.spec.replicas}', '3')
  await rig.apply(aGateway())
  await untilPath('deployment/production', '{.spec.replicas}', '2')
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'])
})

test('a generation whose pods never start is never ready, however late the operator sees its Deployment', async () => {
  await rig.operator.stop()
  server = await startFaultyServer(rig.cluster)
  rig.operator = await startOperatorProcess({ kubeconfig: server.kubeconfig })
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'])
  const said: { generation: number; ready: string | undefined }[] = []
  gateways.onChange((_before, now) => {
    const status = Object(now?.status) as Parameters<typeof conditionIn>[0]
    const ready = conditionIn(status, 'Ready')
    said.push({ generation: ready?.observedGeneration ?? 0, ready: ready?.status })
  })
  const release = server.hold('deployments')
  await rig.apply(aGateway({ spec: { image: 'missing:1' } }))
  const { kubectl } = rig.cluster
  const path = '{.metadata.generation}'
  const rolled = Number(
    await kubectl(['get', 'gwc/production', '-n', 'ai', '-o', `jsonpath=${path}`]),
  )
  const ofRoll = () => said.filter(({ generation }) => generation === rolled)
  await until('the generation is judged', () => ofRoll().length > 0)
  release()
  const stalled = ['WorkloadAvailable', 'False', 'RolloutInProgress'] as const
  await untilCondition(rig.cluster, 'production', stalled)
  assert.ok(ofRoll().every(({ ready }) => ready === 'False'))
  await rig.apply(aGateway())
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'])
})
