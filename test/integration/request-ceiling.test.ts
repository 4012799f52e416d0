/** The timeout of a request also limits what it asks besides a model: an upstream's other answers, guardrails, and passages. */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { startFront } from '../helpers/fake-upstream.ts'

/** Answers only the creation of objects; every other request waits. */
function answer({ method, url = '' }: IncomingMessage, outgoing: ServerResponse): void {
  if (method !== 'POST' || !/\/responses$/.test(url)) return
  const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'served' }
  const rest = { status: 'completed', store: true, error: null, output: [], usage: null }
  outgoing.writeHead(200, { 'content-type': 'application/json' })
  outgoing.end(JSON.stringify({ ...response, ...rest }))
}

const server = createServer(answer)
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

/** Without the timeout of the request, such a question takes 30 s. */
const MS_MAX = 20_000

const GUARDS = [
  { name: 'blocking' },
  { name: 'beside', parallel: true },
  { name: 'allowing', on_error: 'allow' },
] as const

const STORE = {
  name: 'store',
  provider: 'qdrant',
  endpoint,
  collection: 'c',
  tenant_field: 'tenant',
  timeout_ms: 30_000,
  embedding: { upstream: 'keeper', model: 'vectors' },
}

const front = await startFront({
  gateway: { request_timeout_seconds: 2 },
  upstreams: [
    { name: 'keeper', endpoint, native: ['responses'] },
    { name: 'claude', provider: 'anthropic', endpoint },
  ],
  routes: [
    { name: 'kept', strategy: 'single', primary: 'keeper' },
    { name: 'counted', strategy: 'single', primary: 'claude' },
    ...GUARDS.map(({ name }) => {
      return { name, strategy: 'single', primary: 'claude', guardrails: [name] }
    }),
    ...['needed', 'optional'].map((name) => {
      return { name, strategy: 'single', primary: 'claude', retrieval: [name] }
    }),
  ],
  vector_stores: [STORE],
  retrieval: [
    { name: 'needed', store: STORE.name },
    { name: 'optional', store: STORE.name, on_error: 'skip' },
  ],
  guardrails: GUARDS.map((guard) => ({ ...guard, endpoint, stage: 'input', timeout_ms: 30_000 })),
})
after(async () => {
  await front.process.stop()
  server.closeAllConnections()
  server.close()
})

async function ask(method: string, path: string, body?: object) {
  const begun = performance.now()
  const response = await fetch(front.process.url + path, {
    method,
    headers: { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: each path has another answer.
  const heard: any = await response.json()
  return { status: response.status, heard, ms: performance.now() - begun }
}

test('calls about stored objects end with 504 when the request timeout is over', async () => {
  const made = await ask('POST', '/v1/responses', { model: 'kept', input: 'hi', store: true })
  assert.equal(made.status, 200)
  for (const [method, path, body] of [
    ['GET', `/v1/responses/${made.heard.id}`],
    ['DELETE', `/v1/responses/${made.heard.id}`],
    ['POST', '/v1/conversations', { model: 'kept' }],
  ] as const) {
    const { status, heard, ms } = await ask(method, path, body)
    assert.deepEqual([status, heard.error.code], [504, 'ERR_GW_PROXY_TIMEOUT'], path)
    assert.ok(ms < MS_MAX, `${method} ${path} took ${ms} ms`)
  }
})

test('the gateway counts tokens itself if the upstream does not count in time', async () => {
  const messages = [{ role: 'user', content: 'hi' }]
  const counted = await ask('POST', '/v1/messages/count_tokens', { model: 'counted', messages })
  assert.equal(counted.status, 200)
  assert.ok(counted.heard.input_tokens > 0)
  assert.ok(counted.ms < MS_MAX, `it took ${counted.ms} ms`)
})

const UNAVAILABLE = [503, 'ERR_GW_AUXILIARY_UNAVAILABLE'] as const
const LATE = [504, 'ERR_GW_PROXY_TIMEOUT'] as const

for (const [model, what, expected] of [
  ['blocking', 'guardrail', UNAVAILABLE],
  ['beside', 'guardrail', UNAVAILABLE],
  ['allowing', 'guardrail', LATE],
  ['needed', 'retrieval', UNAVAILABLE],
  ['optional', 'retrieval', LATE],
] as const) {
  test(`a request ends when its timeout is over while its ${what} is silent: ${model}`, async () => {
    const chat = { model, messages: [{ role: 'user', content: 'hi' }] }
    const { status, heard, ms } = await ask('POST', '/v1/chat/completions', chat)
    assert.deepEqual([status, heard.error.code], expected)
    assert.ok(ms < MS_MAX, `it took ${ms} ms`)
  })
}
