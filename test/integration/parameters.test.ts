/** Parameters that an upstream sets: over every API for clients, in the wire of the upstream, and in what is reserved. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { aKey } from '../helpers/a-key.ts'
import {
  type Asked,
  json,
  startFront,
  startUpstream,
  streaming,
  whole,
} from '../helpers/fake-upstream.ts'

const upstream = await startUpstream()
// The forced members include one that no vendor has.
upstream.vendor = { takesAll: 'the body of the vendor is of a server that is not known' }
const poor = aKey({ id: 'poor', tenant: 'poor' })
const all = aKey({ id: 'all' })
const runtime = {
  endpoint: upstream.url,
  provider: 'vllm',
  native: undefined,
  health_check: undefined,
}
const front = await startFront({
  upstreams: [
    {
      ...runtime,
      name: 'defaults',
      parameters: { default: { temperature: 0.2, top_k: 40, max_tokens: 77, stop: ['END'] } },
    },
    {
      ...runtime,
      name: 'forced',
      parameters: {
        force: {
          temperature: 0.5,
          max_tokens: 50,
          reasoning_effort: 'low',
          extra_body: { provider: { order: ['x'] } },
        },
      },
    },
    {
      name: 'claude',
      provider: 'anthropic',
      model: 'claude-sonnet-4-5',
      endpoint: upstream.url,
      native: undefined,
      parameters: { default: { stop: ['END'], top_k: 3 }, force: { max_tokens: 60 } },
    },
    {
      name: 'gemini',
      provider: 'gemini',
      model: 'gemini-2.5-flash',
      endpoint: upstream.url,
      native: undefined,
      parameters: { default: { temperature: 0.3, top_k: 5 }, force: { max_tokens: 70 } },
    },
    {
      name: 'answers',
      endpoint: upstream.url,
      native: ['responses'],
      model: 'gpt-5.1',
      parameters: {
        default: { verbosity: 'low' },
        force: { reasoning_effort: 'high', max_tokens: 80 },
      },
    },
    {
      ...runtime,
      name: 'dear',
      parameters: { force: { max_tokens: 5_000 } },
    },
  ],
  routes: ['defaults', 'forced', 'claude', 'gemini', 'answers', 'dear'].map((name) => ({
    name,
    strategy: 'single',
    primary: name,
  })),
  budgets: [{ tenant: 'poor', tokens_per_day: 1_000_000 }],
  api_keys: [all.record, poor.record],
})
after(() => Promise.all([front.process.stop(), upstream.close()]))
beforeEach(() => {
  upstream.asked.length = 0
  upstream.reply = whole()
})

const PATHS = {
  chat: '/v1/chat/completions',
  completions: '/v1/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
}
type Api = keyof typeof PATHS

async function ask(api: Api, model: string, fields: object = {}, key = all.key) {
  const said = [{ role: 'user', content: 'hi' }]
  const question = {
    chat: { messages: said },
    completions: { prompt: 'hi' },
    responses: { input: 'hi' },
    messages: { messages: said, max_tokens: 9 },
  }[api]
  const answer = await fetch(front.process.url + PATHS[api], {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, ...question, ...fields }),
  })
  const text = await answer.text()
  const id = answer.headers.get('x-request-id')
  return { status: answer.status, text, trace: () => front.admin(`/traces/${id}`) }
}

function body(): Asked['body'] {
  const { body } = upstream.asked.at(-1) ?? { body: {} }
  return body
}

test('a default is sent where the client sets nothing, over every API', async () => {
  for (const api of ['chat', 'completions', 'responses', 'messages'] as const) {
    if (api === 'completions')
      upstream.reply = json(200, {
        id: 'c',
        choices: [{ text: 'x', index: 0, finish_reason: 'stop' }],
        usage: { prompt_tokens: 1, completion_tokens: 1 },
      })
    else upstream.reply = whole()
    const { status, text } = await ask(api, 'defaults')
    assert.equal(status, 200, text)
    const { temperature, top_k, stop } = body()
    assert.deepEqual([api, temperature, top_k, stop], [api, 0.2, 40, ['END']])
  }
})

test('a default limit is sent where the client sets none', async () => {
  await ask('chat', 'defaults')
  assert.equal(body().max_tokens, 77)
  await ask('chat', 'defaults', { max_completion_tokens: 5 })
  const { max_tokens, max_completion_tokens } = body()
  assert.deepEqual([max_tokens, max_completion_tokens], [undefined, 5])
})

test("the client's value wins over a default", async () => {
  await ask('chat', 'defaults', { temperature: 1, top_k: 2, stop: 'x' })
  const { temperature, top_k, stop } = body()
  assert.deepEqual([temperature, top_k, stop], [1, 2, 'x'])
})

test("a forced value replaces the client's, over every API", async () => {
  const given = {
    chat: { temperature: 1, max_tokens: 900, reasoning_effort: 'high' },
    responses: { temperature: 1, max_output_tokens: 900, reasoning: { effort: 'high' } },
    messages: { temperature: 1, max_tokens: 900 },
  }
  for (const api of ['chat', 'responses', 'messages'] as const) {
    const { status, text } = await ask(api, 'forced', given[api])
    assert.equal(status, 200, text)
    const { temperature, max_tokens, max_completion_tokens, reasoning_effort, provider } = body()
    assert.deepEqual(
      [api, temperature, max_tokens ?? max_completion_tokens, reasoning_effort, provider],
      [api, 0.5, 50, 'low', { order: ['x'] }],
    )
  }
})

test('a stream carries them too, and so does a body that is written in steps', async () => {
  upstream.reply = streaming()
  const { status } = await ask('chat', 'forced', { stream: true, temperature: 1 })
  assert.deepEqual([status, body().temperature], [200, 0.5])
  upstream.reply = whole()
  const content = 'word '.repeat(60_000)
  await ask('chat', 'forced', { messages: [{ role: 'user', content }], temperature: 1 })
  const { temperature, provider, messages } = body()
  assert.deepEqual([temperature, provider], [0.5, { order: ['x'] }])
  assert.deepEqual(messages, [{ role: 'user', content }])
})

test('each wire of an upstream has them by its names', async () => {
  upstream.reply = json(200, {
    id: 'm',
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: 'x' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 1, output_tokens: 1 },
  })
  for (const api of ['messages', 'chat'] as const) {
    const { status, text } = await ask(api, 'claude', { max_tokens: 900 })
    assert.equal(status, 200, text)
    const { max_tokens, stop_sequences, top_k } = body()
    assert.deepEqual([api, max_tokens, stop_sequences, top_k], [api, 60, ['END'], 3])
  }
  upstream.reply = json(200, {
    candidates: [{ content: { role: 'model', parts: [{ text: 'x' }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
  })
  assert.equal((await ask('chat', 'gemini')).status, 200)
  assert.deepEqual(body().generationConfig, { maxOutputTokens: 70, temperature: 0.3, topK: 5 })
  upstream.reply = json(200, {
    id: 'r',
    object: 'response',
    status: 'completed',
    output: [],
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  })
  await ask('responses', 'answers', { reasoning: { effort: 'low', summary: 'auto' } })
  const { reasoning, text, max_output_tokens } = body()
  assert.deepEqual(
    [reasoning, text, max_output_tokens],
    [{ effort: 'high', summary: 'auto' }, { verbosity: 'low' }, 80],
  )
})

test('the trace has each parameter that was set, and no value of the vendor', async () => {
  const { trace } = await ask('chat', 'forced', { temperature: 1 })
  const [attempt] = (await trace()).attempts
  assert.deepEqual(attempt.parameters, [
    'temperature: 0.5 (forced)',
    'reasoning_effort: low (forced)',
    'max_tokens: 50 (forced)',
    'extra_body.provider (forced)',
  ])
  const kept = await ask('chat', 'defaults', { temperature: 1, top_k: 1, max_tokens: 1 })
  assert.deepEqual((await kept.trace()).attempts[0].parameters, ['stop (default)'])
})

test('a budget reserves by the limit that is forced, or set by default', async () => {
  for (const [model, max_tokens, least, most] of [
    ['forced', 900_000, 50, 100],
    ['dear', 1, 5_000, 5_050],
    ['defaults', undefined, 77, 127],
  ] as const) {
    const { promise, resolve } = Promise.withResolvers<void>()
    const arrived = new Promise<void>((seen) => {
      upstream.reply = async (outgoing, asked) => {
        seen()
        await promise
        await whole()(outgoing, asked)
      }
    })
    const asking = ask('chat', model, { max_tokens }, poor.key)
    await arrived
    const { reserved } = (await front.admin('/limits/poor')).tokens_per_day
    assert.ok(reserved >= least && reserved <= most, `${model} reserves ${reserved}`)
    resolve()
    await asking
  }
})
