/** Correct and mistaken changes while requests run, and their effect. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { until } from '../helpers/until.ts'
import { describe, type Load, type LoadReport, startLoad } from './load.ts'
import { gateway, gatewayKey, tellingUpstream } from './objects.ts'
import { SPACE, SYSTEM } from './spaces.ts'
import { show } from './table.ts'
import {
  conditionOf,
  gatewayReady,
  openWorld,
  prepare,
  rolledOut,
  SECONDS_MAX,
  type World,
} from './world.ts'

const NAME = 'changing'
const OPERATORS = 'app.kubernetes.io/component=operator'
const URL = `http://${NAME}.${SPACE}.svc`
const { key, object: keyObject } = gatewayKey(NAME, 'acme')
let world: World
let load: Load
let start: LoadReport

before(async () => {
  world = await openWorld()
  await prepare(world)
  await world.apply(credential('first'), ...tellingUpstream('telling', world.image))
  await rolledOut(world, 'deployment', 'telling')
  await world.apply(aGateway('telling'), keyObject)
  await gatewayReady(world, NAME)
  load = await startLoad(world, 'changing-load', { url: URL, key, rate: 50, model: 'told' })
  start = await load.reaches(100, SECONDS_MAX)
})

after(async () => {
  await world.kubectl(['-n', SPACE, 'delete', 'pod', 'changing-load', '--ignore-not-found'])
  await world.kubectl(['-n', SPACE, 'delete', 'gatewayconfig', NAME, '--ignore-not-found'])
})

function aGateway(primary: string): object {
  const upstream = {
    name: 'telling',
    provider: 'vllm',
    endpoint: 'http://telling:9000',
    model: 'telling',
    api_key: '${secret:credential/key}',
    context_window: 8192,
  }
  const gw = {
    upstreams: [upstream],
    routes: [{ name: 'told', strategy: 'single', primary }],
  }
  return gateway(NAME, { gw, spec: { replicas: 2 } })
}

function credential(value: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'credential', namespace: SPACE },
    stringData: { key: value },
  }
}

test('a new value of a Secret is used without a restart, and no request fails', async () => {
  assert.match(await askOnce(), /Bearer first/)
  const pods = await podNames()
  await world.apply(credential('second'))
  const startedAt = performance.now()
  const isUsed = async () => {
    // Checks each replica: several connections reach both.
    const answers = await Promise.all(Array.from({ length: 6 }, askOnce))
    return answers.every((answer) => answer.includes('Bearer second'))
  }
  await until('every replica uses the new value', isUsed, SECONDS_MAX)
  const seconds = (performance.now() - startedAt) / 1000
  assert.equal(await podNames(), pods)
  const report = await noneLost()
  show('secret', `0 of ${report.begun - start.begun} lost; in use after ${seconds.toFixed(0)} s`)
})

test('a pod starts with the last good documents if a user damaged the newest, and the operator repairs them', async () => {
  await world.kubectl(['-n', SYSTEM, 'scale', 'deployment/gw', '--replicas=0'])
  await world.kubectl(['-n', SYSTEM, 'wait', '--for=delete', 'pod', '-l', OPERATORS])
  const spoiled = JSON.stringify({ data: { 'config.json': '{"document":"spoiled"}' } })
  const patch = ['patch', 'configmap', `${NAME}-config`, '--type=merge', '-p', spoiled]
  await world.kubectl(['-n', SPACE, ...patch])
  const [pod = ''] = (await podNames()).split('\n')
  await world.kubectl(['-n', SPACE, 'delete', pod, '--wait'])
  await rolledOut(world, 'deployment', NAME)
  assert.match(await askOnce(), /Bearer second/)
  await world.kubectl(['-n', SYSTEM, 'scale', 'deployment/gw', '--replicas=2'])
  const isGood = async () => {
    const { data } = await world.read('configmap', `${NAME}-config`)
    return !JSON.stringify(data).includes('spoiled')
  }
  await until('the operator has repaired them', isGood, SECONDS_MAX)
  await gatewayReady(world, NAME)
  const report = await noneLost()
  const lost = `0 of ${report.begun - start.begun} lost`
  show(
    'corrupted',
    `${lost}; a new pod started with the last good ones, the operator repaired them`,
  )
})

test('a mistake keeps the previous configuration in force, the status shows its place, and it disappears when corrected', async () => {
  await world.apply(aGateway('tellling'))
  const isSaid = async () => (await conditionOf(world, NAME, 'Accepted')).status === 'False'
  await until('the status reports it', isSaid, SECONDS_MAX)
  const { message } = await conditionOf(world, NAME, 'Accepted')
  assert.match(message, /tellling/)
  await load.reaches((await load.report()).begun + 200, SECONDS_MAX)
  await world.apply(aGateway('telling'))
  await gatewayReady(world, NAME)
  const report = await noneLost()
  show('mistake', `0 of ${report.begun - start.begun} lost; "${message.replace(/\?.*/s, '?')}"`)
})

async function askOnce(): Promise<string> {
  const ask = ['exec', 'changing-load', '--', 'node', '/client/ask.ts', URL, key, 'told']
  return await world.kubectl(['-n', SPACE, ...ask])
}

async function podNames(): Promise<string> {
  const select = ['get', 'pods', '-l', `inference.gw/gateway=${NAME}`, '-o', 'name']
  return await world.kubectl(['-n', SPACE, ...select])
}

async function noneLost(): Promise<LoadReport> {
  const report = await load.report()
  assert.equal(report.lost, 0, describe(report))
  return report
}
