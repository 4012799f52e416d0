/** EndpointSlices as endpoints. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serviceAt, serviceUpstreamsOf } from '../../operator/compile/service-upstreams.ts'
import { endpointsIn, trimSlice } from '../../operator/endpoints/slices.ts'

type Fields = Readonly<Record<string, unknown>>

function aSlice(endpoints: readonly Fields[], ports: readonly Fields[] = [{ port: 8000 }]) {
  return trimSlice({ metadata: { name: 'chat-1', namespace: 'models' }, ports, endpoints } as never)
}

const pod = (ip: string, uid: string, conditions: Fields = {}) => ({
  addresses: [ip, '10.0.0.99'],
  conditions,
  targetRef: { kind: 'Pod', uid },
})

const shown = (...slices: readonly ReturnType<typeof aSlice>[]) =>
  endpointsIn(slices, 80).map(({ id, address, port }) => `${id} at ${address}:${port}`)

test('a pod is identified by its first address and its uid, and is used while it is ready or does not report readiness', () => {
  const slice = aSlice([
    pod('10.0.0.1', 'a', { ready: true }),
    pod('10.0.0.2', 'b'),
    pod('10.0.0.3', 'c', { ready: false }),
    pod('10.0.0.4', 'd', { ready: false, serving: true, terminating: true }),
  ])
  assert.deepEqual(shown(slice), ['a 8000 at 10.0.0.1:8000', 'b 8000 at 10.0.0.2:8000'])
})

test('a pod in two slices, or with addresses of two families, is one endpoint', () => {
  const four = aSlice([pod('10.0.0.1', 'a')])
  const six = aSlice([pod('fd00::1', 'a')])
  assert.deepEqual(shown(six, four, four), ['a 8000 at 10.0.0.1:8000'])
})

test('an endpoint without a pod is identified by its address, and a name is not an address', () => {
  const slice = aSlice([{ addresses: ['10.0.0.1'] }, { addresses: ['model.example.com'] }, {}])
  assert.deepEqual(shown(slice), ['10.0.0.1 8000 at 10.0.0.1:8000'])
})

test('with several ports, the one of the URL is used, then http, then the first', () => {
  const ports = [
    { name: 'metrics', port: 9090 },
    { name: 'http', port: 8000 },
  ]
  const slice = aSlice([pod('10.0.0.1', 'a')], ports)
  const portOf = (port: number) => endpointsIn([slice], port)[0]?.port
  assert.deepEqual([portOf(9090), portOf(80)], [9090, 8000])
  assert.equal(endpointsIn([aSlice([pod('10.0.0.1', 'a')], [{ name: 'x' }])], 80).length, 0)
})

test('a slice without its members has no endpoints', () => {
  assert.deepEqual(endpointsIn([{ metadata: { name: 'x' } }], 80), [])
})

const hosts = [
  ['chat', 'ai/chat'],
  ['chat.models', 'models/chat'],
  ['chat.models.svc', 'models/chat'],
  ['chat.models.svc.cluster.local', 'models/chat'],
  ['chat.example.com', undefined],
  ['10.0.0.1', undefined],
] as const

for (const [host, expected] of hosts) {
  test(`the Service of ${host} is ${expected ?? 'not known'}`, () => {
    const place = serviceAt(host, 'ai')
    assert.equal(place && `${place.namespace}/${place.name}`, expected)
  })
}

test('only upstreams with endpoints: pods name a Service', () => {
  const upstreams = [
    { name: 'a', endpoint: 'http://chat.models.svc:8000', endpoints: 'pods' },
    { name: 'b', endpoint: 'https://chat', endpoints: 'pods' },
    { name: 'c', endpoint: 'http://chat:8000', endpoints: 'dns' },
    { name: 'd', endpoint: '${env:PLACE}', endpoints: 'pods' },
  ]
  assert.deepEqual(serviceUpstreamsOf({ upstreams }), [
    { upstream: 'a', host: 'chat.models.svc', port: 8000 },
    { upstream: 'b', host: 'chat', port: 443 },
  ])
})
