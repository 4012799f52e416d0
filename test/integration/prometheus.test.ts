/** A real Prometheus scrapes a gateway in both formats, and stores the same series from both. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { failing, startFront, startUpstream, streaming, textOf } from '../helpers/fake-upstream.ts'
import {
  type RunningPrometheus,
  type Series,
  startPrometheus,
} from '../helpers/telemetry/prometheus.ts'
import { until } from '../helpers/until.ts'

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const TRACEPARENT = `00-${TRACE_ID}-00f067aa0ba902b7-01`

/** Listens on a free port. */
async function listening(server: ReturnType<typeof createServer>): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

const collector = createServer((incoming, outgoing) => {
  incoming.resume()
  incoming.on('end', () => outgoing.end())
})
const [upstream, otlp_endpoint] = await Promise.all([
  startUpstream(),
  listening(collector).then((address) => `http://${address}`),
])
const front = await startFront({
  upstreams: [{ name: 'one', endpoint: upstream.url, model: 'one' }],
  routes: [{ name: 'chat', strategy: 'single', primary: 'one' }],
  pricing: [{ model: 'one', input: 1, output: 2 }],
  budgets: [{ tenant: 'acme', tokens_per_day: 1_000_000, spend_per_month_usd: 100 }],
  telemetry: { otlp_endpoint, sample_ratio: 0 },
})
const metrics = `${front.process.metricsUrl}/metrics`

async function scraped(accept: string): Promise<{ type: string; text: string }> {
  const answer = await fetch(metrics, { headers: { accept } })
  return { type: answer.headers.get('content-type') ?? '', text: await answer.text() }
}

/** Each format that Prometheus requested, and the type of the answer. */
const asked: { accept: string; type: string }[] = []
const open = createServer(async ({ headers: { accept = '' } }, outgoing) => {
  const { type, text } = await scraped(accept)
  asked.push({ accept, type })
  outgoing.setHeader('content-type', type).end(text)
})
/** A scraper that supports only the older format. */
const plain = createServer(async (_, outgoing) => {
  const { type, text } = await scraped('text/plain;version=0.0.4')
  outgoing.setHeader('content-type', type).end(text)
})
let prometheus: RunningPrometheus

before(async () => {
  for (const reply of [streaming(), failing(500), streaming()]) {
    upstream.script.push(reply)
    await front.ask({ stream: true }, { traceparent: TRACEPARENT }).over
  }
  const targets = { direct: new URL(metrics).host, open: await listening(open) }
  prometheus = await startPrometheus({ ...targets, plain: await listening(plain) })
  await until('each is scraped', async () => (await stored('up', '== 1')).length === 3)
})

after(async () => {
  // It would continue to ask the others.
  await prometheus?.stop()
  await Promise.all([front.process.stop(), upstream.close()])
  for (const server of [collector, open, plain]) {
    server.close()
    server.closeAllConnections()
  }
})

async function stored(
  metric: string,
  condition = '',
): Promise<{ metric: Series; value: string }[]> {
  const { result } = await prometheus.ask('query', { query: `${metric} ${condition}` })
  return result.map(({ metric, value }: { metric: Series; value: [number, string] }) => ({
    metric,
    value: value[1],
  }))
}

/** The stored series of a job, by name and labels, without those of the runtime, which change. */
async function seriesOf(job: string): Promise<string[]> {
  const all: Series[] = await prometheus.ask('series', {
    'match[]': `{job="${job}",__name__=~"(gw|process)_.*"}`,
  })
  const named = all.map(({ job: _, instance: __, ...rest }) => Object.entries(rest).sort())
  return named.map((labels) => JSON.stringify(labels)).sort()
}

test('it requests OpenMetrics and gets it, without an error in any target', async () => {
  assert.match(asked[0]?.accept ?? '', /^application\/openmetrics-text/)
  assert.equal(asked[0]?.type, 'application/openmetrics-text; version=1.0.0; charset=utf-8')
  const { activeTargets } = await prometheus.ask('targets')
  for (const { health, lastError, labels } of activeTargets)
    assert.deepEqual([health, lastError], ['up', ''], labels.job)
})

test('both formats are stored as the same series', async () => {
  // A series may be new between two scrapes.
  await until('each scraper has scraped the same', async () => {
    const [first, ...others] = await Promise.all(['direct', 'open', 'plain'].map(seriesOf))
    assert.ok((first?.length ?? 0) > 50, String(first?.length))
    return others.every((one) => String(one) === String(first))
  })
  const counted = await stored('gw_requests_total{route="chat",upstream="one",status="200"}')
  assert.deepEqual(
    counted.map(({ value }) => value),
    ['2', '2', '2'],
  )
  const { gw_requests_total: known } = await prometheus.ask('metadata', {
    metric: 'gw_requests_total',
  })
  assert.equal(known?.[0]?.type, 'counter')
})

test('the exemplars of both histograms lead to the exported trace', async () => {
  for (const name of ['gw_request_duration_seconds', 'gw_time_to_first_token_seconds']) {
    const found = await prometheus.ask('query_exemplars', {
      query: `${name}_bucket{job="direct"}`,
      start: '0',
      end: String(Date.now() / 1000 + 60),
    })
    const ids = found.flatMap(({ exemplars }: { exemplars: { labels: Series }[] }) =>
      exemplars.map(({ labels }) => labels.trace_id),
    )
    assert.ok(ids.length > 0, name)
    assert.deepEqual([...new Set(ids)], [TRACE_ID], name)
  }
})

test('promtool finds no fault in the text', async () => {
  const input = await textOf(metrics)
  const ran = spawnSync('promtool', ['check', 'metrics'], { input, encoding: 'utf8' })
  const own = ran.stderr.split('\n').filter((line) => line.startsWith('gw_'))
  assert.deepEqual([ran.error, own], [undefined, []])
})
