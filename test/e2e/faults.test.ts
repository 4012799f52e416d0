/**
 * Parts around a gateway break under load, one after another: the gateway keeps serving, reports
 * the fault, and recovers.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { until } from '../helpers/until.ts'
import { describe, type Load, type LoadReport, startLoad } from './load.ts'
import { containerProcess } from './node/containers.ts'
import { killDaemon, killQuietly, restartDaemon } from './node/daemons.ts'
import { untilApiServerReady } from './node/node.ts'
import { gateway, gatewayKey } from './objects.ts'
import { SPACE, SYSTEM } from './spaces.ts'
import { show } from './table.ts'
import {
  gatewayReady,
  openWorld,
  prepare,
  redisValues,
  rolledOut,
  SECONDS_MAX,
  type World,
} from './world.ts'

const NAME = 'faulty'
const RATE = 100
const STREAMS = 20
const REPLICAS = 3
const OPERATORS = 'app.kubernetes.io/component=operator'
let world: World
let load: Load

before(async () => {
  world = await openWorld()
  await prepare(world, ...redisValues())
  const { key, object } = gatewayKey(NAME, 'acme')
  await world.apply(aGateway(60_000), object)
  await gatewayReady(world, NAME)
  const url = `http://${NAME}.${SPACE}.svc`
  load = await startLoad(world, 'faulty-load', { url, key, rate: RATE, streams: STREAMS })
})

after(async () => {
  await world.kubectl(['-n', SPACE, 'delete', 'pod', 'faulty-load', '--ignore-not-found'])
  await world.kubectl(['-n', SPACE, 'delete', 'gatewayconfig', NAME, '--ignore-not-found'])
})

/** The limits are never reached; their number only distinguishes configurations. */
function aGateway(limit: number): object {
  const url = '${secret:gw-redis/url}'
  const redis = { url, timeout_ms: 2000, fail_open: true, key_prefix: NAME }
  const rule = { requests_per_minute: limit, burst: limit, concurrent_requests: 10_000 }
  const rate_limits = { backend: 'redis', redis, default: rule }
  return gateway(NAME, { gw: { rate_limits }, spec: { replicas: REPLICAS } })
}

test("only a killed pod's own requests fail", async () => {
  const quiet = await moreRequests(500)
  assert.equal(quiet.lost + quiet.streams.cut, 0, describe(quiet))
  const [pod = ''] = await podsOf(SPACE, `inference.gw/gateway=${NAME}`)
  const killedAt = Date.now()
  await killPod(pod)
  await until('the pod is back', async () => await hasRestarted(pod), SECONDS_MAX)
  await gatewayReady(world, NAME)
  const report = await moreRequests(500)
  const settled = await moreRequests(500)
  // They got no answer: a live pod would have sent a refusal.
  const answered = report.failures.filter(({ what }) => /^(status )?\d{3} /.test(what))
  assert.deepEqual(answered, [], describe(report))
  assert.equal(settled.lost - report.lost, 0, describe(settled))
  assert.ok(settled.streams.cut <= STREAMS, describe(settled))
  const last = Math.max(...report.failures.map(({ at }) => Date.parse(at) - killedAt), 0)
  show(
    'pod_killed',
    `${report.lost} requests and ${report.streams.cut} streams of that pod failed, ` +
      `the last ${(last / 1000).toFixed(1)} s after it; 0 elsewhere`,
  )
})

test('without Redis, a gateway with fail_open keeps serving from its share, and reports that the store is away', async () => {
  const start = await load.report()
  await world.kubectl(['-n', SYSTEM, 'scale', 'deployment/gw-redis', '--replicas=0'])
  const store = async () => await storeUp()
  await until('the gateway reports it', async () => (await store()) === 0, SECONDS_MAX)
  const away = await moreRequests(1500)
  await world.kubectl(['-n', SYSTEM, 'scale', 'deployment/gw-redis', '--replicas=1'])
  await until('the store is back', async () => (await store()) === 1, SECONDS_MAX)
  const report = await moreRequests(500)
  nothingNew(start, report)
  const during = away.answered - start.answered
  show('redis_killed', `0 lost of ${report.begun - start.begun}, ${during} answered without it`)
})

test('without an operator pods keep serving, and the next operator applies changes made meanwhile', async () => {
  const start = await load.report()
  await world.kubectl(['-n', SYSTEM, 'scale', 'deployment/gw', '--replicas=0'])
  await world.kubectl(['-n', SYSTEM, 'wait', '--for=delete', 'pod', '-l', OPERATORS])
  await world.apply(aGateway(60_001))
  await moreRequests(1500)
  await world.kubectl(['-n', SYSTEM, 'scale', 'deployment/gw', '--replicas=2'])
  await rolledOut(world, 'deployment', 'gw', SYSTEM)
  await gatewayReady(world, NAME)
  const report = await moreRequests(200)
  nothingNew(start, report)
  show('operator_deleted', `0 lost of ${report.begun - start.begun}; the change was then in force`)
})

test('without an API server for a minute pods keep serving, and the next change is applied', async () => {
  if (!world.isOurNode) return show('api_stopped', 'the API server of this cluster is not ours')
  const start = await load.report()
  await killDaemon('kube-apiserver')
  await delay(60_000)
  await restartDaemon('kube-apiserver')
  await untilApiServerReady()
  await world.apply(aGateway(60_002))
  await gatewayReady(world, NAME)
  const report = await moreRequests(200)
  nothingNew(start, report)
  show('api_stopped', `0 lost of ${report.begun - start.begun}; the next change was in force`)
})

async function moreRequests(count: number): Promise<LoadReport> {
  const { begun } = await load.report()
  return await load.reaches(begun + count, SECONDS_MAX)
}

function nothingNew(start: LoadReport, end: LoadReport): void {
  assert.equal(end.lost - start.lost, 0, describe(end))
  assert.equal(end.streams.cut - start.streams.cut, 0, describe(end))
  assert.equal(end.streams.refused - start.streams.refused, 0, describe(end))
}

async function podsOf(namespace: string, selector: string): Promise<string[]> {
  const names = ['get', 'pods', '-l', selector, '-o', 'jsonpath={.items[*].metadata.name}']
  return (await world.kubectl(['-n', namespace, ...names])).split(' ')
}

/** Like a crash if the node is ours; elsewhere as abruptly as its API allows. */
async function killPod(name: string): Promise<void> {
  const pod = await world.read('pod', name)
  const id = /containerd:\/\/(\w+)/.exec(JSON.stringify(pod.status))?.[1] ?? ''
  if (world.isOurNode) return killQuietly(await containerProcess(id))
  await world.kubectl(['-n', SPACE, 'delete', 'pod', name, '--grace-period=0', '--force'])
}

async function hasRestarted(name: string): Promise<boolean> {
  const asked = ['get', 'pod', name, '--ignore-not-found', '-o', 'json']
  const text = await world.kubectl(['-n', SPACE, ...asked])
  if (text === '') return true
  return /"restartCount": [1-9]/.test(text)
}

/** As the first pod reports it. */
async function storeUp(): Promise<number> {
  const [pod = ''] = await podsOf(SPACE, `inference.gw/gateway=${NAME}`)
  const ip = await world.kubectl(['-n', SPACE, 'get', 'pod', pod, '-o', 'jsonpath={.status.podIP}'])
  const get = ['node', '/client/get.ts', `http://${ip}:9090/metrics`]
  const text = await world.kubectl(['-n', SPACE, 'exec', 'faulty-load', '--', ...get])
  return Number(/^gw_store_up\{[^}]*\} (\d)/m.exec(text)?.[1] ?? Number.NaN)
}
