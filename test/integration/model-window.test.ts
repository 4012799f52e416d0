/**
 * A context window that is not configured: the gateway asks the runtime, and knows the windows of
 * hosted models.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { startSimulator } from '../../cli/simulator/simulator.ts'
import { windowIn } from '../../dataplane/wire/window-questions.ts'
import { errorOf, startFront, startUpstream } from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'

const CREDENTIAL = 'upstream-credential'
const runtime = await startSimulator({ apiKey: CREDENTIAL })
/** Answers GET and POST by path, like runtimes that report their window natively. */
const native = createServer((incoming, outgoing) => {
  const answers: Record<string, unknown> = {
    '/v1/models': { data: [{ id: 'm.gguf', meta: { n_ctx: 3000, n_ctx_train: 100_000 } }] },
    '/ollama/api/ps': { models: [] },
    '/ollama/api/show': { parameters: 'num_ctx 2000' },
  }
  incoming.resume()
  outgoing.end(JSON.stringify(answers[incoming.url ?? ''] ?? {}))
}).listen(0, '127.0.0.1')
await once(native, 'listening')
const nativeUrl = `http://127.0.0.1:${(native.address() as AddressInfo).port}`
const [silent, hosted] = await Promise.all([startUpstream(), startUpstream()])
const front = await startFront({
  upstreams: [
    { name: 'runtime', provider: 'vllm', endpoint: runtime.url },
    { name: 'written', provider: 'vllm', endpoint: runtime.url, context_window: 1000 },
    { name: 'silent', provider: 'vllm', endpoint: silent.url },
    { name: 'hosted', endpoint: hosted.url, model: 'gpt-4o-mini-2024-07-18' },
    { name: 'llamacpp', provider: 'llamacpp', endpoint: nativeUrl },
    { name: 'ollama', provider: 'ollama', endpoint: `${nativeUrl}/ollama` },
  ],
  routes: ['runtime', 'written', 'silent', 'hosted', 'llamacpp', 'ollama'].map((name) => ({
    name,
    strategy: 'single',
    primary: name,
  })),
})
after(async () => {
  await front.process.stop()
  native.close()
  native.closeAllConnections()
  await Promise.all([runtime.stop(), silent.close(), hosted.close()])
})

test("requests are checked against the window in the runtime's list of models", async () => {
  const ask = () => front.chat({ model: 'runtime', max_tokens: 200_000 })
  await until('the runtime has reported it', async () => (await ask()).status === 400)
  const heard = await ask()
  const { code, context_window } = errorOf(heard)
  assert.deepEqual([code, context_window], ['ERR_GW_CONTEXT_OVERFLOW', 131_072])
  assert.equal((await front.chat({ model: 'runtime', max_tokens: 5 })).status, 200)
})

for (const [model, tokens] of [
  ['llamacpp', 3000],
  ['ollama', 2000],
] as const) {
  test(`requests are checked against the window that ${model} serves`, async () => {
    const ask = () => front.chat({ model, max_tokens: 50_000 })
    await until('the runtime has reported it', async () => (await ask()).status === 400)
    const { code, context_window } = errorOf(await ask())
    assert.deepEqual([code, context_window], ['ERR_GW_CONTEXT_OVERFLOW', tokens])
  })
}

test("a configured window counts, regardless of the runtime's report", async () => {
  const heard = await front.chat({ model: 'written', max_tokens: 2000 })
  assert.equal(heard.status, 400)
  assert.equal(errorOf(heard).context_window, 1000)
})

test('a runtime whose list contains no window is not checked', async () => {
  await until('the gateway has asked it', () => silent.probes > 1)
  assert.equal((await front.chat({ model: 'silent', max_tokens: 10_000_000 })).status, 200)
})

test('requests are checked against the published window of a hosted model', async () => {
  const heard = await front.chat({ model: 'hosted', max_tokens: 128_001 })
  assert.equal(heard.status, 400)
  assert.equal(errorOf(heard).context_window, 128_000)
  assert.equal(hosted.asked.length, 0)
})

test('in a list, the entry of the model counts, or the only entry, and only whole numbers', () => {
  const list = (...data: unknown[]) => ({ object: 'list', data })
  const a = { id: 'a', max_model_len: 100 }
  const rows: readonly [unknown, number | undefined][] = [
    [list(a, { id: 'm', max_model_len: 200 }), 200],
    [list(a), 100],
    [list(a, { id: 'b', max_model_len: 200 }), undefined],
    [list({ id: 'm', context_length: 300 }), 300],
    [list({ id: 'm', max_model_len: '100' }), undefined],
    [list({ id: 'm', max_model_len: -1 }), undefined],
    [list({ id: 'm' }), undefined],
    [list(null), undefined],
    [list(), undefined],
    [{ data: 'text' }, undefined],
    [null, undefined],
  ]
  for (const [answers, expected] of rows) {
    assert.equal(windowIn(answers, 'm'), expected, JSON.stringify(answers))
  }
})
