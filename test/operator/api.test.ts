/** Calls to the API server: retries, credentials, and a fence before every write. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import type { ApiClient, ApiRequest } from '../../operator/kube/api.ts'
import { ApiError, errorOf, NotLeaderError } from '../../operator/kube/api-error.ts'
import { RESOURCES } from '../../operator/kube/objects.ts'
import { anObject, refuses, type ScriptedApi, startScriptedApi } from './scripted-api.ts'

let api: ScriptedApi

beforeEach(async () => {
  api = await startScriptedApi()
})

afterEach(() => api.stop())

const object = { metadata: { name: 'a', namespace: 'ns' } }

test('an operator that does not lead sends no write', async () => {
  const asked: ApiRequest[] = []
  const client = api.client({ mayWrite: () => false, onAsked: (one) => asked.push(one) })
  const writes = [
    () => client.create(RESOURCES.configMaps, object, 'm'),
    () => client.update(RESOURCES.configMaps, object, 'm'),
    () => client.apply(RESOURCES.configMaps, object, { manager: 'm' }),
    () => client.delete(RESOURCES.configMaps, object),
  ]
  for (const write of writes) await assert.rejects(write, NotLeaderError)
  assert.deepEqual(asked, [])
})

test('a write is repeated when the busy server allows it', async () => {
  let requests = 0
  api.outage = (request, response) => {
    requests++
    if (requests === 1)
      return refuses(429, 'TooManyRequests', { 'retry-after': '1' })(request, response)
    response.end(JSON.stringify(anObject('a', '7')))
    return undefined
  }
  const started = performance.now()
  const written = await api.client().apply(RESOURCES.configMaps, object, { manager: 'm' })
  assert.equal(written.metadata.resourceVersion, '7')
  assert.ok(performance.now() - started > 900)
})

test('a write that waits for a busy server is not sent once another leads', async () => {
  let requests = 0
  api.outage = (request, response) => {
    requests++
    return refuses(429, 'TooManyRequests', { 'retry-after': '0' })(request, response)
  }
  const writes = [
    (client: ApiClient) => client.create(RESOURCES.configMaps, object, 'm'),
    (client: ApiClient) => client.update(RESOURCES.configMaps, object, 'm'),
    (client: ApiClient) => client.apply(RESOURCES.configMaps, object, { manager: 'm' }),
    (client: ApiClient) => client.delete(RESOURCES.configMaps, object),
  ]
  for (const write of writes) {
    requests = 0
    const client = api.client({ mayWrite: () => requests === 0 })
    await assert.rejects(write(client), NotLeaderError)
    assert.equal(requests, 1)
  }
})

test('a busy server is tried again after at most ten seconds', () => {
  const answer = (seconds: string) => ({
    status: 429,
    headers: { 'retry-after': seconds },
    body: Buffer.alloc(0),
  })
  assert.equal(errorOf('watch', answer('3600')).retryAfterMs, 10_000)
  assert.equal(errorOf('watch', answer('2')).retryAfterMs, 2000)
  assert.equal(errorOf('watch', answer('-1')).retryAfterMs, undefined)
})

test('refused credentials are read again', async () => {
  const tokens = ['old', 'new']
  api.outage = (request, response) => {
    const isNew = request.headers.authorization === 'Bearer new'
    if (!isNew) return refuses(401, 'Unauthorized')(request, response)
    response.end(JSON.stringify(anObject('a', '7')))
    return undefined
  }
  const credentials = async () => ({ authorization: `Bearer ${tokens.shift()}`, tls: {} })
  const cluster = { server: api.origin, namespace: 'ns', credentials }
  const found = await api.client({ cluster }).get(RESOURCES.pods, { namespace: 'ns', name: 'a' })
  assert.equal(found?.metadata.name, 'a')
})

test("a refusal has the request, and the server's message", async () => {
  api.outage = refuses(403, 'Forbidden')
  const call = api.client().get(RESOURCES.deployments, { namespace: 'ns', name: 'a' })
  await assert.rejects(call, (error) => {
    assert.ok(error instanceof ApiError)
    assert.equal(error.reason, 'Forbidden')
    assert.match(error.message, /^get \/apis\/apps\/v1\/namespaces\/ns\/deployments\/a: 403/)
    return true
  })
})

test('a server that does not answer is abandoned at the deadline', async () => {
  api.outage = () => undefined
  const client = api.client({ deadlineMs: 200 })
  await assert.rejects(client.get(RESOURCES.pods, { namespace: 'ns', name: 'a' }), {
    name: 'TimeoutError',
  })
})

test('a deleted object is undefined, and deleting it again is no fault', async () => {
  api.outage = refuses(404, 'NotFound')
  const client = api.client()
  assert.equal(await client.get(RESOURCES.pods, { namespace: 'ns', name: 'a' }), undefined)
  await client.delete(RESOURCES.pods, object)
})
