/**
 * Three model servers behind one Service, three pods of a gateway: the distribution of requests,
 * and the cost of a change.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { until } from '../helpers/until.ts'
import { describe, startLoad } from './load.ts'
import { clientPod, gateway, gatewayKey, server, simulator } from './objects.ts'
import { SPACE } from './spaces.ts'
import { show } from './table.ts'
import { gatewayReady, openWorld, prepare, rolledOut, SECONDS_MAX, type World } from './world.ts'

const NAME = 'spread'
const REQUESTS = 1500
const { key, object } = gatewayKey(NAME, 'acme')
const url = `http://${NAME}.${SPACE}.svc`
let world: World

const upstream = (name: string, model: string, more: object) => ({
  ...{ name, provider: 'vllm', endpoint: `http://${model}:9000`, model },
  ...{ context_window: 131_072, ...more },
})
const gw = {
  upstreams: [
    upstream('least', 'shared', { endpoints: 'pods', balance: 'least' }),
    upstream('url', 'shared', {}),
    upstream('keen', 'named', { endpoints: 'pods', balance: 'affinity' }),
  ],
  routes: ['least', 'url', 'keen'].map((name) => ({ name, strategy: 'single', primary: name })),
}

before(async () => {
  world = await openWorld()
  await prepare(world)
  const { image } = world
  await world.apply(
    ...simulator('shared', image, '--tokens', '20', '--tokens-per-second', '60'),
    ...server('named', { image, command: ['node', '/client/upstream.ts', 'host'] }),
    gateway(NAME, { gw, spec: { replicas: 3 } }),
    object,
  )
  await Promise.all([scale('shared', 3), scale('named', 3)])
  await gatewayReady(world, NAME)
})

after(async () => {
  const kinds = ['deployment,service', 'shared', 'named', '--ignore-not-found']
  await world.kubectl(['-n', SPACE, 'delete', 'gatewayconfig', NAME, '--ignore-not-found'])
  await world.kubectl(['-n', SPACE, 'delete', ...kinds])
})

async function scale(name: string, replicas: number): Promise<void> {
  await world.kubectl(['-n', SPACE, 'scale', `deployment/${name}`, `--replicas=${replicas}`])
  await rolledOut(world, 'deployment', name)
}

interface Pod {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string }
  readonly status: { readonly conditions?: readonly { type: string; status: string }[] }
}

async function readyPods(): Promise<readonly string[]> {
  const args = ['-n', SPACE, 'get', 'pods', '-l', 'app=shared', '-o', 'json']
  const { items }: { items: readonly Pod[] } = JSON.parse(await world.kubectl(args))
  const isReady = ({ metadata, status }: Pod) =>
    metadata.deletionTimestamp === undefined &&
    status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true
  return items.filter(isReady).map(({ metadata }) => metadata.name)
}

/** By the number of tokens that each server reports: all answers have the same length. */
async function workOf(pods: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const read = async (pod: string): Promise<[string, number]> => {
    const path = `/api/v1/namespaces/${SPACE}/pods/${pod}:9000/proxy/metrics`
    const text = await world.kubectl(['get', '--raw', path])
    return [pod, Number(/^vllm:generation_tokens_total\S* (\d+)/m.exec(text)?.[1] ?? 0)]
  }
  return new Map(await Promise.all(pods.map(read)))
}

/** The load of the busiest server divided by the mean. */
async function spreadOver(model: string): Promise<number> {
  const pods = await readyPods()
  assert.equal(pods.length, 3)
  const before = await workOf(pods)
  const load = await startLoad(world, `load-${model}`, { url, key, model, rate: 40 })
  await load.reaches(REQUESTS, SECONDS_MAX)
  const report = await load.stop()
  assert.equal(report.lost, 0, describe(report))
  const done = [...(await workOf(pods))].map(([pod, work]) => work - (before.get(pod) ?? 0))
  return Math.max(...done) / (done.reduce((sum, one) => sum + one, 0) / done.length)
}

test('three servers behind one Service get the same share', async () => {
  const least = await spreadOver('least')
  const byName = await spreadOver('url')
  const figures = `${least.toFixed(2)}; with endpoints: url ${byName.toFixed(2)}`
  show('spread', figures)
  assert.ok(least <= 1.3, figures)
})

test('a server killed under load fails no request, and an added one is used', async () => {
  const load = await startLoad(world, 'load-killed', { url, key, model: 'least', rate: 40 })
  await load.reaches(200, SECONDS_MAX)
  const [victim = ''] = await readyPods()
  const kill = ['delete', 'pod', victim, '--grace-period=0', '--force']
  await world.kubectl(['-n', SPACE, ...kill])
  await until('three are ready', async () => (await readyPods()).length === 3, SECONDS_MAX)
  const known = new Set(await readyPods())
  await world.kubectl(['-n', SPACE, 'scale', 'deployment/shared', '--replicas=4'])
  const added = async () => (await readyPods()).find((pod) => !known.has(pod))
  await until('a fourth is ready', async () => (await added()) !== undefined, SECONDS_MAX)
  const began = performance.now()
  const fourth = (await added()) ?? ''
  const isUsed = async () => ((await workOf([fourth])).get(fourth) ?? 0) > 0
  await until('it is used', isUsed, SECONDS_MAX)
  const seconds = (performance.now() - began) / 1000
  const report = await load.stop()
  const figures = `${report.lost} of ${report.begun} lost; the added one used after ${seconds.toFixed(1)} s`
  show('replicas', figures)
  assert.equal(report.lost, 0, describe(report))
})

test('the turns of a conversation reach one server, through any pod of the gateway', async () => {
  const command = ['node', '/client/sessions.ts', `${url}`, key, 'keen']
  await world.apply(clientPod({ name: 'sessions', image: world.image, command }))
  const phase = '--for=jsonpath={.status.phase}=Succeeded'
  const wait = ['-n', SPACE, 'wait', phase, 'pod/sessions', `--timeout=${SECONDS_MAX}s`]
  await world.kubectl(wait)
  const text = await world.kubectl(['-n', SPACE, 'logs', 'sessions'])
  await world.kubectl(['-n', SPACE, 'delete', 'pod', 'sessions', '--wait=false'])
  const { hits, later, servers } = JSON.parse(text)
  const figures = `${hits} of ${later} later turns returned, over ${Object.keys(servers).length} servers`
  show('affinity', figures)
  assert.ok(hits >= 0.85 * later, figures)
})
