/** InferencePools as endpoints, and the zones of pods. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { poolKeyOf, poolUpstreamsOf } from '../../operator/compile/pool-upstreams.ts'
import { zonesOf } from '../../operator/endpoints/endpoints-keeper.ts'
import {
  endpointsOfPool,
  podsOfPool,
  refusalOf,
  trimPoolPod,
} from '../../operator/endpoints/pools.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { RESOURCES } from '../../operator/kube/objects.ts'
import { trimOf } from '../../operator/kube/watch/trim.ts'

const ZONE = 'topology.kubernetes.io/zone'
const pool = {
  metadata: { name: 'vllm', namespace: 'models' },
  spec: {
    selector: { matchLabels: { app: 'vllm', 'llm-d.ai/role': 'decode' } },
    targetPorts: [{ number: 8000 }, { number: 8001 }],
  },
}

interface State {
  readonly ip?: string
  readonly ready?: string
  readonly isEnding?: boolean
  readonly zone?: string
}

function aPod(uid: string, { ip = '10.0.0.1', ready = 'True', isEnding, zone }: State = {}) {
  const metadata = {
    ...{ name: uid, namespace: 'models', uid },
    ...(isEnding && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    ...(zone && { labels: { [ZONE]: zone } }),
  }
  return trimPoolPod({
    metadata,
    status: { podIP: ip, conditions: [{ type: 'Ready', status: ready }] },
  })
}

const shown = (...pods: readonly KubeObject[]) =>
  endpointsOfPool(pool, pods).map(
    ({ id, address, port, zone = '' }) => `${id} at ${address}:${port} ${zone}`,
  )

test('each port of each ready pod is a separate endpoint', () => {
  const pods = [aPod('b', { ip: 'fd00::2' }), aPod('a', { zone: 'west' })]
  assert.deepEqual(shown(...pods), [
    'a 8000 at 10.0.0.1:8000 west',
    'a 8001 at 10.0.0.1:8001 west',
    'b 8000 at fd00::2:8000 ',
    'b 8001 at fd00::2:8001 ',
  ])
})

const idle: Readonly<Record<string, State>> = {
  'is not ready': { ready: 'False' },
  'does not say whether it is ready': { ready: 'Unknown' },
  'is about to end': { isEnding: true },
  'has no address yet': { ip: '' },
}
for (const [what, state] of Object.entries(idle)) {
  test(`a pod that ${what} is not an endpoint`, () => assert.deepEqual(shown(aPod('a', state)), []))
}

test('its pods have all of its labels, in its own namespace', () => {
  const { namespace, labelSelector } = podsOfPool(pool)
  assert.equal(`${namespace}: ${labelSelector}`, 'models: app=vllm,llm-d.ai/role=decode')
})

test('HTTP/2 without TLS is refused, with the fix', () => {
  const other = { ...pool, spec: { ...pool.spec, appProtocol: 'kubernetes.io/h2c' } }
  assert.match(refusalOf(other) ?? '', /h2c.*Write http/)
  assert.equal(refusalOf({ ...pool, spec: { ...pool.spec, appProtocol: 'http' } }), undefined)
})

test("only upstreams with endpoints: pool name a pool, by default in the gateway's namespace", () => {
  const upstreams = [
    { name: 'a', endpoints: 'pool', pool: { name: 'vllm' } },
    { name: 'b', endpoints: 'pool', pool: { name: 'vllm', namespace: 'models' } },
    { name: 'c', endpoints: 'pods', pool: { name: 'vllm' } },
    { name: 'd', endpoints: 'pool' },
  ]
  const found = poolUpstreamsOf({ upstreams })
  assert.deepEqual(
    found.map((one) => `${one.upstream} ${poolKeyOf(one, 'ai')}`),
    ['a ai/vllm', 'b models/vllm'],
  )
})

test("the zone of a gateway's pod comes from its label, or else from its Service", () => {
  const slice = trimOf(RESOURCES.endpointSlices)({
    metadata: { name: 's', namespace: 'ai' },
    endpoints: [
      { targetRef: { name: 'p1' }, zone: 'west' },
      { targetRef: { name: 'p2' }, zone: 'west' },
      { targetRef: { name: 'p3' } },
    ],
  })
  const pods = [
    { metadata: { name: 'p2', labels: { [ZONE]: 'east' } } },
    { metadata: { name: 'p3' } },
  ]
  const index = (objects: readonly KubeObject[]) => ({ get: () => objects }) as never
  assert.deepEqual(zonesOf({ podsOf: index(pods), endpointSlicesOf: index([slice]) }, 'ai/x'), {
    p1: 'west',
    p2: 'east',
  })
})
