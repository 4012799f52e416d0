/**
 * Replicas are added and removed under load; the gateway or an autoscaler sets their number, and
 * KEDA's scaler sees their streams.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { parse } from 'yaml'
import { textOf } from '../helpers/fake-upstream.ts'
import { makeKubectl } from '../helpers/kubernetes/kubectl.ts'
import { providePrograms } from '../helpers/kubernetes/programs.ts'
import { until } from '../helpers/until.ts'
import { describe, type Load, type LoadReport, startLoad } from './load.ts'
import { gateway, gatewayKey } from './objects.ts'
import { askSilent, startSilentGateway, startSilentModel, stopSilentModel } from './silence.ts'
import { SPACE } from './spaces.ts'
import { show } from './table.ts'
import { gatewayReady, openWorld, prepare, ROOT, SECONDS_MAX, type World } from './world.ts'

const NAME = 'scaling'
const MOST = 5
const COUNTED = 'counted'
const STREAMS = 12
/** Until the test leaves the streams. */
const SILENCE_SECONDS = 3600
let world: World

before(async () => {
  world = await openWorld()
  await prepare(world)
})

after(async () => {
  const gateways = ['gatewayconfig', NAME, 'auto', COUNTED, '--ignore-not-found']
  await world.kubectl(['-n', SPACE, 'delete', ...gateways])
  await stopSilentModel(world)
})

test('from one replica to five and back no request fails, and each of the five gets its share', async () => {
  const { key, object } = gatewayKey(NAME, 'acme')
  // New replicas get only new connections, so connections are short-lived here.
  const env = [{ name: 'GW_CONNECTION_AGE_SECONDS', value: '1' }]
  await world.apply(gateway(NAME, { spec: { env, drainTimeoutSeconds: 60 } }), object)
  await gatewayReady(world, NAME)
  const url = `http://${NAME}.${SPACE}.svc`
  const load = await startLoad(world, 'scaling-load', { url, key, rate: 100, streams: 20 })
  await load.reaches(500, 300)
  await scaleTo(MOST)
  const shares = await sharesOf(load)
  await scaleTo(1)
  await podsLeft(1)
  const after = await load.report()
  await load.reaches(after.begun + 500, 300)
  const report = await load.stop()
  assert.equal(report.lost + report.streams.cut + report.streams.refused, 0, describe(report))
  const least = Math.min(...shares)
  show(
    'scale',
    `${report.lost} of ${report.begun} lost, ${report.streams.cut} of ${report.streams.opened} ` +
      `streams cut; of ${MOST} the least busy had ${(least * 100).toFixed(0)} %`,
  )
})

test('the operator creates a configured autoscaler, and leaves it the number of replicas', async () => {
  const autoscaling = { minReplicas: 2, maxReplicas: 4, targetCPUUtilizationPercentage: 60 }
  await world.apply(gateway('auto', { spec: { autoscaling } }))
  const made = async () => {
    const asked = ['-n', SPACE, 'get', 'hpa', 'auto', '--ignore-not-found', '-o', 'name']
    return (await world.kubectl(asked)) !== ''
  }
  await until('the autoscaler is there', made, SECONDS_MAX)
  const { spec } = await world.read('hpa', 'auto')
  assert.partialDeepStrictEqual(spec, {
    minReplicas: 2,
    maxReplicas: 4,
    scaleTargetRef: { kind: 'Deployment', name: 'auto' },
  })
  await world.kubectl(['-n', SPACE, 'scale', 'deployment/auto', '--replicas=3'])
  await world.apply(
    gateway('auto', { spec: { autoscaling, podDisruptionBudget: { enabled: false } } }),
  )
  await gatewayReady(world, 'auto')
  const deployment = await world.read('deployment', 'auto')
  assert.partialDeepStrictEqual(deployment.spec, { replicas: 3 })
  show('autoscaler', 'created with 2 to 4; 3 replicas set by another client stayed 3')
})

test("KEDA's own scaler, configured as on our page, adds up the open streams of all pods", async () => {
  if (!world.isOurNode) return show('keda', 'shown only if the node is this machine')
  await startSilentModel(world)
  const reached = await startSilentGateway(world, COUNTED, { replicas: 3 })
  const streams = Array.from({ length: STREAMS }, () => askSilent(reached, SILENCE_SECONDS, true))
  const isHeard = () => streams.every((one) => one.text().includes('hel'))
  await until('every stream has begun', isHeard, SECONDS_MAX)
  const ofPods = await openStreams()
  const sum = await askKeda()
  for (const stream of streams) stream.leave()
  const isOver = async () => (await openStreams()).every((open) => open === 0)
  await until('no stream is open', isOver, SECONDS_MAX)
  const figures = `${ofPods.join(' + ')} streams at three pods: ${sum}, then ${await askKeda()}`
  assert.equal(ofPods.length, 3, figures)
  assert.ok(
    ofPods.every((open) => open < STREAMS),
    figures,
  )
  assert.equal(sum, STREAMS, figures)
  assert.match(figures, /, then 0$/)
  show('keda', figures)
})

/** As each pod reports it. */
async function openStreams(): Promise<number[]> {
  const args = ['-n', SPACE, 'get', 'pods', '-l', `inference.gw/gateway=${COUNTED}`, '-o', 'json']
  const { items } = JSON.parse(await world.kubectl(args))
  const texts = items.map(({ status }: { status: { podIP: string } }) =>
    textOf(`http://${status.podIP}:9090/metrics`),
  )
  return (await Promise.all<string>(texts)).map((text) =>
    Number(/^gw_streams_open (\d+)$/m.exec(text)?.[1]),
  )
}

/** The value that KEDA would give to the autoscaler. */
async function askKeda(): Promise<number> {
  const page = readFileSync(join(ROOT, 'charts/gw/docs/platforms.md'), 'utf8')
  const blocks = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, block = '']) => block)
  const scaled = parse(blocks.find((block) => /^kind: ScaledObject$/m.test(block)) ?? '')
  const [{ type, metadata }] = scaled.spec.triggers
  assert.equal(type, 'metrics-api')
  const url = metadata.url.replace('production.ai.', `${COUNTED}.${SPACE}.`)
  const { 'keda-sum': program = '' } = await providePrograms(['keda-sum'])
  const ask = makeKubectl(program, process.env.E2E_KUBECONFIG ?? '')
  return Number(await ask([], { stdin: JSON.stringify({ ...metadata, url }) }))
}

async function scaleTo(replicas: number): Promise<void> {
  await world.kubectl(['-n', SPACE, 'scale', `gatewayconfig/${NAME}`, `--replicas=${replicas}`])
  await podsLeft(replicas)
  await gatewayReady(world, NAME)
}

/** This many are ready, and none is terminating. */
async function podsLeft(replicas: number): Promise<void> {
  const isSo = async () => {
    const selector = ['-l', `inference.gw/gateway=${NAME}`, '-o', 'json']
    const { items } = JSON.parse(await world.kubectl(['-n', SPACE, 'get', 'pods', ...selector]))
    return items.length === replicas
  }
  await until(`there are ${replicas} pods`, isSo, SECONDS_MAX)
}

/**
 * The replicas that answered the requests of a period; waits until connections have been renewed
 * often enough for each replica to get some.
 */
async function sharesOf(load: Load): Promise<number[]> {
  let shares: number[] = []
  let former: LoadReport = await load.report()
  const isSpread = async () => {
    const now = await load.reaches(former.begun + 2000, 300)
    const counts = Object.entries(now.pods).map(([tag, count]) => count - (former.pods[tag] ?? 0))
    const total = counts.reduce((sum, count) => sum + count, 0)
    shares = counts.filter((count) => count > 0).map((count) => count / total)
    former = now
    return shares.length === MOST && shares.every((share) => share > 1 / MOST / 4)
  }
  await until('each replica has its share', isSpread, SECONDS_MAX)
  return shares
}
