/** Metrics of several processes as those of one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics, createRegistry } from '../../../dataplane/telemetry/metrics.ts'
import { Expositions } from '../../../dataplane/telemetry/otlp/exposition.ts'
import { piecesOf } from '../../../dataplane/telemetry/otlp/points.ts'
import {
  mergedRead,
  readAll,
  registryOfAll,
} from '../../../dataplane/telemetry/otlp/whole-registry.ts'

function aProcess(requests: number) {
  const metrics = createMetrics()
  metrics.requests.at('chat', 'up', '200').value = requests
  metrics.inFlight.at('chat').value = requests
  metrics.storeUp.at('redis').value = requests % 2
  metrics.duration.at('chat', 'up', 'chat').observe(requests / 10)
  return createRegistry(metrics)
}

async function seriesOf(registry: ReturnType<typeof aProcess>): Promise<Map<string, number>> {
  const { text } = await new Expositions(registry).render(undefined)
  const lines = text.split('\n').filter((line) => line.startsWith('gw_'))
  return new Map(lines.map((line) => [line.replace(/ \S+$/, ''), Number(line.split(' ').at(-1))]))
}

test('counts and what runs are added, and of other gauges the worse one is shown', async () => {
  const worker = { pid: 2, body: await readAll(aProcess(3)) }
  const crew = { ask: async () => [worker] as never, list: () => [worker] }
  const series = await seriesOf(registryOfAll(aProcess(4), crew))
  assert.equal(series.get('gw_requests_total{route="chat",upstream="up",status="200"}'), 7)
  assert.equal(series.get('gw_requests_in_flight{route="chat"}'), 7)
  assert.equal(series.get('gw_store_up{backend="redis"}'), 0)
  const duration = (part: string, more = '') =>
    series.get(
      `gw_request_duration_seconds_${part}{route="chat",upstream="up",operation="chat"${more}}`,
    )
  assert.deepEqual([duration('count'), duration('sum')], [2, 0.7])
})

test('counters keep the counts of a worker that has ended, once, and gauges forget it', async () => {
  const worker = { pid: 2, body: await readAll(aProcess(3)) }
  let living = [worker]
  const crew = { ask: async () => living as never, list: () => living }
  const all = registryOfAll(aProcess(4), crew)
  const requests = async () =>
    (await seriesOf(all)).get('gw_requests_total{route="chat",upstream="up",status="200"}')
  assert.equal(await requests(), 7)
  living = []
  await new Promise((resolve) => setTimeout(resolve, 30))
  assert.equal(await requests(), 7)
  await new Promise((resolve) => setTimeout(resolve, 30))
  assert.equal(await requests(), 7)
  assert.equal((await seriesOf(all)).get('gw_requests_in_flight{route="chat"}'), 4)
})

test('a process without a value does not hide that of another, and is not sent to a collector', async () => {
  const read = (value: number) => ({
    ...{ name: 'lag', help: 'h', type: 'gauge', aggregator: 'average' },
    values: [{ labels: {}, value }],
  })
  assert.equal(mergedRead([read(Number.NaN), read(2)]).values[0]?.value, 2)
  const registry = { getMetricsAsArray: () => [{ get: async () => read(Number.NaN) }] }
  const pieces = await Array.fromAsync(piecesOf(registry as never, 0, () => 0))
  assert.deepEqual(pieces, [])
})
