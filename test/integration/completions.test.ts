/**
 * POST /v1/completions through a gateway process, between the official SDK and scripted upstreams.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import OpenAI from 'openai'
import { event, failing, type Reply, startFront, startUpstream } from '../helpers/fake-upstream.ts'

type Fields = Readonly<Record<string, unknown>>

const USAGE = { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 }
const ANSWER = { id: 'cmpl-1', object: 'text_completion', created: 1, model: 'served' }

const one = (text: string, index = 0, finish: string | null = 'stop') => ({
  text,
  index,
  logprobs: null,
  finish_reason: finish,
})

function whole(usage: Fields | null = USAGE): Reply {
  return (outgoing, { body }) => {
    const choices = Array.from({ length: Number(body.n ?? 1) }, (_, index) => one('Hello.', index))
    outgoing.writeHead(200, { 'content-type': 'application/json' })
    outgoing.end(JSON.stringify({ ...ANSWER, choices, ...(usage && { usage }) }))
  }
}

/** Two pieces for each choice; the last `missing` choices never end. */
function streaming(missing = 0, end: 'end' | 'cut' = 'end'): Reply {
  return async (outgoing, { body }) => {
    const choices = Array.from({ length: Number(body.n ?? 1) }, (_, index) => index)
    const write = (choice: unknown) => outgoing.write(event({ ...ANSWER, choices: [choice] }))
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const text of ['Hel', 'lo.']) for (const index of choices) write(one(text, index, null))
    if (end === 'cut') {
      // Node buffers chunks until the next tick.
      await new Promise(setImmediate)
      outgoing.socket?.destroySoon()
      return
    }
    for (const index of choices.slice(0, choices.length - missing)) write(one('', index))
    const { include_usage: asked } = (body.stream_options ?? {}) as Fields
    if (asked) outgoing.write(event({ ...ANSWER, choices: [], usage: USAGE }))
    outgoing.end('data: [DONE]\n\n')
  }
}

const reply: Reply = (outgoing, asked) =>
  (asked.body.stream ? streaming() : whole())(outgoing, asked)

const upstream = await startUpstream(reply)
const spare = await startUpstream(reply)
/** Answers as Ollama does: one line for each piece. */
const lines = await startUpstream((outgoing, { body }) => {
  const last = { done: true, done_reason: 'stop', prompt_eval_count: 2, eval_count: 3 }
  const said = body.stream
    ? [
        { response: 'Hel', done: false },
        { response: 'lo.', done: false },
        { response: '', ...last },
      ]
    : [{ response: 'Hello.', ...last }]
  outgoing.writeHead(200, { 'content-type': 'application/x-ndjson' })
  outgoing.end(said.map((line) => `${JSON.stringify({ model: 'm', ...line })}\n`).join(''))
})
const runtime = (name: string, provider: string, endpoint: string) => ({
  name,
  provider,
  endpoint,
  api_key: '${env:UPSTREAM_KEY}',
  health_check: { path: '/ok' },
})
const front = await startFront({
  upstreams: [
    { name: 'hosted', endpoint: upstream.url },
    { name: 'spare', endpoint: spare.url },
    runtime('llama', 'llamacpp', upstream.url),
    runtime('lines', 'ollama', lines.url),
    { name: 'talker', provider: 'anthropic', endpoint: upstream.url },
  ],
  routes: [
    { name: 'texts', strategy: 'single', primary: 'hosted' },
    { name: 'safe', strategy: 'primary_with_fallback', primary: 'hosted', fallback: ['spare'] },
    { name: 'either', strategy: 'primary_with_fallback', primary: 'llama', fallback: ['spare'] },
    { name: 'llama', strategy: 'single', primary: 'llama' },
    { name: 'lines', strategy: 'single', primary: 'lines' },
    { name: 'words', strategy: 'single', primary: 'talker' },
  ],
  pricing: [{ model: 'served', input: 1, output: 1 }],
  budgets: [{ tenant: 'acme', tokens_per_day: 5_000 }],
})
after(() => Promise.all([front.process.stop(), upstream.close(), spare.close(), lines.close()]))

const client = new OpenAI({
  apiKey: front.key,
  baseURL: `${front.process.url}/v1`,
  maxRetries: 0,
})
const asked = { model: 'texts', prompt: 'Say hello.', max_tokens: 9 }

async function post(body: Fields) {
  const answer = await fetch(`${front.process.url}/v1/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...asked, ...body }),
  })
  const text = await answer.text().catch((error: unknown) => String(error))
  const error = text.startsWith('{') ? JSON.parse(text).error : undefined
  return { status: answer.status, headers: answer.headers, text, error }
}

async function spent(): Promise<number> {
  return await front.value('gw_budget_tokens_used{tenant="acme",window="day"}')
}

test('the SDK reads a whole completion, and its usage is charged once', async () => {
  const before = await spent()
  const { choices, usage } = await client.completions.create(asked)
  assert.deepEqual([choices[0]?.text, choices[0]?.finish_reason], ['Hello.', 'stop'])
  assert.deepEqual(usage, USAGE)
  const { path, body } = upstream.asked.at(-1)!
  assert.deepEqual([path, body], ['/v1/completions', { ...asked, model: 'served' }])
  assert.equal(await spent(), before + 5)
})

test('the SDK reads a stream, with usage only if it asked for usage', async () => {
  const before = await spent()
  for (const include_usage of [false, true]) {
    const options = { stream_options: { include_usage }, stream: true } as const
    const chunks = await Array.fromAsync(await client.completions.create({ ...asked, ...options }))
    assert.equal(chunks.map(({ choices }) => choices[0]?.text ?? '').join(''), 'Hello.')
    const counted = chunks.filter((chunk) => chunk.usage)
    assert.deepEqual(
      counted.map(({ usage }) => usage),
      include_usage ? [USAGE] : [],
    )
    assert.deepEqual(upstream.asked.at(-1)?.body.stream_options, { include_usage: true })
  }
  assert.equal(await spent(), before + 10)
})

test('a runtime with a native API also completes texts', async () => {
  const asked = { model: 'lines', prompt: 'Hi', max_tokens: 9 }
  const whole = await client.completions.create(asked)
  assert.deepEqual([whole.choices[0]?.text, whole.usage?.total_tokens], ['Hello.', 5])
  // The gateway also asks for its window.
  const sent = lines.asked.find(({ path }) => path === '/api/generate')
  assert.partialDeepStrictEqual(sent?.body, { prompt: 'Hi', options: { num_predict: 9 } })
  const stream = await client.completions.create({
    ...asked,
    stream: true,
    stream_options: { include_usage: true },
  })
  const events = await Array.fromAsync(stream)
  assert.equal(events.map(({ choices }) => choices[0]?.text ?? '').join(''), 'Hello.')
  assert.equal(events.at(-1)?.usage?.total_tokens, 5)
})

test('several choices arrive complete, each with its end', async () => {
  const options = { ...asked, n: 3, stream: true } as const
  const chunks = await Array.fromAsync(await client.completions.create(options))
  const ends = chunks.flatMap(({ choices }) => choices).filter((choice) => choice.finish_reason)
  assert.deepEqual(
    ends.map(({ index }) => index),
    [0, 1, 2],
  )
  assert.equal((await client.completions.create({ ...asked, n: 3 })).choices.length, 3)
})

test('a stream that ends before all of its choices ends with an error', async () => {
  for (const broken of [streaming(1), streaming(0, 'cut')]) {
    upstream.script.push(broken)
    // If everything arrives at once, nothing has been sent yet.
    const read = async () =>
      await Array.fromAsync(await client.completions.create({ ...asked, n: 3, stream: true }))
    await assert.rejects(read, /cut after it had begun|after 2 of 3 choices/)
  }
})

test('a failure before the first text moves the request to the next upstream', async () => {
  for (const stream of [true, false]) {
    upstream.script.push(failing(500))
    const { status, headers } = await post({ model: 'safe', stream })
    assert.deepEqual([status, headers.get('x-gw-upstream')], [200, 'spare'])
  }
})

test('a prompt that only the upstream finds too long is refused with the name of the parameter', async () => {
  for (const stream of [true, false]) {
    upstream.script.push(failing(400, { code: 'context_length_exceeded' }))
    const { status, error } = await post({ stream })
    assert.deepEqual([status, error.code, error.param], [400, 'ERR_GW_CONTEXT_OVERFLOW', 'prompt'])
  }
})

test('a parameter that an upstream would ignore goes to another upstream, or is refused by name', async () => {
  for (const [param, value] of Object.entries({
    echo: true,
    suffix: 'end',
    best_of: 2,
  })) {
    const { status, headers } = await post({ model: 'either', [param]: value })
    assert.deepEqual([status, headers.get('x-gw-upstream')], [200, 'spare'], param)
    const { status: refused, error } = await post({ model: 'llama', [param]: value })
    assert.deepEqual([refused, error.code, error.param], [400, 'ERR_GW_INVALID_REQUEST', param])
    assert.match(error.message, /llamacpp/)
  }
  assert.equal((await post({ model: 'llama', echo: false, suffix: '', best_of: 1 })).status, 200)
})

test('a runtime that counts one choice is charged for all choices', async () => {
  const before = await spent()
  await post({ model: 'llama', n: 4 })
  assert.ok((await spent()) >= before + 2 + 4 * 3)
})

test('an invalid request is refused by name and reaches no upstream', async () => {
  const before = upstream.asked.length
  const wrong: readonly (readonly [Fields, string])[] = [
    [{ prompt: [] }, 'prompt'],
    [{ prompt: 7 }, 'prompt'],
    [{ prompt: ['a', 7] }, 'prompt[1]'],
    [{ prompt: [[1], ['a']] }, 'prompt[1]'],
    [{ n: 0 }, 'n'],
    [{ max_tokens: -1 }, 'max_tokens'],
    [{ n: 3, best_of: 2 }, 'best_of'],
    [{ best_of: 2, stream: true }, 'best_of'],
    [{ stream: 'yes' }, 'stream'],
  ]
  for (const [body, param] of wrong) {
    const { status, error } = await post(body)
    assert.deepEqual([status, error.code, error.param], [400, 'ERR_GW_INVALID_REQUEST', param])
  }
  const { status, error } = await post({ model: 'words' })
  assert.equal(status, 400)
  assert.match(error.message, /anthropic/)
  assert.equal(upstream.asked.length, before)
})

test('a budget reserves tokens for every generated text, not only for the returned ones', async () => {
  let meanwhile: Awaited<ReturnType<typeof post>> | undefined
  upstream.script.push(async (outgoing, request) => {
    meanwhile = await post({ max_tokens: 1 })
    await whole()(outgoing, request)
  })
  const left = 5_000 - (await spent())
  const { status } = await post({ max_tokens: Math.ceil(left / 5), best_of: 5 })
  assert.equal(status, 200)
  assert.deepEqual([meanwhile?.status, meanwhile?.error.reason], [429, 'budget_reserved'])
})
