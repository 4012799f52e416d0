/** The pods of a Service: from EndpointSlices of a real API server into the pods of a gateway. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Envelope } from '../../dataplane/delivery/signed.ts'
import { until } from '../helpers/until.ts'
import { untilCondition } from './operator-process.ts'
import { aGateway, type OperatorRig, startOperatorRig } from './operator-rig.ts'

let rig: OperatorRig

const upstream = {
  name: 'chat',
  provider: 'vllm',
  endpoint: 'http://chat.team-a.svc:80',
  endpoints: 'pods',
  model: 'm',
}
const routes = [{ name: 'chat', strategy: 'single', upstreams: ['chat'] }]

interface PodOfModel {
  readonly ip: string
  readonly conditions?: Readonly<Record<string, boolean>>
}

function aSlice(name: string, service: string, pods: readonly PodOfModel[]) {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, namespace: 'team-a', labels: { 'kubernetes.io/service-name': service } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8000, protocol: 'TCP' }],
    endpoints: pods.map(({ ip, conditions }) => ({
      addresses: [ip],
      conditions: conditions ?? { ready: true, serving: true, terminating: false },
      targetRef: { kind: 'Pod', name: `pod-${ip}`, namespace: 'team-a', uid: `uid-${ip}` },
    })),
  }
}

before(async () => {
  rig = await startOperatorRig()
  const mixed = [
    { ip: '10.9.0.1' },
    { ip: '10.9.0.2', conditions: {} },
    { ip: '10.9.0.3', conditions: { ready: false, serving: true, terminating: true } },
    { ip: '10.9.0.4', conditions: { ready: false } },
  ]
  await rig.apply(
    aSlice('chat-1', 'chat', mixed),
    aSlice('chat-2', 'chat', [{ ip: '10.9.0.1' }]),
    aSlice('other-1', 'other', [{ ip: '10.9.1.1' }]),
    aGateway({ gw: { upstreams: [upstream], routes } }),
  )
  await untilCondition(rig.cluster, 'production', ['Programmed', 'True'])
})

after(() => rig?.stop())

async function reported(): Promise<{ readonly sequence: number; readonly count: number }[]> {
  const asked = rig.kubelet.pods().map(async ({ pushUrl }) => {
    const answer = await fetch(`${pushUrl}/config/status`)
    return JSON.parse(await answer.text()).endpoints
  })
  return await Promise.all(asked)
}

async function allHave(count: number): Promise<boolean> {
  const all = await reported().catch(() => [])
  return all.length === 2 && all.every((one) => one.count === count)
}

async function stored(): Promise<readonly string[]> {
  const args = ['get', 'cm', 'production-endpoints', '-n', 'ai', '-o', 'json']
  const { data } = JSON.parse(await rig.cluster.kubectl(args))
  const envelope: Envelope = JSON.parse(data['endpoints.json'])
  const [first] = JSON.parse(envelope.document).upstreams
  return first.endpoints.map(({ id, address, port }: { [name: string]: unknown }) =>
    [id, address, port].join(' '),
  )
}

test('the pods of a gateway get the ready pods of the named Service, each once', async (context) => {
  const began = performance.now()
  await until('each pod has them', () => allHave(2))
  context.diagnostic(`${Math.round(performance.now() - began)} ms behind Programmed`)
  assert.deepEqual(await stored(), [
    'uid-10.9.0.1 8000 10.9.0.1 8000',
    'uid-10.9.0.2 8000 10.9.0.2 8000',
  ])
})

test('the pods follow changes, and the sequence rises', async (context) => {
  const [first] = await reported()
  const began = performance.now()
  await rig.apply(aSlice('chat-2', 'chat', [{ ip: '10.9.0.7' }]))
  await until('each pod has three', () => allHave(3))
  context.diagnostic(`${Math.round(performance.now() - began)} ms from the slice to both pods`)
  for (const ip of ['10.9.0.8', '10.9.0.9']) await rig.apply(aSlice('chat-2', 'chat', [{ ip }]))
  await rig.cluster.kubectl(['delete', 'endpointslice', 'chat-1', '-n', 'team-a'])
  await until('each pod has one', () => allHave(1))
  const [last] = await reported()
  assert.ok((last?.sequence ?? 0) > (first?.sequence ?? 0))
})

test('pods mount the stored endpoints beside the configuration', async () => {
  const args = ['get', 'deployment', 'production', '-n', 'ai', '-o', 'json']
  const { spec } = JSON.parse(await rig.cluster.kubectl(args))
  const bundle = spec.template.spec.volumes.find(({ name }: { name: string }) => name === 'bundle')
  const sources = bundle.projected.sources.map(
    ({ configMap }: { configMap: { name: string } }) => configMap.name,
  )
  assert.deepEqual(sources, ['production-config', 'production-lkg', 'production-endpoints'])
})

test('for a missing Service the condition suggests the nearest name, and the upstream has no endpoint', async () => {
  const service = { spec: { ports: [{ port: 80 }], selector: { app: 'llama' } } }
  await rig.apply({
    ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'llama', namespace: 'team-a' } },
    ...service,
  })
  const endpoint = 'http://lama.team-a.svc:80'
  await rig.apply(aGateway({ gw: { upstreams: [{ ...upstream, endpoint }], routes } }))
  const missing = ['ResolvedRefs', 'False', 'ServiceNotFound'] as const
  const { conditions } = await untilCondition(rig.cluster, 'production', missing)
  const { message } = conditions.find(({ type }) => type === 'ResolvedRefs') ?? { message: '' }
  assert.match(message, /Service team-a\/lama does not exist; did you mean "llama"\?/)
  await untilCondition(rig.cluster, 'production', ['Degraded', 'True', 'NoEndpoints'])
  await rig.apply(aSlice('lama-1', 'lama', [{ ip: '10.9.0.1' }]))
  await untilCondition(rig.cluster, 'production', ['ResolvedRefs', 'True'])
  await untilCondition(rig.cluster, 'production', ['Degraded', 'False'])
})
