/** The number of a gateway's pods: from the scale subresource, its autoscaler, and scalers of other projects. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { valueBelow } from '../../dataplane/json/values.ts'
import { until } from '../helpers/until.ts'
import type { ControlPlane } from './control-plane.ts'
import { statusOf } from './operator-process.ts'
import { aGateway } from './operator-rig.ts'
import { type OperatorWithin, startOperatorWithin } from './operator-within.ts'

const GATEWAY = '/apis/inference.gw/v1/namespaces/ai/gatewayconfigs/production'
const DEPLOYMENT = '/apis/apps/v1/namespaces/ai/deployments/production'
const AUTOSCALER = '/apis/autoscaling/v2/namespaces/ai/horizontalpodautoscalers/production'

let cluster: ControlPlane
let within: OperatorWithin

before(async () => {
  within = await startOperatorWithin({}, ['models'])
  cluster = within.cluster
})

after(() => within?.stop())

async function apply(document: object): Promise<void> {
  const stdin = JSON.stringify(document)
  await cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], { stdin })
}

const scale = (replicas: number) =>
  cluster.kubectl(['scale', 'gatewayconfig/production', '-n', 'ai', `--replicas=${replicas}`])

/** `spec.replicas` of its objects; undefined if absent. */
const replicasOf = async (path: string) => valueBelow(await cluster.read(path), 'spec', 'replicas')

test('kubectl scale of a gateway changes its pods, and /scale contains their selector', async () => {
  await apply(aGateway())
  await until('it has a Deployment', async () => (await cluster.read(DEPLOYMENT)) !== undefined)
  await scale(3)
  await until('the pods follow', async () => (await replicasOf(DEPLOYMENT)) === 3)
  const subresource = await cluster.read(`${GATEWAY}/scale`)
  assert.equal(valueBelow(subresource, 'spec', 'replicas'), 3)
  assert.equal(valueBelow(subresource, 'status', 'selector'), 'inference.gw/gateway=production')
})

test('an autoscaler starts with the current pods, and then owns their number', async () => {
  const autoscaling = { maxReplicas: 5, targetStreamsPerPod: 100 }
  await apply(aGateway({ spec: { autoscaling, replicas: undefined } }))
  await until('there is an autoscaler', async () => (await cluster.read(AUTOSCALER)) !== undefined)
  assert.equal(await replicasOf(DEPLOYMENT), 3)
  await cluster.kubectl(['scale', 'deployment/production', '-n', 'ai', '--replicas=4'])
  await apply(aGateway({ spec: { autoscaling, replicas: undefined, image: 'gw:other' } }))
  await until('the pods have another shape', async () => {
    return JSON.stringify(await cluster.read(DEPLOYMENT)).includes('"gw:other"')
  })
  assert.equal(await replicasOf(DEPLOYMENT), 4)
  await apply(aGateway({ spec: { replicas: 3 } }))
  await until('the gateway sets its number again', async () => {
    return (await replicasOf(DEPLOYMENT)) === 3
  })
})

test('with an autoscaler kubectl scale changes no pod, and a condition reports it', async () => {
  const autoscaling = { maxReplicas: 5, targetStreamsPerPod: 100 }
  await apply(aGateway({ spec: { autoscaling, replicas: undefined } }))
  await until('there is an autoscaler', async () => (await cluster.read(AUTOSCALER)) !== undefined)
  const before = await replicasOf(DEPLOYMENT)
  await scale(2)
  await until('the operator has seen the edit', async () => {
    const problems = JSON.stringify((await statusOf(cluster, 'production')).problems)
    return problems.includes('has no effect while autoscaling is written')
  })
  assert.equal(await replicasOf(DEPLOYMENT), before)
})

test('the operator writes an autoscaler once, regardless of other edits, and it removes pods slowly', async () => {
  const versionOf = async () =>
    valueBelow(await cluster.read(AUTOSCALER), 'metadata', 'resourceVersion')
  const first = await versionOf()
  const autoscaling = { maxReplicas: 5, targetStreamsPerPod: 100 }
  for (let edit = 0; edit < 10; edit++) {
    const spec = { autoscaling, replicas: undefined }
    await apply(aGateway({ gw: { aliases: { [`alias-${edit}`]: 'chat' } }, spec }))
    const generation = valueBelow(await cluster.read(GATEWAY), 'metadata', 'generation')
    await until('the operator has checked the edit', async () => {
      return (await statusOf(cluster, 'production')).observedGeneration === generation
    })
  }
  assert.equal(await versionOf(), first)
  const spec = valueBelow(await cluster.read(AUTOSCALER), 'spec')
  const metrics = valueBelow(spec, 'metrics')
  assert.ok(Array.isArray(metrics))
  assert.deepEqual(
    metrics.map(({ type }) => type),
    ['Pods', 'Resource'],
  )
  assert.equal(valueBelow(spec, 'behavior', 'scaleDown', 'stabilizationWindowSeconds'), 300)
})

test('an autoscaled gateway starts with minReplicas, keeps them through an edit, and causes no warning', async () => {
  const small = (image: string) => {
    const spec = { replicas: undefined, image, autoscaling: { minReplicas: 3, maxReplicas: 5 } }
    return { ...aGateway({ spec }), metadata: { name: 'small', namespace: 'ai' } }
  }
  const deployment = DEPLOYMENT.replace('production', 'small')
  await apply(small('gw:one'))
  await until('there is a Deployment', async () => (await cluster.read(deployment)) !== undefined)
  assert.equal(await replicasOf(deployment), 3)
  await apply(small('gw:two'))
  await until('the pods have another image', async () =>
    JSON.stringify(await cluster.read(deployment)).includes('"gw:two"'),
  )
  assert.equal(await replicasOf(deployment), 3)
  await until('it has been judged', async () => {
    const { observedGeneration, problems } = await statusOf(cluster, 'small')
    if (observedGeneration !== 2) return false
    assert.doesNotMatch(JSON.stringify(problems), /has no effect while autoscaling is written/)
    return true
  })
})

const PAGES = ['charts/gw/docs/platforms.md', 'dataplane/docs/endpoints.md']

test('the API server accepts the scalers of our pages, with the types of KEDA and of the VPA', async () => {
  await cluster.installTypes('scalers')
  const manifests = PAGES.flatMap((page) => {
    const text = readFileSync(join(import.meta.dirname, '../..', page), 'utf8')
    const blocks = [...text.matchAll(/```yaml\n(.*?)```/gs)].map(([, block = '']) => block)
    return blocks.filter((block) => /^kind: (ScaledObject|VerticalPodAutoscaler)$/m.test(block))
  })
  assert.equal(manifests.length, 3)
  for (const stdin of manifests)
    await cluster.kubectl(['apply', '--dry-run=server', '--validate=strict', '-f', '-'], { stdin })
})
