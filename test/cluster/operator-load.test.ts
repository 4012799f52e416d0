/**
 * Many pods under load: all of them apply an edit, and no client notices. Twenty pods with GW_LONG=1, within two
 * seconds.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { ApiClient } from '../../operator/kube/api.ts'
import { openCluster } from '../../operator/kube/cluster.ts'
import { type KubeObject, RESOURCES } from '../../operator/kube/objects.ts'
import { Reflector } from '../../operator/kube/watch/reflector.ts'
import { ObjectStore } from '../../operator/kube/watch/store.ts'
import { aKey } from '../helpers/a-key.ts'
import { type FakeUpstream, QUESTION, startUpstream } from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'
import { milliseconds, quantile, recordFigure } from './figures.ts'
import { conditionIn, untilCondition } from './operator-process.ts'
import { aGateway, type OperatorRig, startOperatorRig } from './operator-rig.ts'

/** The full number on an idle machine; fewer where the test shares two cores with twenty pods. */
const IS_LONG = process.env.GW_LONG === '1'
const PODS = IS_LONG ? 20 : 8
const EDITS = IS_LONG ? 100 : 20
const BOUND_MS = 2000
/** The pause between two requests of a client. */
const PAUSE_MS = 200

let rig: OperatorRig
let upstream: FakeUpstream
let api: ApiClient
let reflector: Reflector
const store = new ObjectStore()
const { key, record } = aKey({ id: 'first' })

/** The gateway of the clients has no limits, because limits would refuse them. */
function gw() {
  const upstreams = [{ name: 'local', provider: 'vllm', endpoint: upstream.url, model: 'm' }]
  const limits = { requests_per_minute: 1_000_000, concurrent_requests: 1000 }
  return { api_keys: [record], upstreams, rate_limits: { default: limits } }
}

before(async () => {
  upstream = await startUpstream()
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
  await rig.apply(aGateway({ gw: gw(), spec: { replicas: PODS } }))
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'], 900)
})

after(async () => {
  await reflector?.stop()
  await api?.close()
  await rig?.stop()
  await upstream?.close()
})

/** Resolves when the status of this generation is Programmed. */
async function untilProgrammed(generation: number): Promise<void> {
  const isProgrammed = () => {
    const gateway = store.get('ai/production')
    const condition = conditionIn((gateway?.status ?? {}) as object, 'Programmed')
    return condition?.observedGeneration === generation && condition.status === 'True'
  }
  if (isProgrammed()) return
  await until(`generation ${generation} is programmed`, isProgrammed, 120)
}

/** Milliseconds from the apply to the status that every pod enforces the edit. */
async function timeOfEdit(alias: string): Promise<number> {
  const document = aGateway({
    gw: { ...gw(), aliases: { [alias]: 'chat' } },
    spec: { replicas: PODS },
  })
  const started = performance.now()
  const applied = await api.apply(RESOURCES.gatewayConfigs, document as KubeObject, {
    manager: 'test',
  })
  await untilProgrammed(applied.metadata.generation ?? 0)
  return performance.now() - started
}

test(`all ${PODS} pods enforce an edit, and no request fails`, async (t) => {
  const times: number[] = []
  const load = startLoad()
  try {
    for (let edit = 0; edit < EDITS; edit++) times.push(await timeOfEdit(`edit-${edit}`))
  } finally {
    await load.end()
  }
  const [half, most] = [quantile(times, 0.5), quantile(times, 0.99)]
  const said = `p50 ${milliseconds(half)}, p99 ${milliseconds(most)}; ${load.answers()} answered`
  t.diagnostic(said)
  recordFigure('edit', said, `${PODS} pods, ${EDITS} edits`)
  assert.deepEqual(load.failures, [])
  if (IS_LONG) assert.ok(most < BOUND_MS, said)
})

/** Clients of every pod, each with one request after the other. */
function startLoad() {
  let isOver = false
  let answers = 0
  const failures: string[] = []
  const clients = rig.kubelet.pods().map(async ({ url, name }) => {
    while (!isOver) {
      const status = await ask(url).catch((error: unknown) => String(error))
      if (status === 200) answers++
      else failures.push(`${name}: ${status}`)
      await delay(PAUSE_MS)
    }
  })
  return {
    failures,
    answers: () => answers,
    async end() {
      isOver = true
      await Promise.all(clients)
    },
  }
}

async function ask(url: string): Promise<number> {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(QUESTION),
  })
  await answer.arrayBuffer()
  return answer.status
}
