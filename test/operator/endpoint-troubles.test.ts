/** Upstreams without endpoints: the missing Service or pool, or one without a ready pod. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { poolUpstreamsOf } from '../../operator/compile/pool-upstreams.ts'
import { serviceUpstreamsOf } from '../../operator/compile/service-upstreams.ts'
import {
  type EndpointSources,
  emptyOnes,
  serviceFaultOf,
} from '../../operator/endpoints/troubles.ts'
import { aPod, conditionOf, says, statusOf } from './a-status.ts'

const upstreams = [
  { name: 'chat', endpoint: 'http://lama.models.svc:8000', endpoints: 'pods' },
  { name: 'embed', endpoints: 'pool', pool: { name: 'vllm' } },
]
const services = serviceUpstreamsOf({ upstreams })
const pools = poolUpstreamsOf({ upstreams })
const [service = assert.fail('none')] = services
const named = (...names: readonly string[]) =>
  names.map((name) => ({ metadata: { name, namespace: 'models' } }))

function knowing(known: Partial<EndpointSources>): EndpointSources {
  return {
    services: () => named('llama', 'embeddings'),
    slices: () => [],
    pool: () => 'unknown',
    ofService: () => [],
    ofPool: () => undefined,
    ...known,
  }
}

test('a missing Service is named, with the nearest of its namespace', () => {
  const fault = serviceFaultOf(service, 'ai', knowing({}))
  assert.deepEqual(fault, { upstream: 'chat', key: 'models/lama', nearest: 'llama' })
})

test('a Service that exists, has endpoints, or cannot be known is no fault', () => {
  for (const known of [
    { services: () => named('lama') },
    { slices: () => named('lama-1') },
    { services: () => undefined },
    { slices: () => undefined },
  ]) {
    assert.equal(serviceFaultOf(service, 'ai', knowing(known)), undefined)
  }
})

test('an upstream without a ready pod is named with its Service or pool', () => {
  const known = knowing({ ofPool: () => [] })
  assert.deepEqual(emptyOnes(services, pools, 'ai', known), [
    { upstream: 'chat', source: 'Service models/lama' },
    { upstream: 'embed', source: 'InferencePool ai/vllm' },
  ])
  const one = [{ id: 'a', address: '10.0.0.1', port: 80 }]
  assert.deepEqual(emptyOnes(services, pools, 'ai', knowing({ ofService: () => one })), [])
})

test('an upstream that may scale to zero has no fault without a pod', () => {
  const scaled = upstreams.map((one) => ({ ...one, cold_start: { max_wait_seconds: 60 } }))
  const [first, second] = [
    serviceUpstreamsOf({ upstreams: scaled }),
    poolUpstreamsOf({ upstreams: scaled }),
  ]
  assert.deepEqual(emptyOnes(first, second, 'ai', knowing({ ofPool: () => [] })), [])
})

test('a missing Service is an unresolved reference, and the upstream has no endpoints', () => {
  const key = 'models/lama'
  const endpointsTrouble = {
    pools: [],
    services: [{ upstream: 'chat', key, nearest: 'llama' }],
    empty: [{ upstream: 'chat', source: `Service ${key}` }],
  }
  const status = statusOf({ pods: [aPod('a')], endpointsTrouble })
  assert.equal(says(status, 'ResolvedRefs'), 'False ServiceNotFound')
  assert.match(
    conditionOf(status, 'ResolvedRefs').message,
    /^Upstream chat: Service models\/lama does not exist; did you mean "llama"\?/,
  )
  assert.equal(says(status, 'Degraded'), 'True NoEndpoints')
  assert.match(conditionOf(status, 'Degraded').message, /chat \(Service models\/lama\)/)
  assert.equal(says(status, 'Ready'), 'False ServiceNotFound')
})

test('a pool without pods is Degraded, and the gateway continues to serve', () => {
  const empty = [{ upstream: 'embed', source: 'InferencePool ai/vllm' }]
  const status = statusOf({ endpointsTrouble: { pools: [], services: [], empty } })
  assert.equal(says(status, 'Degraded'), 'True NoEndpoints')
  assert.match(conditionOf(status, 'Degraded').message, /embed \(InferencePool ai\/vllm\).*503/)
  assert.equal(says(status, 'ResolvedRefs'), 'True ResolvedRefs')
  assert.equal(says(status, 'Ready'), 'True Ready')
})

test('a missing Service does not hide a missing Secret', () => {
  const services = [{ upstream: 'chat', key: 'models/lama' }]
  const unresolved = [{ upstream: 'hosted', reference: '${secret:a/b}', why: 'no file' }]
  const status = statusOf({
    pods: [aPod('a', undefined, { unresolved })],
    endpointsTrouble: { pools: [], services, empty: [] },
  })
  const { message } = conditionOf(status, 'ResolvedRefs')
  assert.match(message, /Service models\/lama does not exist.*upstream hosted: \$\{secret:a\/b\}/)
})
