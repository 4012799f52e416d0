/** A real Triton behind the gateway: its health, its queue gauge, and the refusal of a server without an OpenAI frontend. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { errorOf, startFront } from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'
import { startTriton } from './triton.ts'

const server = await startTriton()
const watched = { queue_metrics: { enabled: true, interval_seconds: 1 } }
const front = await startFront({
  upstreams: [
    {
      name: 'served',
      provider: 'triton',
      endpoint: server.url,
      model: 'tiny',
      health_check: { interval_seconds: 1 },
    },
    // Its metrics have a separate port.
    {
      name: 'gauges',
      provider: 'triton',
      endpoint: server.metricsUrl,
      model: 'tiny',
      health_check: { path: '/metrics' },
      ...watched,
    },
  ],
  routes: [
    { name: 'chat', strategy: 'single', primary: 'served' },
    { name: 'least', strategy: 'least_queue', upstreams: ['gauges', 'served'] },
  ],
})
after(async () => {
  await front.process.stop()
  await server.stop()
})

async function upstream(name: string) {
  const { upstreams } = await front.admin('/status')
  return upstreams.find((one: { name: string }) => one.name === name)
}

test('its health is probed where Triton has it', async () => {
  await until('it is healthy', async () => (await upstream('served')).health === 'healthy')
})

test('its queue gauge is read', async () => {
  await until(
    'a queue is reported',
    async () => typeof (await upstream('gauges')).queue === 'number',
  )
  assert.equal((await upstream('gauges')).queue, 0)
})

test('without the frontend the client gets an error with four members', async () => {
  const heard = await front.chat()
  const { message, ...rest } = errorOf(heard)
  assert.ok(heard.status >= 400, heard.text)
  assert.notEqual(message, '')
  assert.deepEqual(Object.keys(rest).sort(), ['code', 'param', 'type'])
})
