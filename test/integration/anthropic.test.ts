/**
 * Anthropic's Messages API called through the official OpenAI SDK: the client reads what the
 * fixtures contain.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, beforeEach, test } from 'node:test'
import OpenAI from 'openai'
import { failing, type Reply, startFront, startUpstream, whole } from '../helpers/fake-upstream.ts'
import {
  type AnswerCase,
  CANONICAL,
  type ErrorCase,
  readCases,
  type StreamCase,
} from '../helpers/providers/provider-fixtures.ts'

const [messages, spare] = await Promise.all([
  startUpstream(),
  startUpstream(whole('from the spare')),
])
const front = await startFront({
  upstreams: [
    { name: 'claude', provider: 'anthropic', endpoint: messages.url, model: 'claude-m' },
    { name: 'spare', endpoint: spare.url },
    {
      name: 'narrow',
      provider: 'anthropic',
      endpoint: messages.url,
      model: 'claude-m',
      max_queue_depth: 1,
    },
  ],
  routes: [
    { name: 'chat', strategy: 'single', primary: 'claude' },
    { name: 'pair', strategy: 'primary_with_fallback', primary: 'claude', fallback: ['spare'] },
    { name: 'narrow', strategy: 'single', primary: 'narrow' },
  ],
})
after(() => Promise.all([front.process.stop(), messages.close(), spare.close()]))
const client = new OpenAI({ apiKey: front.key, baseURL: `${front.process.url}/v1`, maxRetries: 0 })
const question = { model: 'chat', messages: [{ role: 'user' as const, content: 'hi' }] }

beforeEach(() => {
  messages.asked.length = 0
  spare.asked.length = 0
})

function caseOf<Case extends { readonly case: string }>(file: string, name: string): Case {
  const found = readCases<Case[]>('anthropic', file).find((each) => each.case === name)
  return found ?? assert.fail(`there is no case "${name}"`)
}

const answering = (name: string): Reply =>
  says(200, caseOf<AnswerCase>('chat/answer.json', name).upstream)

function refusing(name: string): Reply {
  const { status, body, headers } = caseOf<ErrorCase>('errors.json', name)
  return says(status, body, headers)
}

function says(status: number, body: unknown, headers: object = {}): Reply {
  return (outgoing) => {
    outgoing.writeHead(status, { 'content-type': 'application/json', ...headers })
    outgoing.end(typeof body === 'string' ? body : JSON.stringify(body))
  }
}

/** `change` alters the fixture's stream. */
function telling(name: string, change = (text: string) => text): Reply {
  const file = new URL(`../fixtures/providers/anthropic/chat/${name}.sse`, import.meta.url)
  return (outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    outgoing.end(change(readFileSync(file, 'utf8')))
  }
}

test('an answer arrives as a chat completion', async () => {
  messages.reply = answering('text')
  const answer = await client.chat.completions.create({ ...question, max_completion_tokens: 50 })
  assert.equal(answer.choices[0]?.message.content, '4 °C in Oslo.')
  assert.equal(answer.choices[0]?.finish_reason, 'stop')
  assert.partialDeepStrictEqual(answer.usage, {
    prompt_tokens: 140,
    completion_tokens: 9,
    total_tokens: 149,
    prompt_tokens_details: { cached_tokens: 100 },
  })
  const [asked] = messages.asked
  assert.equal(asked?.path, '/v1/messages')
  assert.partialDeepStrictEqual(asked?.headers, {
    'x-api-key': 'upstream-credential',
    'anthropic-version': '2023-06-01',
  })
  assert.ok(!('authorization' in (asked?.headers ?? {})))
  assert.partialDeepStrictEqual(asked?.body, { model: 'claude-m', max_tokens: 50 })
})

test('tools and their results are sent as the fixture says', async () => {
  messages.reply = telling('stream')
  const { upstream } = readCases<{ case: string; upstream: object }[]>(
    'anthropic',
    'chat/request.json',
  )[0]!
  // Writing out the type would be long; the content is what a client of the SDK sends.
  const canonical = { ...CANONICAL, model: 'chat' } as unknown as typeof question & { stream: true }
  await Array.fromAsync(await client.chat.completions.create(canonical))
  assert.deepEqual(messages.asked[0]?.body, upstream)
})

for (const name of ['stream', 'parallel', 'thinking', 'refusal']) {
  test(`the stream "${name}" arrives as chunks, with usage and an end`, async () => {
    messages.reply = telling(name)
    const recorded = readCases<StreamCase>('anthropic', `chat/${name}.json`)
    const stream = client.chat.completions.stream({
      ...question,
      stream_options: { include_usage: true },
    })
    const { choices, usage } = await stream.finalChatCompletion()
    const [choice] = choices
    assert.equal(choice?.message.content ?? '', recorded.text)
    assert.equal(choice?.finish_reason, recorded.finish)
    const calls = choice?.message.tool_calls ?? []
    assert.deepEqual(
      calls.map(
        (call) =>
          call.type === 'function' && {
            name: call.function.name,
            arguments: call.function.arguments,
          },
      ),
      recorded.tools ?? [],
    )
    assert.equal(usage?.prompt_tokens, recorded.usage?.promptTokens)
    assert.equal(usage?.completion_tokens, recorded.usage?.completionTokens)
  })
}

test('tool calls of a whole answer have ids, names and arguments', async () => {
  messages.reply = answering('texts and tools')
  const { choices } = await client.chat.completions.create(question)
  assert.equal(choices[0]?.finish_reason, 'tool_calls')
  assert.partialDeepStrictEqual(choices[0]?.message.tool_calls, [
    { id: 'toolu_1', function: { name: 'f', arguments: '{"city":"Oslo"}' } },
    { id: 'toolu_2', function: { name: 'g', arguments: '{}' } },
  ])
})

test('an agent runs a tool and gets the text that follows', async () => {
  messages.script.push(telling('stream'))
  messages.reply = telling('thinking', (text) => text.replace('max_tokens', 'end_turn'))
  const cities: unknown[] = []
  const runner = client.chat.completions.runTools({
    ...question,
    stream: true,
    tools: [
      {
        type: 'function',
        function: {
          name: 'get_weather',
          description: 'Look up weather',
          parameters: { type: 'object', properties: { city: { type: 'string' } } },
          parse: JSON.parse,
          function: ({ city }: { city: string }) => {
            cities.push(city)
            return 'cold'
          },
        },
      },
    ],
  })
  assert.equal(await runner.finalContent(), '4 °C')
  assert.deepEqual(cities, ['Oslo'])
  const turns = messages.asked[1]?.body.messages as { role: string; content: object[] }[]
  assert.deepEqual(
    turns.map(({ role }) => role),
    ['user', 'assistant', 'user'],
  )
  assert.partialDeepStrictEqual(turns[1]?.content.at(-1), {
    type: 'tool_use',
    id: 'toolu_01C',
    input: { city: 'Oslo' },
  })
  assert.partialDeepStrictEqual(turns[2]?.content, [
    { type: 'tool_result', tool_use_id: 'toolu_01C', content: 'cold' },
  ])
})

for (const name of ['overloaded', 'server', 'key', 'model', 'conflict', 'late', 'rate']) {
  test(`"${name}" is retried at the fallback`, async () => {
    messages.reply = refusing(name)
    const answer = await client.chat.completions.create({ ...question, model: 'pair' })
    assert.equal(answer.choices[0]?.message.content, 'from the spare')
    assert.equal(messages.asked.length, 1)
  })
}

for (const [name, status, code] of [
  ['overloaded', 502, 'ERR_GW_UPSTREAM_ERROR'],
  ['spend', 429, 'ERR_GW_UPSTREAM_RATE_LIMIT'],
  ['context', 400, 'ERR_GW_CONTEXT_OVERFLOW'],
  ['parameter', 400, null],
  ['size', 413, null],
] as const) {
  test(`"${name}" without a fallback returns ${status}`, async () => {
    messages.reply = refusing(name)
    const error = await client.chat.completions.create(question).catch((thrown: unknown) => thrown)
    assert.ok(error instanceof OpenAI.APIError)
    assert.equal(error.status, status)
    assert.equal(error.code, code)
    // A spending limit and a client's mistake do not go away, so a header tells the SDK not to
    // retry.
    const isFinal = name === 'spend' || status < 429
    assert.equal(error.headers?.get('x-should-retry'), isFinal ? 'false' : null)
  })
}

test('a spent limit moves to a fallback; without one it is final, even for a client that retries', async () => {
  messages.reply = refusing('spend')
  const patient = client.withOptions({ maxRetries: 3 })
  await assert.rejects(patient.chat.completions.create(question), OpenAI.RateLimitError)
  assert.equal(messages.asked.length, 1)
})

test('an error inside a stream after content ends the stream with an error', async () => {
  messages.reply = telling('failing')
  const heard = await front.stream({ model: 'chat' })
  // The whole stream arrived at once, so the gateway knew the error before it sent the first word.
  assert.equal(heard.status, 502)
  const spilled = await front.chat({ model: 'pair', stream: false })
  assert.equal(spilled.status, 200)
})

test('a request that cannot be translated is refused at once and takes no place', async () => {
  messages.reply = answering('text')
  for (const _ of [1, 2, 3]) {
    const heard = await front.chat({ model: 'narrow', n: 2 })
    assert.equal(heard.status, 400, heard.text)
    assert.equal(JSON.parse(heard.text).error.param, 'n')
  }
  assert.equal(messages.asked.length, 0)
  assert.equal(await front.value('gw_upstream_in_flight{upstream="narrow"}'), 0)
  assert.equal((await front.chat({ model: 'narrow' })).status, 200)
})

const FOREIGN = failing(400, {
  type: 'invalid_request_error',
  message: 'messages.1.content.0: Invalid `signature` in `thinking` block',
})
const THOUGHT = { type: 'thinking', thinking: 'Hm', signature: 's' }

test('thinking signed by another account is removed, for clients of either API', async () => {
  const call = { id: 'toolu_1', type: 'function', function: { name: 'f', arguments: '{}' } }
  const history = [
    question.messages[0],
    { role: 'assistant', tool_calls: [call], thinking_blocks: [THOUGHT] },
    { role: 'tool', tool_call_id: 'toolu_1', content: '{}' },
  ]
  const toolUse = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }
  const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: '{}' }
  const native = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: [THOUGHT, toolUse] },
    { role: 'user', content: [result] },
  ]
  for (const [path, body] of [
    ['chat/completions', { messages: history, reasoning_effort: 'low' }],
    ['messages', { messages: native, max_tokens: 4096, thinking: { type: 'adaptive' } }],
  ] as const) {
    messages.asked.length = 0
    messages.script.push(FOREIGN, answering('texts and tools'))
    const answer = await fetch(`${front.process.url}/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'chat', ...body }),
    })
    assert.equal(answer.status, 200, await answer.text())
    const [first, second] = messages.asked.map((one) => JSON.stringify(one.body))
    assert.match(first ?? '', /"signature":"s"/)
    assert.doesNotMatch(second ?? '', /signature|"thinking"/)
    assert.match(second ?? '', /toolu_1/)
  }
})
