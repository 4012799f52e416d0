/** Many gateways and keys: the operator's use of the machine, and the time of a single edit among them. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { hashOf } from '../../dataplane/delivery/signed.ts'
import { ApiClient } from '../../operator/kube/api.ts'
import { openCluster } from '../../operator/kube/cluster.ts'
import { type KubeObject, RESOURCES } from '../../operator/kube/objects.ts'
import { until } from '../helpers/until.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { allowed, milliseconds, quantile, recordFigure } from './figures.ts'
import { type HollowPods, startHollowPods } from './hollow-pods.ts'
import {
  conditionIn,
  type OperatorProcess,
  startOperatorProcess,
  stopOperators,
  supervise,
} from './operator-process.ts'
import { aGateway, aGatewayKey } from './operator-rig.ts'

/** The full size needs minutes to create. */
const IS_LONG = process.env.GW_LONG === '1'
const GATEWAYS = IS_LONG ? 500 : 60
const KEYS = IS_LONG ? 10_000 : 1200
const STEADY_MS = IS_LONG ? 120_000 : 30_000
const EDITS = 20
/** The number of objects that the test creates at once. */
const LANES = 16
const MINUTES_MAX = 30

const MEMORY_MIB_MAX = 250
const CPU_SHARE_MAX = 0.05
const EDIT_MS_MAX = allowed(2000)

let cluster: ControlPlane
const held = {} as { operator: OperatorProcess } // Set before any test.
let leaveOff: () => Promise<void>
let pods: HollowPods
let api: ApiClient

before(async () => {
  cluster = await startControlPlane()
  await cluster.installDefinitions()
  for (const name of ['ai', 'gw-system']) await cluster.kubectl(['create', 'namespace', name])
  api = new ApiClient({
    cluster: await openCluster({ env: process.env, kubeconfig: cluster.kubeconfig }),
  })
  pods = await startHollowPods(cluster.kubeconfig)
  held.operator = await startOperatorProcess(cluster)
  // The operator may lose its lease on a busy machine, and then restarts as in a cluster.
  leaveOff = supervise(held, () => startOperatorProcess({ ...cluster, isAwaited: false }))
})

after(async () => {
  await leaveOff?.()
  await stopOperators()
  await pods?.stop()
  await api?.close()
  await cluster?.stop()
})

async function makeMany(
  count: number,
  make: (index: number) => object,
  kind: 'gatewayKeys' | 'gatewayConfigs',
) {
  let next = 0
  const lane = async () => {
    while (next < count) {
      const object = make(next++) as KubeObject // An object of a test is complete enough to store.
      await api.create(RESOURCES[kind], object, 'test')
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
}

function gatewayNamed(name: string, aliases: Readonly<Record<string, string>> = {}) {
  return {
    ...aGateway({ gw: { aliases }, spec: { replicas: 1 } }),
    metadata: { name, namespace: 'ai' },
  }
}

/** Mebibytes now, and their maximum; seconds of CPU. */
function taken() {
  const read = (file: string) => readFileSync(`/proc/${held.operator.child.pid}/${file}`, 'utf8')
  const status = read('status')
  const memory = (name: string) =>
    Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024
  const times = read('stat').replace(/.*\) /, '').split(' ')
  // The kernel counts in hundredths of a second.
  const cpuSeconds = (Number(times[11]) + Number(times[12])) / 100
  return { now: memory('VmRSS'), most: memory('VmHWM'), cpuSeconds }
}

async function metric(name: string): Promise<number> {
  const answer = await fetch(`${held.operator.healthUrl}/metrics`).catch(() => undefined)
  const text = (await answer?.text()) ?? ''
  const line = text.split('\n').find((one) => one.startsWith(`${name} `))
  return Number(line?.split(' ').at(-1))
}

async function isSettled(): Promise<boolean> {
  const ready = await metric('gw_gateways{ready="true"}')
  const waiting = [
    await metric('workqueue_depth{name="gateway"}'),
    await metric('workqueue_depth{name="key"}'),
  ]
  await delay(1000)
  return ready === GATEWAYS && waiting.every((depth) => depth === 0)
}

test(`the operator makes ${GATEWAYS} gateways with ${KEYS} keys Ready in less than ${MEMORY_MIB_MAX} MiB`, async (t) => {
  const keyFor = (index: number) => {
    // Half of them belong to one gateway, whose document of keys has the maximum size; the rest are spread evenly.
    const gateway = index % 2 === 0 ? 'g-0' : `g-${index % GATEWAYS}`
    const spec = { gateway, hash: `sha256:${hashOf(index)}`, tenant: `t-${index % 100}` }
    return aGatewayKey(`key-${index}`, spec)
  }
  await makeMany(KEYS, keyFor, 'gatewayKeys')
  await makeMany(GATEWAYS, (index) => gatewayNamed(`g-${index}`), 'gatewayConfigs')
  await until('every gateway is ready', isSettled, MINUTES_MAX * 60)
  const { most, now } = taken()
  const said = `${Math.round(now)} MiB, at most ${Math.round(most)} MiB`
  t.diagnostic(said)
  recordFigure('memory', said, `${GATEWAYS} gateways and pods, ${KEYS} keys`)
  assert.ok(most < MEMORY_MIB_MAX, said)
})

test('all pods enforce a single edit among them within two seconds', async (t) => {
  const times: number[] = []
  for (let edit = 0; edit < EDITS; edit++) {
    // Alternates between the gateway with the most keys and one of the others.
    const name = edit % 2 === 0 ? 'g-0' : `g-${edit}`
    const document = gatewayNamed(name, { [`edit-${edit}`]: 'chat' })
    const started = performance.now()
    const place = { namespace: 'ai', name }
    const applied = await api.apply(RESOURCES.gatewayConfigs, document as KubeObject, {
      manager: 'test',
    })
    await until(
      `${name} is programmed`,
      async () => {
        const gateway = await api.get(RESOURCES.gatewayConfigs, place)
        const condition = conditionIn((gateway?.status ?? {}) as object, 'Programmed')
        return (
          condition?.status === 'True' &&
          condition.observedGeneration === applied.metadata.generation
        )
      },
      300,
    )
    times.push(performance.now() - started)
  }
  const [half, most] = [quantile(times, 0.5), quantile(times, 0.9)]
  const said = `p50 ${milliseconds(half)}, p90 ${milliseconds(most)} of ${EDITS} edits`
  t.diagnostic(said)
  recordFigure('edit_among_many', said, `${GATEWAYS} gateways and pods, ${KEYS} keys`)
  assert.ok(half < EDIT_MS_MAX, said)
})

test('without changes it uses less than a twentieth of a core', async (t) => {
  await until('nothing is under way', isSettled, 300)
  const before = taken().cpuSeconds
  await delay(STEADY_MS)
  const after = taken()
  const share = (after.cpuSeconds - before) / (STEADY_MS / 1000)
  const said = `${(share * 100).toFixed(1)} % of a core`
  t.diagnostic(`${said}, ${Math.round(after.now)} MiB, at most ${Math.round(after.most)} MiB`)
  recordFigure('cpu', said, `${GATEWAYS} gateways and pods asked in turn, ${STEADY_MS / 1000} s`)
  assert.ok(share < CPU_SHARE_MAX, said)
  assert.ok(after.most < MEMORY_MIB_MAX, `at most ${Math.round(after.most)} MiB`)
})
