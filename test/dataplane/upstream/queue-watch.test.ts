/** The request that a runtime sees when its queue is read. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { Pool } from 'undici'
import { PROVIDERS } from '../../../dataplane/providers/index.ts'
import { scrapeQueue } from '../../../dataplane/upstream/live/queue-watch.ts'

const METRICS = 'vllm:num_requests_waiting 3\nllamacpp:requests_deferred 1\n'
const requests: string[] = []
const runtime = createServer(({ url, headers }, response) => {
  requests.push(`${url} ${headers.authorization}`)
  response.end(METRICS)
}).listen(0, '127.0.0.1')
await once(runtime, 'listening')
const pool = new Pool(`http://127.0.0.1:${(runtime.address() as AddressInfo).port}`)
after(async () => {
  await pool.close()
  runtime.close()
})

async function scrape(name: string, credential: string) {
  requests.length = 0
  const depth = await scrapeQueue(pool, { provider: PROVIDERS.get(name)!, credential })
  return { depth, requests: [...requests] }
}

test('a runtime that protects its metrics gets the credential', async () => {
  const expected = { depth: 1, requests: ['/metrics Bearer secret'] }
  assert.deepEqual(await scrape('llamacpp', 'secret'), expected)
  assert.deepEqual((await scrape('llamacpp', '')).requests, ['/metrics undefined'])
})

test('any other runtime does not get the credential with its metrics request', async () => {
  const expected = { depth: 3, requests: ['/metrics undefined'] }
  assert.deepEqual(await scrape('vllm', 'secret'), expected)
})

test('a runtime without queue gauges gets no request', async () => {
  assert.deepEqual(await scrape('ollama', 'secret'), { depth: undefined, requests: [] })
})
