/**
 * Usage events as receivers get them: signed, sent again after a lost answer, and before the
 * process ends.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startFront, startUpstream } from '../helpers/fake-upstream.ts'
import { startReceiver } from '../helpers/telemetry/usage-receiver.ts'
import { until } from '../helpers/until.ts'

const folder = await mkdtemp(join(tmpdir(), 'gw-usage-events-'))
const [upstream, receiver] = await Promise.all([startUpstream(), startReceiver()])
const front = await startFront(
  {
    upstreams: [{ name: 'one', endpoint: upstream.url, model: 'dear' }],
    routes: [{ name: 'chat', strategy: 'single', primary: 'one' }],
    pricing: [{ model: 'dear', input: 10, output: 20 }],
    usage: {
      tags: ['team'],
      sinks: {
        file: { path: join(folder, 'usage.jsonl') },
        webhook: {
          webhook_url: `${receiver.url}/hook?source=gw`,
          headers: { 'x-for': 'billing' },
          signing_key: '${env:SIGNING_KEY}',
        },
        otlp: { otlp_endpoint: `${receiver.url}/v1/logs` },
      },
    },
  },
  { env: { SIGNING_KEY: 'hush' } },
)
after(async () => {
  await front.process.stop()
  await Promise.all([upstream.close(), receiver.close()])
  await rm(folder, { recursive: true })
})

test('an attempt is sent to every sink, signed, and counted', async () => {
  const ids = new Set<string>()
  for (let request = 0; request < 4; request++) {
    const { headers } = await front.ask({}, { 'x-gw-tags': 'team=blue' }).over
    ids.add(`${headers['x-request-id']}.1`)
  }
  const arrived = () => receiver.posted.size === 4 && receiver.records.size === 4
  await until('every event has arrived', arrived)
  assert.deepEqual([new Set(receiver.posted.keys()), new Set(receiver.records.keys())], [ids, ids])
  const place = receiver.headers.findIndex(({ 'x-for': name }) => name === 'billing')
  const [headers, body] = [receiver.headers[place], receiver.bodies[place]]
  assert.ok(headers !== undefined && body !== undefined)
  assert.equal(headers['content-type'], 'application/cloudevents-batch+json')
  const signature = createHmac('sha256', 'hush').update(body).digest('hex')
  assert.equal(headers['x-gw-signature'], `sha256=${signature}`)
  const sum = (sink: string, result: string) =>
    front.value(`gw_usage_events_total{sink="${sink}",result="${result}"}`)
  await until('the file is written', async () => (await sum('file', 'delivered')) === 4)
  for (const sink of ['webhook', 'otlp'])
    await until(`${sink} has answered`, async () => (await sum(sink, 'delivered')) === 4)
  assert.equal(await front.value('gw_usage_events_waiting'), 0)
})

test('no key of the configuration is shown, and waiting events are sent before the process ends', async () => {
  const shown = JSON.stringify(await front.admin('/config'))
  assert.ok(!shown.includes('hush') && !shown.includes('source=gw'), shown)
  await front.ask({}).over
  await front.process.stop()
  assert.deepEqual([receiver.posted.size, receiver.records.size], [5, 5])
  const lines = (await readFile(join(folder, 'usage.jsonl'), 'utf8')).trimEnd().split('\n')
  assert.equal(lines.length, 5)
  const { id, type, tenant, tags, price, cost_nano_usd, input_tokens, output_tokens } = JSON.parse(
    lines[0] ?? '',
  )
  assert.ok(receiver.posted.has(id))
  assert.deepEqual([type, tenant, tags], ['inference.gw.usage.v1', 'acme', { team: 'blue' }])
  assert.equal(cost_nano_usd, 1000 * (input_tokens * price.input + output_tokens * price.output))
})
