/** A new operator release replaces all pods: gateways take turns, and each always has a pod. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { valueBelow } from '../../dataplane/json/values.ts'
import { ApiClient } from '../../operator/kube/api.ts'
import { openCluster } from '../../operator/kube/cluster.ts'
import { GATEWAY_LABEL } from '../../operator/kube/names.ts'
import { RESOURCES } from '../../operator/kube/objects.ts'
import { Reflector } from '../../operator/kube/watch/reflector.ts'
import { ObjectStore } from '../../operator/kube/watch/store.ts'
import { isRolling } from '../../operator/workload/rolling.ts'
import { until } from '../helpers/until.ts'
import { milliseconds, recordFigure } from './figures.ts'
import { startOperatorProcess, untilCondition } from './operator-process.ts'
import { aGateway, type OperatorRig, startOperatorRig } from './operator-rig.ts'

const NAMES = ['one', 'two', 'three']

let rig: OperatorRig
let api: ApiClient
let reflector: Reflector
const store = new ObjectStore()
/** The largest number of concurrent rollouts, and the smallest number of available pods of one gateway. */
const seen = { rolling: 0, available: Number.POSITIVE_INFINITY }

before(async () => {
  rig = await startOperatorRig({ args: ['--image', 'gw:old'] })
  const documents = NAMES.map((name) => ({
    ...aGateway({ spec: { replicas: 1 } }),
    metadata: { name, namespace: 'ai' },
  }))
  await rig.apply(...documents)
  for (const name of NAMES) await untilCondition(rig.cluster, name, ['Ready', 'True'])
  const { kubeconfig } = rig.cluster
  api = new ApiClient({ cluster: await openCluster({ env: process.env, kubeconfig }) })
  reflector = new Reflector({
    api,
    store,
    resource: RESOURCES.deployments,
    selection: { namespace: 'ai', labelSelector: GATEWAY_LABEL },
    random: Math.random,
  })
  reflector.start()
  await reflector.synced
  await until('nothing rolls', () => store.list().every((one) => !isRolling(one)), 120)
  store.onChange(() => {
    const deployments = store.list()
    seen.rolling = Math.max(seen.rolling, deployments.filter(isRolling).length)
    const available = deployments.map((one) =>
      Number(valueBelow(one, 'status', 'availableReplicas')),
    )
    seen.available = Math.min(seen.available, ...available)
  })
})

after(async () => {
  await reflector?.stop()
  await api?.close()
  await rig?.stop()
})

function imagesOf(): unknown[] {
  return store.list().map((one) => {
    const containers = valueBelow(one, 'spec', 'template', 'spec', 'containers')
    return Array.isArray(containers) ? valueBelow(containers[0], 'image') : undefined
  })
}

test('after an upgrade of the operator one gateway at a time rolls, and each keeps a serving pod', async (t) => {
  await rig.operator.stop()
  const started = performance.now()
  const { kubeconfig } = rig.cluster
  rig.operator = await startOperatorProcess({ kubeconfig, args: ['--image', 'gw:new'] })
  const isDone = () =>
    imagesOf().every((image) => image === 'gw:new') && store.list().every((one) => !isRolling(one))
  await until('all of them have rolled', isDone, 300)
  for (const name of NAMES) await untilCondition(rig.cluster, name, ['Ready', 'True'])
  const said = `${seen.rolling} at a time, never fewer than ${seen.available} pod available`
  t.diagnostic(`${said}; ${milliseconds(performance.now() - started)} for ${NAMES.length}`)
  recordFigure('rollouts', said, `${NAMES.length} gateways, 1 allowed`)
  assert.deepEqual(seen, { rolling: 1, available: 1 })
})

test('an edit of a user rolls at once, even during other rollouts', async () => {
  seen.rolling = 0
  const documents = NAMES.map((name) => ({
    ...aGateway({ spec: { replicas: 1, env: [{ name: 'A', value: 'b' }] } }),
    metadata: { name, namespace: 'ai' },
  }))
  await rig.apply(...documents)
  await until('they roll together', () => seen.rolling > 1, 120)
  for (const name of NAMES) await untilCondition(rig.cluster, name, ['Ready', 'True'])
})
