/** `top_k` of a message reaches every upstream whose API has it, and is named if the API lacks it. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { startFront, startUpstream } from '../helpers/fake-upstream.ts'

type Json = Readonly<Record<string, unknown>>

const upstream = await startUpstream()
const PROVIDERS = ['vllm', 'sglang', 'llamacpp', 'ollama', 'gemini', 'cohere', 'openai', 'mistral']
const front = await startFront({
  // Only the requests matter here, and the fake answers each in the same form.
  upstreams: PROVIDERS.map((provider) => ({
    name: provider,
    provider,
    endpoint: upstream.url,
    health_check: { path: '/' },
  })),
  routes: PROVIDERS.map((name) => ({ name, strategy: 'single', primary: name })),
})
after(() => Promise.all([front.process.stop(), upstream.close()]))

beforeEach(() => {
  upstream.asked.length = 0
})

async function ask(model: string, top_k: unknown) {
  const message = { model, max_tokens: 5, messages: [{ role: 'user', content: 'hi' }], top_k }
  const answer = await fetch(`${front.process.url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(message),
  })
  await answer.text()
  const dropped = answer.headers.get('x-gw-dropped-parameters')
  // Ollama is also asked for its model.
  const sent = upstream.asked.findLast(({ path }) => path !== '/api/show')
  return { body: sent?.body ?? {}, dropped }
}

const PLACES: Readonly<Record<string, (body: Json) => unknown>> = {
  vllm: ({ top_k }) => top_k,
  sglang: ({ top_k }) => top_k,
  llamacpp: ({ top_k }) => top_k,
  ollama: ({ options }) => (options as Json).top_k,
  gemini: ({ generationConfig }) => (generationConfig as Json).topK,
  cohere: ({ k }) => k,
}

for (const [provider, placeOf] of Object.entries(PLACES)) {
  test(`${provider} gets it under its own name`, async () => {
    const { body, dropped } = await ask(provider, 40)
    assert.equal(placeOf(body), 40)
    assert.equal(dropped, null)
  })
}

for (const provider of ['openai', 'mistral']) {
  test(`${provider} has none, so the answer names it`, async () => {
    const { body, dropped } = await ask(provider, 40)
    assert.doesNotMatch(JSON.stringify(body), /40/)
    assert.equal(dropped, 'top_k')
  })
}
