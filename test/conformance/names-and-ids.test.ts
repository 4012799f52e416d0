/** Names of tools and ids of calls that an upstream refuses: the upstream gets valid ones, and the client its own. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  asked,
  chunksOf,
  heard,
  type Joined,
  joined,
  piece,
  sent,
  streamed,
} from '../helpers/conversations/one-answer.ts'

/** 87 letters. */
const LONG = 'mcp__claude_ai_Atlassian_Rovo__getConfluencePageInlineCommentsByVersionAndStatus12345'
const SHORT = /^mcp__claude_ai_[a-zA-Z_]+_[0-9a-f]{12}$/
const SCHEMA = { type: 'object', properties: { name: { type: 'string', enum: [LONG] } } }

/** A second turn with a tool of that name. */
const BODIES = {
  chat: (name: string, ids: readonly string[]) => ({
    tools: [{ type: 'function', function: { name, parameters: SCHEMA } }],
    tool_choice: { type: 'function', function: { name } },
    messages: [
      { role: 'user', content: 'Hi' },
      ...ids.flatMap((id) => [
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id, type: 'function', function: { name, arguments: '{"n":1.0}' } }],
        },
        { role: 'tool', tool_call_id: id, content: 'ok' },
      ]),
    ],
  }),
  messages: (name: string, ids: readonly string[]) => ({
    max_tokens: 100,
    tools: [{ name, input_schema: SCHEMA }],
    tool_choice: { type: 'tool', name },
    messages: [
      { role: 'user', content: 'Hi' },
      ...ids.flatMap((id) => [
        { role: 'assistant', content: [{ type: 'tool_use', id, name, input: { name: LONG } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'ok' }] },
      ]),
    ],
  }),
  responses: (name: string, ids: readonly string[]) => ({
    tools: [{ type: 'function', name, parameters: SCHEMA, strict: false }],
    tool_choice: { type: 'function', name },
    input: [
      { role: 'user', content: 'Hi' },
      ...ids.flatMap((id) => [
        { type: 'function_call', call_id: id, name, arguments: '{}' },
        { type: 'function_call_output', call_id: id, output: 'ok' },
      ]),
    ],
  }),
}
type Api = keyof typeof BODIES
const APIS = Object.keys(BODIES) as Api[]
/** Those that take 64 letters. */
const SHORT_ONES = ['openai', 'azure_openai', 'bedrock', 'gemini', 'mistral']

/** The names below these members, anywhere. */
function namesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([member, one]) => {
    // They belong to the tool.
    const isFree = ['input', 'args', 'properties'].includes(member) && !Array.isArray(one)
    if (isFree) return []
    return member === 'name' && typeof one === 'string' ? [one] : namesIn(one)
  })
}

function requestOf(wire: Joined, api: Api, name: string, ids: readonly string[] = ['call_1']) {
  return asked(wire, { model: 'm', stream: true, ...BODIES[api](name, ids) })
}

for (const api of APIS) {
  for (const provider of SHORT_ONES)
    test(`${api} to ${provider}: a name of 87 letters is a short one with a hash, in tools, choice and history`, () => {
      const wire = joined(api, provider)
      const body = sent(wire, requestOf(wire, api, LONG))
      const names = namesIn(body)
      assert.ok(names.length >= 2, JSON.stringify(body))
      assert.equal(new Set(names).size, 1)
      assert.match(names[0] ?? '', SHORT)
      assert.ok((names[0] ?? '').length <= 64)
      // The schema belongs to the tool.
      assert.ok(JSON.stringify(body).includes(`"enum":["${LONG}"]`))
    })

  for (const provider of ['openai', 'azure_openai'])
    test(`${api} from ${provider}: a client gets its own name back`, () => {
      const wire = joined(api, provider)
      const request = requestOf(wire, api, LONG)
      const [short] = namesIn(sent(wire, request))
      const words = { content: `I call ${short}.` }
      const call = piece(
        { index: 0, id: 'call_n' },
        { name: short, arguments: `{"name":"${short}"}` },
      )
      const came = heard(wire, streamed(wire, request, chunksOf([words, call])))
      assert.equal(came.text, `I call ${short}.`)
      assert.deepEqual(came.calls, [{ id: 'call_n', name: LONG, args: `{"name":"${short}"}` }])
      const { pair } = wire
      const message = {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'call_n', type: 'function', function: { name: short, arguments: '{}' } },
        ],
      }
      const choice = { index: 0, message, finish_reason: 'tool_calls' }
      const whole = Buffer.from(JSON.stringify({ id: 'a', model: 'm', choices: [choice] }))
      const passed = pair.decode(whole, request, { model: 'm', id: 'r' })
      assert.ok(passed.kind === 'body')
      const [one] = wire.client.readWhole(String(passed.body), false).calls
      assert.equal(one?.name, LONG)
    })

  test(`${api} to anthropic: a name of 87 letters stays, and one of 140 is shortened`, () => {
    const wire = joined(api, 'anthropic')
    assert.ok(namesIn(sent(wire, requestOf(wire, api, LONG))).includes(LONG))
    const names = namesIn(sent(wire, requestOf(wire, api, 'n'.repeat(140))))
    assert.ok(names.every((name) => /^n+_[0-9a-f]{12}$/.test(name) && name.length <= 128))
  })

  for (const provider of ['openai', 'azure_openai', 'anthropic', 'bedrock', 'mistral', 'cohere'])
    test(`${api} to ${provider}: an id that two turns have becomes two ids, each at its call and its result`, () => {
      const wire = joined(api, provider)
      const text = JSON.stringify(sent(wire, requestOf(wire, api, 'a', ['call_0', 'call_0'])))
      const ids = [
        ...text.matchAll(/"(?:id|call_id|tool_call_id|tool_use_id|toolUseId)":"([^"]+)"/g),
      ].map(([, id]) => id)
      assert.equal(ids.length, 4, text)
      const [first, answered, second, again] = ids
      assert.deepEqual([answered, again], [first, second])
      assert.notEqual(first, second)
      // The first turn keeps its id when the second one arrives.
      const before = JSON.stringify(sent(wire, requestOf(wire, api, 'a', ['call_0'])))
      assert.ok(before.includes(`"${first}"`))
    })
}

test('chat to openai: an id of more than 40 letters is a shorter one, at call and result', () => {
  const wire = joined('chat', 'openai')
  const { messages } = sent(wire, requestOf(wire, 'chat', 'a', ['call_'.repeat(20)]))
  assert.match(messages[1].tool_calls[0].id, /^call_[0-9a-f]{24}$/)
  assert.equal(messages[2].tool_call_id, messages[1].tool_calls[0].id)
})

test('chat to openai: a request with short names and distinct ids passes unchanged', () => {
  const wire = joined('chat', 'openai')
  const request = requestOf(wire, 'chat', 'a', ['call_0', 'call_1'])
  const settled = sent(wire, request)
  assert.deepEqual(settled.messages, JSON.parse(request.bytes.toString()).messages)
})

for (const [api, provider] of [
  ['responses', 'openai'],
  ['messages', 'openai'],
] as const)
  test(`${api} to ${provider}, which has the same API: names and ids are changed in the client's bytes`, () => {
    const wire = joined(api, provider, true)
    const request = requestOf(wire, api, LONG, ['call_0', 'call_0'])
    const body = sent(wire, request)
    const names = new Set(namesIn(body).filter((name) => name !== LONG))
    assert.equal(names.size, 1)
    assert.equal(namesIn({ ...body, messages: [] }).includes(LONG), false)
    const ids = [...JSON.stringify(body).matchAll(/"(?:id|call_id|tool_use_id)":"([^"]+)"/g)]
    const [first, answered, second, again] = ids.map(([, id]) => id)
    assert.deepEqual([answered, again], [first, second])
    assert.notEqual(first, second)
  })

test('chat from openai: a call without an id gets one, and a later id of it is left out', () => {
  const wire = joined('chat', 'openai')
  const request = requestOf(wire, 'chat', 'a')
  const bytes = chunksOf([
    { content: 'Hi' },
    piece({ index: 0 }, { name: 'a', arguments: '{' }),
    piece({ index: 0, id: 'late' }, { arguments: '}' }),
  ])
  const { text } = streamed(wire, request, bytes)
  const ids = [...text.matchAll(/"tool_calls":\[\{[^\]]*?"id":"([^"]+)"/g)].map(([, id]) => id)
  assert.equal(ids.length, 1)
  assert.match(ids[0] ?? '', /^call_[0-9a-f]{24}$/)
})

for (const provider of ['vllm', 'sglang', 'llamacpp', 'openai', 'azure_openai']) {
  test(`chat from ${provider}: a named call that ends by stop ends by tool_calls`, () => {
    const wire = joined('chat', provider)
    const request = requestOf(wire, 'chat', 'a')
    const named = { index: 0, id: 'call_n', type: 'function' }
    const bytes = chunksOf(
      [piece(named, { name: 'a', arguments: '' }), piece({ index: 0 }, { arguments: '{}' })],
      'stop',
    )
    const { text } = streamed(wire, request, bytes)
    assert.deepEqual(
      [...text.matchAll(/"finish_reason":"(\w+)"/g)].map(([, reason]) => reason),
      ['tool_calls'],
    )
    const call = { ...named, function: { name: 'a', arguments: '{}' } }
    const ended = (message: object) => ({ index: 0, message, finish_reason: 'stop' })
    const reasonsOf = (...choices: object[]) => {
      const answer = Buffer.from(JSON.stringify({ id: 'chatcmpl-up', model: 'm', choices }))
      const passed = wire.pair.decode(answer, request, { model: 'm', id: 'r' })
      assert.ok(passed?.kind === 'body')
      const { choices: read } = JSON.parse(passed.body.toString())
      return read.map(({ finish_reason: reason }: { finish_reason: string }) => reason)
    }
    const calling = ended({ role: 'assistant', content: null, tool_calls: [call] })
    assert.deepEqual(reasonsOf(calling), ['tool_calls'])
    const speaking = ended({ role: 'assistant', content: 'Hi' })
    assert.deepEqual(reasonsOf(speaking, calling), ['stop', 'tool_calls'])
  })

  test(`chat from ${provider}: pieces that repeat the id and the name of their call say them once`, () => {
    const wire = joined('chat', provider)
    const request = requestOf(wire, 'chat', 'a')
    const members = { id: 'call_n', type: 'function' }
    const bytes = chunksOf([
      piece({ index: 0, ...members }, { name: 'a', arguments: '{' }),
      piece({ index: 0, ...members }, { name: 'a', arguments: '}' }),
      piece({ index: 0, ...members, id: 'call_m' }, { name: 'a', arguments: '{}' }),
    ])
    const { text } = streamed(wire, request, bytes)
    const pieces = [...text.matchAll(/"tool_calls":\[(\{.*?\})\]\}/g)].map(([, one = '']) =>
      JSON.parse(one),
    )
    assert.deepEqual(pieces, [
      { index: 0, ...members, function: { name: 'a', arguments: '{' } },
      { index: 0, function: { arguments: '}' } },
      { index: 0, ...members, id: 'call_m', function: { name: 'a', arguments: '{}' } },
    ])
  })
}
