/** A real collector stores one trace from a reconcile to the push to each pod. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { after, test } from 'node:test'
import { signConfiguration } from '../../operator/delivery/bundle.ts'
import { Pusher } from '../../operator/delivery/pusher.ts'
import type { ApiResponse, Request } from '../../operator/kube/transport.ts'
import { createTelemetry } from '../../operator/telemetry.ts'
import { startTracing } from '../../operator/tracing/collector.ts'
import { startCollector } from '../helpers/telemetry/collector.ts'
import { until } from '../helpers/until.ts'

const collector = await startCollector()
after(() => collector.stop())

const { privateKey } = generateKeyPairSync('ed25519')
const payload = {
  apiVersion: 'inference.gw/v1',
  kind: 'GatewayConfig',
  metadata: { name: 'production', namespace: 'ai' },
  gw: {},
}
const configuration = signConfiguration(
  payload,
  { gateway: { uid: 'u', namespace: 'ai', name: 'production' }, sequence: 1, generation: 1 },
  { privateKey, keyId: 'test', trusted: {} },
)
const NOTHING_YET = {
  configuration: { hash: null, documentHash: null, sequence: 0, newestSequence: 0 },
  keys: { hash: null, sequence: 0 },
}

/** Two pods: one accepts the configuration, the other refuses it. */
async function call({ method, origin }: Request): Promise<ApiResponse> {
  const answer = (status: number, body: object) => ({
    ...{ status, headers: {} },
    body: Buffer.from(JSON.stringify(body)),
  })
  if (method === 'GET') return answer(200, NOTHING_YET)
  if (origin.includes('10.0.0.1')) return answer(200, { hash: configuration.hash, generation: 1 })
  return answer(422, { problems: [{ pointer: '/gw', message: 'is wrong', fix: 'Fix it.' }] })
}

test('the spans of pushes to all pods are children of their reconcile, and record their results', async () => {
  const lines: string[] = []
  const telemetry = createTelemetry()
  const tracing = startTracing({
    ...{ endpoint: collector.url, headers: {}, namespace: 'gw-system', identity: 'operator-1' },
    ...{ version: '1.2.3', telemetry },
    log: { event: (_level, _event, message) => void lines.push(message) },
  })
  const { tracer } = tracing
  const pusher = new Pusher({
    ...{ transport: { call }, random: () => 0.5, onChange() {} },
    onPush: ({ part: document, trace: context, ...push }) =>
      tracer.push({ ...push, document, context }),
  })
  await tracer.reconcile('ai/production', async (trace) => {
    const targets = ['10.0.0.1', '10.0.0.2'].map((address) => ({
      ...{ uid: address, name: `pod-${address}`, origin: `http://${address}:9092`, ready: true },
    }))
    pusher.program('ai/production', targets, { configuration, keys: undefined, trace })
  })
  const states = () => pusher.statesOf('ai/production').map((pod) => pod.configuration.state)
  await until('both have answered', () => !states().includes('pending'))
  pusher.close()
  await tracing.stop()
  await until('all is stored', async () => (await collector.spans()).length === 3)
  const spans = await collector.spans()
  const root = spans.find(({ name }) => name === 'reconcile gateway')
  assert.deepEqual(
    [root?.parentSpanId ?? '', root?.resource['service.name'], root?.attributes['gw.gateway']],
    ['', 'gw-operator', 'production'],
  )
  const pushes = spans.filter(({ name }) => name === 'push configuration')
  assert.ok(
    pushes.every(
      ({ traceId, parentSpanId, kind }) =>
        traceId === root?.traceId && parentSpanId === root?.spanId && kind === 3,
    ),
  )
  assert.deepEqual(
    pushes
      .map(({ attributes, status }) => [
        attributes['k8s.pod.name'],
        attributes['gw.result'],
        status.code ?? 0,
      ])
      .sort(),
    [
      ['pod-10.0.0.1', 'acknowledged', 0],
      ['pod-10.0.0.2', 'rejected', 2],
    ],
  )
  assert.deepEqual(lines, [])
  const [counted] = (await telemetry.spans.get()).values
  assert.deepEqual([counted?.labels, counted?.value], [{ result: 'delivered' }, 3])
})
