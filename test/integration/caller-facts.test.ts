/**
 * Facts about a caller that an upstream gets if configured: headers for llm-d, a salt for vLLM's
 * prefix cache.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { aKey } from '../helpers/a-key.ts'
import { Front, failing, startFront, startUpstream, whole } from '../helpers/fake-upstream.ts'

const [vllm, busy, spare] = await Promise.all([
  startUpstream(whole('vllm')),
  startUpstream(failing(429, {}, { 'x-llm-d-request-dropped-reason': 'saturated' })),
  startUpstream(whole('spare')),
])
const keys = ['red', 'blue'].map((tenant) => ({ tenant, ...aKey({ id: `of-${tenant}`, tenant }) }))
const named = { 'X-LLM-D-Inference-Fairness-Id': 'tenant', 'x-key': 'key', 'x-route': 'route' }
const front = await startFront({
  api_keys: keys.map(({ record }) => record),
  upstreams: [
    {
      ...{ name: 'vllm', provider: 'vllm', endpoint: vllm.url },
      ...{ cache_salt: 'tenant', caller_headers: named },
    },
    { name: 'busy', endpoint: busy.url },
    { name: 'spare', endpoint: spare.url },
  ],
  routes: [
    { name: 'chat', strategy: 'single', primary: 'vllm' },
    { name: 'drops', strategy: 'primary_with_fallback', primary: 'busy', fallback: ['spare'] },
  ],
})
after(() => Promise.all([front.process.stop(), ...[vllm, busy, spare].map((one) => one.close())]))

const as = Object.fromEntries(
  keys.map(({ tenant, key }) => [tenant, new Front(front.process, key)]),
) as Record<'red' | 'blue', Front>

async function saltOf(tenant: 'red' | 'blue', fields: object = {}): Promise<unknown> {
  const { status, text } = await as[tenant].chat({ model: 'chat', ...fields })
  assert.equal(status, 200, text)
  return vllm.asked.at(-1)?.body.cache_salt
}

test("a client's own scheduler headers never reach the upstream; the gateway's headers name tenant, key and route", async () => {
  const forged = {
    'x-gateway-destination-endpoint': '10.0.0.9:8000',
    'x-llm-d-inference-fairness-id': 'blue',
    'x-llm-d-inference-objective': 'first',
    'x-key': 'other',
  }
  await as.red.ask({ model: 'chat' }, forged).over
  const { headers } = vllm.asked.at(-1) ?? assert.fail('nothing was asked')
  assert.partialDeepStrictEqual(headers, {
    'x-llm-d-inference-fairness-id': 'red',
    'x-key': 'of-red',
    'x-route': 'chat',
  })
  for (const name of ['x-gateway-destination-endpoint', 'x-llm-d-inference-objective'])
    assert.equal(headers[name], undefined, name)
})

test('no two tenants share a salt, for any input', async () => {
  const red = await saltOf('red')
  assert.match(String(red), /^[\w-]{43}$/)
  assert.equal(await saltOf('red', { stream: false }), red)
  assert.notEqual(await saltOf('blue'), red)
  assert.notEqual(await saltOf('blue', { cache_salt: red }), red)
  const own = await saltOf('red', { cache_salt: 'mine' })
  assert.notEqual(own, red)
  assert.notEqual(await saltOf('blue', { cache_salt: 'mine' }), own)
})

test('a request that llm-d drops moves to another upstream, and the trace shows why', async () => {
  const heard = await as.red.chat({ model: 'drops' })
  assert.equal(JSON.parse(heard.text).choices[0].message.content, 'spare')
  const { attempts } = await as.red.trace(heard)
  assert.equal(attempts[0].outcome, 'rate_limited')
  assert.match(attempts[0].reason, /\(dropped: saturated\)$/)
})
