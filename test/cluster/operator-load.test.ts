/** Many pods under load: an edit is enforced by all of them, and no client notices. Twenty with GW_LONG=1, in two seconds. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ApiClient } from '../../operator/api.ts'
import { openCluster } from '../../operator/cluster.ts'
import { type KubeObject, RESOURCES } from '../../operator/objects.ts'
import { Reflector } from '../../operator/reflector.ts'
import { Store } from '../../operator/store.ts'
import { aKey, until } from '../integration/gateway-process.ts'
import { conditionIn, untilCondition } from './operator-process.ts'
import { aGateway, type OperatorRig, startOperatorRig } from './operator-rig.ts'

/** All that is promised where the machine has nothing else to do; fewer where it shares two cores with twenty pods. */
const IS_LONG = process.env.GW_LONG === '1'
const PODS = IS_LONG ? 20 : 8
const EDITS = IS_LONG ? 100 : 20
const BOUND_MS = 2000

let rig: OperatorRig
let api: ApiClient
let reflector: Reflector
const store = new Store()
const { key, record } = aKey({ id: 'first' })

before(async () => {
  rig = await startOperatorRig()
  const cluster = await openCluster({ env: process.env, kubeconfig: rig.cluster.kubeconfig })
  api = new ApiClient({ cluster })
  reflector = new Reflector({
    api,
    store,
    resource: RESOURCES.gatewayConfigs,
    selection: { namespace: 'ai' },
    random: Math.random,
  })
  reflector.start()
  await rig.apply(aGateway({ gw: { api_keys: [record] }, spec: { replicas: PODS } }))
  await untilCondition(rig.cluster.kubectl, 'production', ['Ready', 'True'], 300)
})

after(async () => {
  await reflector?.stop()
  await api?.close()
  await rig?.stop()
})

/** Resolves when the status of this generation says that it is programmed. */
async function untilProgrammed(generation: number): Promise<void> {
  const isProgrammed = () => {
    const gateway = store.get('ai/production')
    const condition = conditionIn((gateway?.status ?? {}) as object, 'Programmed')
    return condition?.observedGeneration === generation && condition.status === 'True'
  }
  if (isProgrammed()) return
  await until(`generation ${generation} is programmed`, isProgrammed, 60)
}

/** Milliseconds from applying an edit to the status that says that every pod enforces it. */
async function timeOfEdit(alias: string): Promise<number> {
  const document = aGateway({
    gw: { api_keys: [record], aliases: { [alias]: 'chat' } },
    spec: { replicas: PODS },
  })
  const started = performance.now()
  const applied = await api.apply(RESOURCES.gatewayConfigs, document as KubeObject, {
    manager: 'test',
  })
  await untilProgrammed(applied.metadata.generation ?? 0)
  return performance.now() - started
}

test('an edit is enforced by all of them, and no request fails', async (t) => {
  let isOver = false
  let requests = 0
  const failures: string[] = []
  const load = rig.kubelet.pods().map(async ({ url, name }) => {
    while (!isOver) {
      requests++
      const answer = await fetch(`${url}/v1/models`, {
        headers: { authorization: `Bearer ${key}` },
      }).catch((error: unknown) => String(error))
      const status = typeof answer === 'string' ? answer : answer.status
      if (typeof answer !== 'string') await answer.arrayBuffer()
      if (status !== 200) failures.push(`${name}: ${status}`)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  })
  const times: number[] = []
  try {
    for (let edit = 0; edit < EDITS; edit++) times.push(await timeOfEdit(`edit-${edit}`))
  } finally {
    isOver = true
    await Promise.all(load)
  }
  const sorted = times.toSorted((one, other) => one - other)
  const at = (share: number) => Math.round(sorted[Math.ceil(sorted.length * share) - 1] ?? 0)
  t.diagnostic(`${PODS} pods: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, ${requests} requests`)
  assert.deepEqual(failures, [])
  if (IS_LONG) assert.ok(at(0.99) < BOUND_MS, `p99 is ${at(0.99)} ms`)
})
