/**
 * `least_queue` with the gauges of real model servers; one of them is slow and has work that the
 * gateway does not see.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type Front, startFront } from '../helpers/fake-upstream.ts'
import { type ModelServer, startModelServer } from '../helpers/model/model-server.ts'
import { until } from '../helpers/until.ts'

const REQUESTS = 20
const AT_ONCE = 2
/** Clients of the slow server that bypass the gateway, like those of another replica. */
const OTHERS = 5

const quick = await startModelServer({ parallel: 2 })
// Room for all of them at once: a request that waits might wait forever.
const slow = await startModelServer({ parallel: OTHERS + AT_ONCE, slowLayers: 2 })
const upstreams = Object.entries({ quick, slow }).map(([name, { url }]) => ({
  name,
  provider: 'llamacpp',
  endpoint: url,
  model: 'tiny',
  api_key: undefined,
  timeout_seconds: 500,
  queue_metrics: { interval_seconds: 3 },
  // Slow probes of a busy machine must not decide the result.
  health_check: { interval_seconds: 60 },
}))
const front = await startFront({
  gateway: { request_timeout_seconds: 600 },
  upstreams,
  routes: ['least_queue', 'round_robin'].map((strategy) => ({
    name: strategy,
    strategy,
    upstreams: ['quick', 'slow'],
  })),
})
let over = false
const others = Array.from({ length: OTHERS }, () => keepBusy(slow))
after(async () => {
  over = true
  await front.process.stop()
  await Promise.all([quick.stop(), slow.stop()])
  await Promise.all(others)
})

async function keepBusy({ url }: ModelServer): Promise<void> {
  const question = { model: 'tiny', messages: [{ role: 'user', content: 'hello' }] }
  while (!over) {
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(question),
    }).catch(() => undefined)
    // The end of the server ends the last request.
    await answer?.text().catch(() => undefined)
  }
}

/**
 * Nearest rank, in milliseconds, over all requests of a route, and how many the slow server
 * answered.
 */
async function p99Of(route: string, through: Front) {
  const milliseconds: number[] = []
  let slowly = 0
  let left = REQUESTS
  const lane = async () => {
    while (left-- > 0) {
      const began = performance.now()
      const { status, headers, text } = await through.chat({ model: route })
      assert.equal(status, 200, text)
      milliseconds.push(performance.now() - began)
      if (headers['x-gw-upstream'] === 'slow') slowly++
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
  milliseconds.sort((one, other) => one - other)
  return { p99: milliseconds[Math.ceil(REQUESTS * 0.99) - 1] ?? 0, slowly }
}

async function queueOf(upstream: string): Promise<unknown> {
  const { upstreams } = await front.admin('/status')
  return upstreams.find(({ name }: { name: string }) => name === upstream).queue
}

test('least_queue sends an upstream with a long queue a quarter of what round_robin sends', async (t) => {
  await until(
    'the queues are known',
    async () => {
      return (await queueOf('quick')) === 0 && Number(await queueOf('slow')) >= OTHERS - 1
    },
    120,
  )
  const steered = await p99Of('least_queue', front)
  const rotated = await p99Of('round_robin', front)
  t.diagnostic(`p99 ${steered.p99.toFixed(0)} ms and ${rotated.p99.toFixed(0)} ms`)
  assert.equal(rotated.slowly, REQUESTS / 2)
  assert.ok(steered.slowly < rotated.slowly / 4, `${steered.slowly} went to the slow one`)
})
