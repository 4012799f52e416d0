/**
 * How runtimes report that they are not ready, and that they have no queue metrics: no request
 * waits for either.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { startFront, startUpstream, whole } from '../../helpers/fake-upstream.ts'
import { until } from '../../helpers/until.ts'

/** The status of the health path and of the metrics. */
const RUNTIMES: Readonly<Record<string, readonly [number, number]>> = {
  triton: [400, 400],
  llamacpp: [503, 503],
  tgi: [503, 404],
  vllm: [200, 500],
  sglang: [200, 404],
}
const isReady = (name: string) => RUNTIMES[name]?.[0] === 200
const asked = new Set<string>()

async function startRuntime(name: string, [health, metrics]: readonly [number, number]) {
  const server = createServer(({ url = '', method }, outgoing) => {
    asked.add(`${name} ${url}`)
    const isMetrics = url === '/metrics'
    const status = method === 'POST' || /health/.test(url) ? health : isMetrics ? metrics : 404
    outgoing.writeHead(status).end('{"error":"not now"}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  return {
    name,
    provider: name,
    endpoint: `http://127.0.0.1:${port}`,
    queue_metrics: { interval_seconds: 1 },
    health_check: { interval_seconds: 2, timeout_seconds: 1, unhealthy_threshold: 1 },
  }
}

const spare = await startUpstream(whole('from the spare'))
const names = Object.keys(RUNTIMES)
const runtimes = await Promise.all(
  Object.entries(RUNTIMES).map(([name, row]) => startRuntime(name, row)),
)
const front = await startFront({
  upstreams: [...runtimes, { name: 'spare', endpoint: spare.url }],
  routes: [
    ...names.map((primary) => ({
      name: primary,
      strategy: 'primary_with_fallback',
      primary,
      fallback: ['spare'],
    })),
    { name: 'least', strategy: 'least_queue', upstreams: [...names, 'spare'] },
  ],
})
after(() => Promise.all([front.process.stop(), spare.close()]))

async function statusOf(name: string) {
  const { upstreams } = await front.admin('/status')
  return upstreams.find((one: { readonly name: string }) => one.name === name)
}

for (const name of names) {
  test(`${name}: ${isReady(name) ? 'a runtime is ready' : 'the spare replaces a runtime that is not ready'}, and its queue length is unknown`, async () => {
    const health = isReady(name) ? 'healthy' : 'unhealthy'
    await until('it has been probed', async () => (await statusOf(name)).health === health)
    await until('the gateway has asked for its queue', () => asked.has(`${name} /metrics`))
    assert.equal((await statusOf(name)).queue, 'own requests in flight')
    if (isReady(name)) return
    const heard = await front.chat({ model: name })
    assert.deepEqual([heard.status, heard.headers['x-gw-upstream']], [200, 'spare'])
    assert.equal(asked.has(`${name} /v1/chat/completions`), false)
  })
}
