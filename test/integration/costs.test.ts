/**
 * The cost of a request in its answer: a header of whole answers, and the last usage event of
 * streams.
 */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import type { Responses } from 'openai/resources'
import {
  event,
  failing,
  type Reply,
  startFront,
  startUpstream,
  streaming,
  whole,
} from '../helpers/fake-upstream.ts'
import { PLENTY } from '../helpers/gateway-process.ts'
import { until } from '../helpers/until.ts'

const [first, second, claude, own] = await Promise.all([
  startUpstream(),
  startUpstream(),
  startUpstream(),
  startUpstream(),
])
own.vendor = { takesAll: 'Unknown members pass unchanged.' }
const upstreams = [
  { name: 'first', endpoint: first.url, model: 'dear' },
  { name: 'second', endpoint: second.url, model: 'cheap' },
  { name: 'claude', provider: 'anthropic', endpoint: claude.url, model: 'claude-m' },
  { name: 'own', endpoint: own.url, native: ['responses'], model: 'dear' },
  { name: 'gift', endpoint: first.url, model: 'unpriced' },
]
const routes = [
  {
    ...{ name: 'chat', strategy: 'primary_with_fallback', primary: 'first', fallback: ['second'] },
    retry: { max_attempts: 3, initial_delay_ms: 1 },
  },
  { name: 'claude', strategy: 'single', primary: 'claude' },
  { name: 'own', strategy: 'single', primary: 'own' },
  { name: 'gift', strategy: 'single', primary: 'gift' },
]
const common = {
  ...{ upstreams, routes, rate_limits: { default: PLENTY } },
  pricing: [
    { model: 'dear', input: 10, output: 20 },
    { model: 'cheap', input: 0.1, output: 0.2 },
    { model: 'claude-m', input: 3, output: 15 },
  ],
}
const [front, quiet] = await Promise.all([
  startFront({ ...common, usage: { in_answers: true } }),
  startFront(common),
])
after(() =>
  Promise.all([
    ...[front, quiet].map((one) => one.process.stop()),
    ...[first, second, claude, own].map((one) => one.close()),
  ]),
)
const baseURL = `${front.process.url}/v1`
const openai = new OpenAI({ apiKey: front.key, baseURL, maxRetries: 0 })
const anthropic = new Anthropic({
  ...{ apiKey: null, authToken: front.key, baseURL: front.process.url, maxRetries: 0 },
})
const messages = [{ role: 'user' as const, content: 'hi' }]

beforeEach(() => {
  for (const one of [first, second, claude, own]) one.script.length = 0
})

interface Stated {
  readonly cost_usd?: number
  readonly estimated?: true
}

/** Seven prompt tokens and three answer tokens. */
const DEAR = 0.00013
/** 0.0000013 for an answer of the other model after it. */
const TWICE_DEAR_AND_CHEAP = 0.0002613

async function chargedFor(id: string | null | undefined): Promise<number> {
  const trace = () => front.admin(`/traces/${id}`).catch(() => undefined)
  await until('the request is recorded', async () => (await trace())?.status === 200)
  let nanos = 0
  for (const { usage } of (await trace()).attempts) nanos += usage?.cost_nano_usd ?? 0
  return nanos / 1e9
}

async function ask(path: string, body: object, of = front): Promise<Response> {
  const response = await fetch(`${of.process.url}/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${of.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  assert.equal(response.status, 200, await response.clone().text())
  return response
}

const CLAUDE_USAGE = { input_tokens: 100, output_tokens: 10 }
const CLAUDE_COST = 0.00045

claude.reply = (outgoing, { body }) => {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-m' }
  const content = [{ type: 'text', text: 'ok' }]
  const stop = { stop_reason: 'end_turn', stop_sequence: null }
  if (body.stream !== true) {
    const answer = { ...message, content, ...stop, usage: CLAUDE_USAGE }
    outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    return
  }
  outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
  const usage = { ...CLAUDE_USAGE, output_tokens: 1 }
  for (const one of [
    { type: 'message_start', message: { ...message, content: [], ...stop, usage } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'ok' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: stop, usage: { output_tokens: 10 } },
    { type: 'message_stop' },
  ])
    outgoing.write(`event: ${one.type}\n${event(one)}`)
  outgoing.end()
}

const RESPONSE = {
  ...{ id: 'resp_1', object: 'response', created_at: 1, model: 'dear', status: 'completed' },
  output: [
    {
      ...{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' },
      content: [{ type: 'output_text', text: 'ok', annotations: [] }],
    },
  ],
  usage: { input_tokens: 7, output_tokens: 3, total_tokens: 10 },
}

const nativeResponse: Reply = (outgoing, { body }) => {
  if (body.stream !== true) {
    outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(RESPONSE))
    return
  }
  outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
  const begun = { ...RESPONSE, status: 'in_progress', output: [], usage: null }
  const at = { item_id: 'msg_1', output_index: 0, content_index: 0 }
  for (const [number, one] of [
    { type: 'response.created', response: begun },
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { ...RESPONSE.output[0], content: [] },
    },
    {
      type: 'response.content_part.added',
      ...at,
      part: { type: 'output_text', text: '', annotations: [] },
    },
    { type: 'response.output_text.delta', ...at, delta: 'ok' },
    { type: 'response.completed', response: RESPONSE },
  ].entries())
    outgoing.write(`event: ${one.type}\n${event({ ...one, sequence_number: number })}`)
  outgoing.end()
}
own.reply = nativeResponse

test('X-Gw-Cost-Usd of a whole answer equals the cost in its trace, for each API', async () => {
  for (const [path, model, body, cost] of [
    ['chat/completions', 'chat', { messages }, DEAR],
    ['chat/completions', 'claude', { messages }, CLAUDE_COST],
    ['responses', 'chat', { input: 'hi' }, DEAR],
    ['responses', 'own', { input: 'hi' }, DEAR],
    ['messages', 'chat', { messages, max_tokens: 9 }, DEAR],
    ['messages', 'claude', { messages, max_tokens: 9 }, CLAUDE_COST],
  ] as const) {
    const { headers } = await ask(path, { model, ...body })
    assert.equal(Number(headers.get('x-gw-cost-usd')), cost, `${path} ${model}`)
    assert.equal(await chargedFor(headers.get('x-request-id')), cost, `${path} ${model}`)
  }
})

test('the cost is a plain decimal, and includes the reported usage of failed attempts', async () => {
  second.script.push(whole('b', { prompt_tokens: 1, completion_tokens: 0 }))
  first.script.push(failing(500), failing(500))
  const { headers } = await ask('chat/completions', { model: 'chat', messages })
  assert.equal(headers.get('x-gw-cost-usd'), '0.0000001')
  assert.equal(await chargedFor(headers.get('x-request-id')), 0.0000001)
  const nothing = { prompt_tokens: 7, completion_tokens: 0, total_tokens: 7 }
  const empty = { choices: [], usage: nothing, object: 'chat.completion', id: 'c', model: 'm' }
  first.script.push(
    ...[0, 1].map(
      (): Reply => (outgoing) => {
        outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(empty))
      },
    ),
  )
  const moved = await ask('chat/completions', { model: 'chat', messages })
  const sum = await chargedFor(moved.headers.get('x-request-id'))
  assert.equal(Number(moved.headers.get('x-gw-cost-usd')), sum)
})

test('without reported usage, a whole answer states the charged estimate', async () => {
  first.script.push(whole('four words of text', null))
  const { headers } = await ask('chat/completions', { model: 'chat', messages })
  const sum = await chargedFor(headers.get('x-request-id'))
  assert.ok(sum > 0)
  assert.equal(Number(headers.get('x-gw-cost-usd')), sum)
})

test('an answer of a model without a price states no cost, nor do streams and refusals', async () => {
  const whole = await ask('chat/completions', { model: 'gift', messages })
  assert.equal(whole.headers.get('x-gw-cost-usd'), null)
  first.script.push(streaming())
  const stream = await ask('chat/completions', { model: 'chat', messages, stream: true })
  assert.equal(stream.headers.get('x-gw-cost-usd'), null)
  await stream.text()
  const { headers } = await front.chat({ model: 'none' })
  assert.equal(headers['x-gw-cost-usd'], undefined)
})

test('the OpenAI SDK reads usage and cost in the last chunk of a stream, which also has the finish reason', async () => {
  first.script.push(streaming())
  const { data, response } = await openai.chat.completions
    .create({ model: 'chat', messages, stream: true })
    .withResponse()
  const chunks = await Array.fromAsync(data)
  assert.ok(chunks.every(({ choices }) => choices.length === 1))
  const stated = chunks.filter(({ usage }) => usage)
  assert.deepEqual(stated, chunks.slice(-1))
  const last = stated[0] as (typeof chunks)[number] & { gw?: Stated }
  assert.equal(last.choices[0]?.finish_reason, 'stop')
  assert.equal(last.usage?.total_tokens, 10)
  assert.deepEqual(last.gw, { cost_usd: DEAR })
  assert.equal(await chargedFor(response.headers.get('x-request-id')), DEAR)
})

test('a client that asks for usage reads the cost in the chunk with the usage', async () => {
  for (const model of ['chat', 'claude']) {
    first.script.push(streaming())
    const stream = await openai.chat.completions.create({
      ...{ model, messages, stream: true, stream_options: { include_usage: true } },
    })
    const chunks = await Array.fromAsync(stream)
    const stated = chunks.filter(({ usage }) => usage) as { gw?: Stated; choices: unknown[] }[]
    assert.equal(stated.length, 1)
    assert.deepEqual(stated[0]?.choices, [])
    assert.deepEqual(stated[0]?.gw, { cost_usd: model === 'chat' ? DEAR : CLAUDE_COST })
    first.script.length = 0
  }
})

test('the stream helper of the OpenAI SDK assembles the same message', async () => {
  const role = { choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] }
  first.script.push(streaming({ before: event({ id: 'c1', created: 1, model: 'm', ...role }) }))
  const runner = openai.chat.completions.stream({ model: 'chat', messages })
  const final = await runner.finalChatCompletion()
  assert.equal(final.choices[0]?.message.content, 'hello')
  assert.equal(final.choices[0]?.finish_reason, 'stop')
})

test('usage that the upstream does not report is stated as estimated, with the charged amount', async () => {
  for (const options of [{}, { stream_options: { include_usage: true } }]) {
    first.script.push(async (outgoing, asked) => {
      await streaming()(outgoing, { ...asked, body: { ...asked.body, stream_options: {} } })
    })
    const body = { model: 'chat', messages, stream: true, ...options }
    const answer = await ask('chat/completions', body)
    const events = dataOf(await answer.text())
    const stated = events.filter(({ usage }) => usage)
    assert.equal(stated.length, 1)
    const { cost_usd, estimated }: Stated = stated[0]?.gw ?? {}
    assert.equal(estimated, true)
    assert.equal(await chargedFor(answer.headers.get('x-request-id')), cost_usd)
  }
})

test('the Anthropic SDK reads the cost in message_delta, both translated and passed through', async () => {
  for (const [model, cost] of [
    ['chat', DEAR],
    ['claude', CLAUDE_COST],
  ] as const) {
    first.script.push(streaming())
    const stream = anthropic.messages.stream({ model, messages, max_tokens: 9 })
    const events = await Array.fromAsync(stream)
    const deltas = events.filter(({ type }) => type === 'message_delta') as { gw?: Stated }[]
    assert.deepEqual(
      deltas.map(({ gw }) => gw),
      [{ cost_usd: cost }],
    )
    assert.equal(events.at(-1)?.type, 'message_stop')
    const final = await stream.finalMessage()
    assert.equal(final.stop_reason, 'end_turn')
    assert.equal(final.usage.output_tokens, model === 'chat' ? 3 : 10)
    first.script.length = 0
  }
})

test('the OpenAI SDK reads the cost in response.completed, both translated and passed through', async () => {
  for (const model of ['chat', 'own']) {
    first.script.push(streaming())
    const stream = openai.responses.stream({ model, input: 'hi' })
    const events = await Array.fromAsync(stream)
    assert.equal(events.at(-1)?.type, 'response.completed')
    const final = (await stream.finalResponse()) as Responses.Response & { gw?: Stated }
    assert.deepEqual(final.gw, { cost_usd: DEAR })
    assert.equal(final.usage?.total_tokens, 10)
    first.script.length = 0
  }
})

test('a legacy completion states the cost in its last chunk', async () => {
  own.script.push((outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    const frame = { id: 'cmpl-1', object: 'text_completion', created: 1, model: 'dear' }
    for (const [text, finish_reason] of [
      ['ok', null],
      ['', 'stop'],
    ])
      outgoing.write(event({ ...frame, choices: [{ index: 0, text, finish_reason }] }))
    const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }
    outgoing.end(`${event({ ...frame, choices: [], usage })}data: [DONE]\n\n`)
  })
  const stream = await openai.completions.create({ model: 'own', prompt: 'hi', stream: true })
  const chunks = await Array.fromAsync(stream)
  const last = chunks.at(-1) as (typeof chunks)[number] & { gw?: Stated }
  assert.equal(last.choices[0]?.finish_reason, 'stop')
  assert.equal(last.usage?.total_tokens, 10)
  assert.deepEqual(last.gw, { cost_usd: DEAR })
})

test('a stream of a model without a price states only its usage', async () => {
  first.script.push(streaming())
  const events = dataOf(
    await (await ask('chat/completions', { model: 'gift', messages, stream: true })).text(),
  )
  assert.equal(events.at(-1)?.usage.total_tokens, 10)
  assert.equal(events.at(-1)?.gw, undefined)
})

test('a stream after a failed attempt that reported usage states the sum', async () => {
  const before = event({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } })
  const cut = streaming({ words: [], before, finish: false, done: false, end: 'cut' })
  first.script.push(cut, cut)
  second.script.push(streaming())
  const answer = await ask('chat/completions', { model: 'chat', messages, stream: true })
  const [last] = dataOf(await answer.text()).slice(-1)
  assert.equal(last?.gw.cost_usd, TWICE_DEAR_AND_CHEAP)
  assert.equal(await chargedFor(answer.headers.get('x-request-id')), TWICE_DEAR_AND_CHEAP)
})

test('a stream that its client leaves states no cost, and is counted once', async () => {
  const requests = async () => {
    const { rows } = await front.admin('/usage?by=route')
    return rows.find(({ by }: { by: { route: string } }) => by.route === 'chat').requests
  }
  const before = await requests()
  first.script.push((outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    outgoing.write(event({ choices: [{ index: 0, delta: { content: 'w ' } }] }))
  })
  const asking = front.ask({ stream: true })
  await until('a word is read', () => asking.text().includes('w '))
  asking.leave()
  await until('the request is counted', async () => (await requests()) === before + 1)
  assert.doesNotMatch(asking.text(), /"gw"|"usage":\{/)
})

test('without the setting, streams state no cost', async () => {
  for (const path of ['chat/completions', 'messages', 'responses']) {
    first.script.push(streaming())
    const body = { model: 'chat', messages, max_tokens: 9, input: 'hi', stream: true }
    const { messages: _, max_tokens: __, ...ofResponse } = body
    const { input: ___, ...ofMessages } = body
    const answer = await ask(path, path === 'responses' ? ofResponse : ofMessages, quiet)
    assert.doesNotMatch(await answer.text(), /"gw":/, path)
  }
})

// biome-ignore lint/suspicious/noExplicitAny: the events of any API
function dataOf(text: string): any[] {
  const lines = text.split('\n').filter((line) => line.startsWith('data: {'))
  return lines.map((line) => JSON.parse(line.slice(6)))
}
