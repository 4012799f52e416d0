/**
 * InferencePools of a real API server: their pods become a gateway's endpoints, and our entry appears among their
 * parents.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Envelope } from '../../dataplane/delivery/signed.ts'
import { listBelow, valueBelow } from '../../dataplane/json/values.ts'
import { ApiClient } from '../../operator/kube/api.ts'
import { isStatus } from '../../operator/kube/api-error.ts'
import { RESOURCES } from '../../operator/kube/objects.ts'
import { until } from '../helpers/until.ts'
import type { ControlPlane } from './control-plane.ts'
import { statusOf, untilCondition } from './operator-process.ts'
import { aGateway } from './operator-rig.ts'
import { type OperatorWithin, startOperatorWithin } from './operator-within.ts'
import { type ProcessKubelet, startProcessKubelet } from './process-kubelet.ts'

const POOLS = '/apis/inference.networking.k8s.io/v1/namespaces/team-a/inferencepools'
const routes = [{ name: 'chat', strategy: 'single', upstreams: ['chat'] }]
const asking = (name = 'vllm') =>
  aGateway({
    gw: {
      upstreams: [
        {
          ...{ name: 'chat', provider: 'vllm', model: 'm', endpoints: 'pool' },
          pool: { name, namespace: 'team-a' },
        },
      ],
      routes,
    },
  })

let cluster: ControlPlane
let within: OperatorWithin
let kubelet: ProcessKubelet
/** Another controller. */
let writer: ApiClient

before(async () => {
  within = await startOperatorWithin({ mayPool: true, timings: { discoveryMs: 500 } }, ['team-a'])
  cluster = within.cluster
  writer = new ApiClient({ cluster: within.access })
  kubelet = await startProcessKubelet(cluster)
  await apply(asking())
})

after(async () => {
  await writer?.close()
  await kubelet?.stop()
  await within?.stop()
})

async function apply(...documents: readonly object[]): Promise<void> {
  const stdin = documents.map((one) => JSON.stringify(one)).join('\n---\n')
  await cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], { stdin })
}

function aPool(name: string, spec: object = {}) {
  return {
    apiVersion: 'inference.networking.k8s.io/v1',
    kind: 'InferencePool',
    metadata: { name, namespace: 'team-a' },
    spec: {
      selector: { matchLabels: { app: 'vllm' } },
      targetPorts: [{ number: 8000 }, { number: 8001 }],
      ...spec,
    },
  }
}

/** A pod that no kubelet manages. */
async function aPod(name: string, ip: string, isReady = true): Promise<void> {
  const metadata = { name, namespace: 'team-a', labels: { app: 'vllm' } }
  const containers = [{ name: 'vllm', image: 'vllm' }]
  await apply({ apiVersion: 'v1', kind: 'Pod', metadata, spec: { nodeName: 'n', containers } })
  await tell(name, ip, isReady)
}

async function tell(name: string, ip: string, isReady: boolean): Promise<void> {
  const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'False' }]
  const status = { phase: 'Running', podIP: ip, podIPs: [{ ip }], conditions }
  const what = ['pod', name, '-n', 'team-a', '--subresource=status', '--type=merge']
  await cluster.kubectl(['patch', ...what, '-p', JSON.stringify({ status })])
}

async function counts(): Promise<readonly number[]> {
  const asked = kubelet.pods().map(async ({ pushUrl }) => {
    const answer = await fetch(`${pushUrl}/config/status`)
    return JSON.parse(await answer.text()).endpoints.count
  })
  return await Promise.all(asked)
}

async function untilEach(count: number): Promise<void> {
  await until(`each pod of the gateway has ${count} endpoints`, async () => {
    const all = await counts().catch(() => [])
    return all.length === 2 && all.every((one) => one === count)
  })
}

async function parentsOf(name = 'vllm'): Promise<readonly unknown[]> {
  return listBelow(await cluster.read(`${POOLS}/${name}`), 'status', 'parents')
}

const isOurs = (entry: unknown) =>
  valueBelow(entry, 'parentRef', 'kind') === 'GatewayConfig' &&
  valueBelow(entry, 'parentRef', 'name') === 'production'

const said = (entry: unknown, type: string) => {
  const found = listBelow(entry, 'conditions').find((one) => valueBelow(one, 'type') === type)
  return `${valueBelow(found, 'status')} ${valueBelow(found, 'reason')}`
}

/** Replaces the status like another controller: by version, and again after a conflict. */
async function writeParents(name: string, change: (parents: readonly unknown[]) => object) {
  const place = { namespace: 'team-a', name }
  for (;;) {
    const pool = await writer.get(RESOURCES.inferencePools, place)
    assert.ok(pool)
    const parents = change(listBelow(pool, 'status', 'parents'))
    try {
      await writer.update(RESOURCES.inferencePools, { ...pool, status: { parents } }, 'x', 'status')
      return
    } catch (error) {
      if (!isStatus(error, 409)) throw error
    }
  }
}

/** With members and times that a careless reader would change. */
const theirs = (index: number) => ({
  parentRef: { name: `front-${index}`, namespace: 'edge', group: 'g.example', kind: 'Gateway' },
  controllerName: `example.com/of-${index}`,
  conditions: [
    {
      ...{ type: 'Accepted', status: 'True', reason: 'Accepted', message: `of ${index} ` },
      lastTransitionTime: '2026-01-02T03:04:05Z',
    },
  ],
})

test('without the kind the condition names the missing installation, and the operator finds a kind that appears later', async () => {
  await untilCondition(cluster, 'production', ['ResolvedRefs', 'False', 'PoolNotServed'])
  await cluster.installTypes('inference-pools')
  const missing = ['ResolvedRefs', 'False', 'PoolNotFound'] as const
  const status = await untilCondition(cluster, 'production', missing)
  const condition = status.conditions.find(({ type }) => type === 'ResolvedRefs')
  assert.match(condition?.message ?? '', /Upstream chat: InferencePool team-a\/vllm does not exist/)
})

test('a pool of two ports and three pods, without an endpoint picker, has six endpoints', async () => {
  await apply(aPool('vllm'))
  for (const index of [1, 2, 3]) await aPod(`vllm-${index}`, `10.9.0.${index}`)
  await untilEach(6)
  const args = ['get', 'cm', 'production-endpoints', '-n', 'ai', '-o', 'json']
  await until('they are stored', async () => {
    const { data } = JSON.parse(await cluster.kubectl(args).catch(() => '{}'))
    if (data === undefined) return false
    const envelope: Envelope = JSON.parse(data['endpoints.json'])
    const { upstreams } = JSON.parse(envelope.document)
    const places = upstreams[0].endpoints.map(
      ({ address, port }: { address: string; port: number }) => `${address}:${port}`,
    )
    return places.includes('10.9.0.3:8001') && new Set(places).size === 6
  })
  await untilCondition(cluster, 'production', ['Ready', 'True'])
})

test('a pod that is not ready, terminates, or has another label is not an endpoint', async (context) => {
  const began = performance.now()
  await tell('vllm-1', '10.9.0.1', false)
  await untilEach(4)
  context.diagnostic(`${Math.round(performance.now() - began)} ms from the pod to both gateways`)
  await cluster.kubectl(['label', 'pod', 'vllm-2', '-n', 'team-a', 'app=other', '--overwrite'])
  await untilEach(2)
  await tell('vllm-1', '10.9.0.1', true)
  await untilEach(4)
  await apply(aPool('vllm', { targetPorts: [{ number: 8000 }] }))
  await untilEach(2)
})

test('our entry appears among the parents and disappears, and fifty other writers lose nothing', async () => {
  await until('it is there', async () => (await parentsOf()).some(isOurs))
  const [entry] = (await parentsOf()).filter(isOurs)
  assert.deepEqual(
    ['Accepted', 'ResolvedRefs'].map((type) => said(entry, type)),
    ['True Accepted', 'True ResolvedRefs'],
  )
  await apply(aPool('busy'))
  // 30 entries of 50 writers: the last 20 write the first 20 entries again.
  const writers = Array.from({ length: 50 }, async (_, index) => {
    const mine = theirs(index % 30)
    await writeParents('busy', (parents) => [
      ...parents.filter((one) => valueBelow(one, 'controllerName') !== mine.controllerName),
      mine,
    ])
  })
  const moved = apply(asking('busy'))
  await Promise.all([...writers, moved])
  await until('the entry is at the new pool', async () => (await parentsOf('busy')).some(isOurs))
  await until('and no longer at the old one', async () => !(await parentsOf()).some(isOurs))
  const others = (await parentsOf('busy')).filter((one) => !isOurs(one))
  const text = (entries: readonly unknown[]) => entries.map((one) => JSON.stringify(one)).sort()
  const expected = await stored(Array.from({ length: 30 }, (_, index) => theirs(index)))
  assert.deepEqual(text(others), text(expected))
  await apply(asking())
  await until('it is gone again', async () => !(await parentsOf('busy')).some(isOurs))
  assert.deepEqual(text(await parentsOf('busy')), text(expected))
  await until('it is back', async () => (await parentsOf()).some(isOurs))
})

/** As the API server returns an object without other writers. */
async function stored(parents: readonly object[]): Promise<readonly unknown[]> {
  await apply(aPool('quiet'))
  await writeParents('quiet', () => parents)
  return await parentsOf('quiet')
}

test('a pool with HTTP/2 without TLS is not accepted, and has no endpoints', async () => {
  await apply(aPool('vllm', { appProtocol: 'kubernetes.io/h2c' }))
  await until('the pool is told', async () => {
    const entry = (await parentsOf()).find(isOurs)
    return said(entry, 'Accepted') === 'False NotSupportedByParent'
  })
  await untilCondition(cluster, 'production', ['ResolvedRefs', 'False', 'PoolNotSupported'])
  await untilEach(0)
  await apply(aPool('vllm'))
  await untilEach(4)
})

test('a deleted pool leaves an upstream without endpoints, and a condition names it', async () => {
  await cluster.kubectl(['delete', 'inferencepool', 'vllm', '-n', 'team-a'])
  await untilEach(0)
  await untilCondition(cluster, 'production', ['ResolvedRefs', 'False', 'PoolNotFound'])
  assert.match(JSON.stringify((await statusOf(cluster, 'production')).conditions), /team-a\/vllm/)
})

test('a condition reports too many endpoints, with their number', async () => {
  const slice = (index: number, count: number) => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `many-${index}`,
      namespace: 'team-a',
      labels: { 'kubernetes.io/service-name': 'many' },
    },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8000, protocol: 'TCP' }],
    endpoints: Array.from({ length: count }, (_, at) => ({ addresses: [`10.8.${index}.${at}`] })),
  })
  const many = { name: 'chat', provider: 'vllm', model: 'm', endpoints: 'pods' }
  await apply(
    ...[slice(0, 100), slice(1, 100), slice(2, 57)],
    aGateway({ gw: { upstreams: [{ ...many, endpoint: 'http://many.team-a:80' }], routes } }),
  )
  const status = await untilCondition(cluster, 'production', [
    'Degraded',
    'True',
    'EndpointsRefused',
  ])
  const condition = status.conditions.find(({ type }) => type === 'Degraded')
  assert.match(condition?.message ?? '', /"chat" has 257 endpoints; 256 are the most/)
  await apply(slice(2, 56))
  await untilEach(256)
  await untilCondition(cluster, 'production', ['Degraded', 'False', 'AsConfigured'])
})
