/**
 * Samples of what agents send and servers return, byte for byte, through the whole gateway and the
 * clients' SDKs.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import {
  event,
  type FakeUpstream,
  type Reply,
  startFront,
  startUpstream,
} from '../helpers/fake-upstream.ts'

const MODELS = {
  vllm: ['vllm', 'qwen'],
  tgi: ['tgi', 'tgi'],
  triton: ['triton', 'llama'],
  openai: ['openai', 'gpt-4.1'],
  newest: ['openai', 'gpt-5.4'],
  deepseek: ['openai', 'deepseek-reasoner'],
  azure: ['azure_openai', 'gpt-5.4'],
  anthropic: ['anthropic', 'claude-sonnet-4-5'],
  opus: ['anthropic', 'claude-opus-4-8'],
  bedrock: ['bedrock', 'us.anthropic.claude-sonnet-4-5-v1:0'],
  gemini: ['gemini', 'gemini-3-pro'],
  ollama: ['ollama', 'qwen3'],
} as const
type Name = keyof typeof MODELS
const NAMES = Object.keys(MODELS) as Name[]
const SETTINGS: Partial<Record<Name, object>> = {
  bedrock: { region: 'eu-west-1' },
  azure: { deployment: 'gpt-5.4', api_version: '2025-01-01-preview' },
}

const servers = await Promise.all(NAMES.map(() => startUpstream()))
const fakes = Object.fromEntries(NAMES.map((name, at) => [name, servers[at]])) as Record<
  Name,
  FakeUpstream
>
fakes.deepseek.vendor = { takesAll: "Uses OpenAI's API and accepts earlier thinking." }
const front = await startFront({
  upstreams: NAMES.map((name) => ({
    name,
    endpoint: fakes[name].url,
    provider: MODELS[name][0],
    model: MODELS[name][1],
    ...SETTINGS[name],
  })),
  routes: NAMES.map((name) => ({ name, strategy: 'single', primary: name })),
})
after(() => Promise.all([front.process.stop(), ...servers.map((one) => one.close())]))

const credential = { apiKey: front.key, maxRetries: 0 }
const openai = new OpenAI({ ...credential, baseURL: `${front.process.url}/v1` })
const anthropic = new Anthropic({ ...credential, baseURL: front.process.url })

// biome-ignore lint/suspicious/noExplicitAny: read like a vendor without types reads.
type Json = any

const TOOL = {
  name: 'Bash',
  parameters: { type: 'object', properties: { command: { type: 'string' } } },
}
const TOOLS = {
  chat: [{ type: 'function', function: TOOL }],
  messages: [{ name: 'Bash', input_schema: TOOL.parameters }],
  responses: [{ type: 'function', ...TOOL, strict: false }],
}
const HI = { role: 'user', content: 'Hi' }

/** Chat completion chunks with these deltas. */
function chunked(deltas: readonly string[], finish = 'tool_calls'): Reply {
  return (outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const delta of ['{"role":"assistant","content":""}', ...deltas])
      outgoing.write(
        `data: {"id":"c1","model":"served","choices":[{"index":0,"delta":${delta}}]}\n\n`,
      )
    outgoing.write(event({ id: 'c1', choices: [{ index: 0, delta: {}, finish_reason: finish }] }))
    outgoing.end('data: [DONE]\n\n')
  }
}

function answering(text: string): Reply {
  return (outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'application/json' }).end(text)
  }
}

interface Heard {
  readonly calls: readonly { readonly id: string; readonly name: string; readonly args: string }[]
  readonly text: string
  readonly finish: unknown
}

/** The answer as the SDK of an API assembles it from a stream. */
const STREAMS: Record<'chat' | 'messages' | 'responses', (model: string) => Promise<Heard>> = {
  async chat(model) {
    const body = { model, messages: [HI], tools: TOOLS.chat } as Json
    const last = await openai.chat.completions.stream(body).finalChatCompletion()
    const [{ message, finish_reason: finish }] = last.choices as Json
    const calls = (message.tool_calls ?? []) as Json[]
    return {
      calls: calls.map(({ id, function: made }) => ({ id, name: made.name, args: made.arguments })),
      text: message.content ?? '',
      finish,
    }
  },
  async messages(model) {
    const body = { model, max_tokens: 100, messages: [HI], tools: TOOLS.messages } as Json
    const last = await anthropic.messages.stream(body).finalMessage()
    const blocks = last.content as Json[]
    const of = (type: string) => blocks.filter((block) => block.type === type)
    return {
      calls: of('tool_use').map(({ id, name, input }) => ({
        id,
        name,
        args: JSON.stringify(input),
      })),
      text: of('text')
        .map(({ text }) => text)
        .join(''),
      finish: last.stop_reason,
    }
  },
  async responses(model) {
    const body = { model, input: 'Hi', tools: TOOLS.responses } as Json
    const last = await openai.responses.stream(body).finalResponse()
    const items = last.output as Json[]
    const calls = items.filter(({ type }) => type === 'function_call')
    return {
      calls: calls.map(({ call_id: id, name, arguments: args }) => ({ id, name, args })),
      text: last.output_text,
      finish: last.status,
    }
  },
}
const READERS = [
  ['messages', 'vllm'],
  ['responses', 'vllm'],
  ['messages', 'openai'],
  ['responses', 'openai'],
  ['chat', 'tgi'],
  ['chat', 'triton'],
] as const
const CALLS_WORD = { chat: 'tool_calls', messages: 'tool_use', responses: 'completed' }

/** A stream with these deltas yields these calls in each API. */
function reads(
  sentence: string,
  deltas: readonly string[],
  expected: {
    readonly calls: readonly [string, Json][]
    readonly text?: string
    readonly finish?: string
  },
): void {
  for (const [api, name] of READERS)
    test(`${sentence}: ${api} from ${name}`, async () => {
      fakes[name].reply = chunked(deltas, expected.finish)
      const { calls, text, finish } = await STREAMS[api](name)
      const seen = calls.map((call) => [call.name, JSON.parse(call.args)])
      assert.deepEqual(seen, expected.calls)
      assert.equal(new Set(calls.map(({ id }) => id)).size, calls.length)
      assert.ok(calls.every(({ id }) => id !== ''))
      assert.deepEqual([text.trim(), finish], [expected.text ?? '', CALLS_WORD[api]])
    })
}

reads(
  'text that arrives during a call is sent after the call ends',
  [
    '{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"Bash","arguments":""}}]}',
    '{"tool_calls":[{"index":0,"function":{"arguments":"{\\"command\\": \\"ls"}}]}',
    '{"content":"\\n","tool_calls":[{"index":0,"function":{"arguments":" -la\\"}"}}]}',
  ],
  { calls: [['Bash', { command: 'ls -la' }]] },
)
reads(
  'reasoning that arrives during a call does not end the call',
  [
    '{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"Bash","arguments":"{\\"command\\": \\"ls"}}]}',
    '{"reasoning":"Hm."}',
    '{"tool_calls":[{"index":0,"function":{"arguments":" -la\\"}"}}]}',
  ],
  { calls: [['Bash', { command: 'ls -la' }]] },
)
reads(
  'two ids at one index are two calls',
  [
    '{"tool_calls":[{"index":0,"id":"call_a","function":{"name":"Bash","arguments":"{\\"command\\":\\"a\\"}"}}]}',
    '{"tool_calls":[{"index":0,"id":"call_b","function":{"name":"Bash","arguments":"{\\"command\\":\\"b\\"}"}}]}',
  ],
  {
    calls: [
      ['Bash', { command: 'a' }],
      ['Bash', { command: 'b' }],
    ],
  },
)
reads(
  'a call without an id has its name',
  [
    '{"tool_calls":[{"index":0,"function":{"name":"Bash","arguments":"{\\"command\\":\\"ls\\"}"}}]}',
  ],
  { calls: [['Bash', { command: 'ls' }]] },
)
reads(
  'a late name becomes the name of its call',
  [
    '{"tool_calls":[{"index":0,"function":{"arguments":"{\\"command\\":\\"ls\\"}"}}]}',
    '{"tool_calls":[{"index":0,"id":"call_a","function":{"name":"Bash"}}]}',
  ],
  { calls: [['Bash', { command: 'ls' }]] },
)
reads(
  'finish reason stop with calls ends the answer as calls do',
  ['{"tool_calls":[{"index":0,"id":"call_a","function":{"name":"Bash","arguments":"{}"}}]}'],
  { calls: [['Bash', {}]], finish: 'stop' },
)

for (const [api, name] of READERS)
  test(`arguments of 1.5 MB in one event cause an error event: ${api} from ${name}`, async () => {
    const large = JSON.stringify(JSON.stringify({ command: 'x'.repeat(1_500_000) }))
    fakes[name].reply = chunked([
      `{"tool_calls":[{"index":0,"id":"call_a","function":{"name":"Bash","arguments":${large}}}]}`,
    ])
    await assert.rejects(STREAMS[api](name))
  })

const HUGE = '1234567890123456789'
const ARGS = `{"id":${HUGE}}`
const CALLED = [
  HI,
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'call_a', type: 'function', function: { name: 'Bash', arguments: ARGS } }],
  },
  { role: 'tool', tool_call_id: 'call_a', content: ARGS },
]
/** Whole answers with a call that has these arguments. */
const CALLING = {
  anthropic: `{"id":"m1","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":${ARGS}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`,
  bedrock: `{"output":{"message":{"role":"assistant","content":[{"toolUse":{"toolUseId":"t1","name":"Bash","input":${ARGS}}}]}},"stopReason":"tool_use","usage":{"inputTokens":1,"outputTokens":1}}`,
  gemini: `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"Bash","args":${ARGS}}}]},"finishReason":"STOP"}]}`,
  ollama: `{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"Bash","arguments":${ARGS}}}]},"done":true,"done_reason":"stop"}`,
  openai: `{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"Bash","arguments":${JSON.stringify(ARGS)}}}]},"finish_reason":"tool_calls"}]}`,
}

/** The text that the upstream received, with its numbers. */
async function posted(path: string, body: string) {
  const answer = await fetch(front.process.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' },
    body,
  })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

function sentTo(name: Name): { readonly path: string; readonly body: Json; readonly text: string } {
  return fakes[name].asked.at(-1) ?? assert.fail()
}

for (const name of ['anthropic', 'bedrock', 'gemini', 'ollama'] as const)
  test(`an integer above 2^53 is unchanged in arguments to and from ${name}, and in results`, async () => {
    fakes[name].reply = answering(CALLING[name])
    const body = { model: name, messages: CALLED, tools: TOOLS.chat }
    const { status, text } = await posted('/v1/chat/completions', JSON.stringify(body))
    assert.equal(status, 200, text)
    const [call] = JSON.parse(text).choices[0].message.tool_calls
    assert.equal(call.function.arguments, ARGS)
    assert.equal(sentTo(name).text.split(HUGE).length - 1, 2)
  })

test('an integer above 2^53 is unchanged in messages from a server of chat completions', async () => {
  fakes.vllm.reply = answering(CALLING.openai)
  const body = { model: 'vllm', max_tokens: 100, messages: [HI], tools: TOOLS.messages }
  const { text } = await posted('/v1/messages', JSON.stringify(body))
  assert.ok(text.includes(`"input":${ARGS}`), text)
})

test('numbers are unchanged when unsigned thinking is removed from a body sent to Anthropic', async () => {
  fakes.anthropic.reply = answering(CALLING.anthropic)
  const turns = `[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":""},{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"id":${HUGE},"n":1.0,"e":1e2}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"ok"}]}]`
  const tools = JSON.stringify(TOOLS.messages)
  const body = `{"model":"anthropic","max_tokens":100,"messages":${turns},"tools":${tools}}`
  const { status, text } = await posted('/v1/messages', body)
  assert.equal(status, 200, text)
  assert.ok(sentTo('anthropic').text.includes(`{"id":${HUGE},"n":1.0,"e":1e2}`))
  assert.doesNotMatch(sentTo('anthropic').text, /"thinking"/)
})

for (const [name, member] of [
  ['deepseek', 'reasoning_content'],
  ['vllm', 'reasoning'],
  ['ollama', 'thinking'],
] as const)
  test(`thinking after calls is returned to ${name} as ${member}`, async () => {
    fakes[name].reply = answering(name === 'ollama' ? CALLING.ollama : CALLING.openai)
    const [hi, turn, result] = CALLED
    const messages = [hi, { ...turn, reasoning_content: 'I look.' }, result]
    await posted(
      '/v1/chat/completions',
      JSON.stringify({ model: name, messages, tools: TOOLS.chat }),
    )
    assert.equal(sentTo(name).body.messages[1][member], 'I look.')
    const content = [
      { type: 'thinking', thinking: 'I look.', signature: '' },
      { type: 'tool_use', id: 'call_a', name: 'Bash', input: {} },
    ]
    const results = [{ type: 'tool_result', tool_use_id: 'call_a', content: 'ok' }]
    const turns = [hi, { role: 'assistant', content }, { role: 'user', content: results }]
    const body = { model: name, max_tokens: 100, messages: turns, tools: TOOLS.messages }
    await posted('/v1/messages', JSON.stringify(body))
    assert.equal(sentTo(name).body.messages[1][member], 'I look.')
  })

for (const name of ['newest', 'azure'] as const)
  test(`${name}: GPT-5.4 with tools and an effort is called through /responses, for chat and messages`, async () => {
    fakes[name].reply = answering(
      '{"id":"r1","object":"response","status":"completed","model":"m","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello"}]}],"usage":{"input_tokens":5,"output_tokens":2,"total_tokens":7}}',
    )
    const chat = { model: name, messages: [HI], tools: TOOLS.chat, reasoning_effort: 'medium' }
    const { text } = await posted('/v1/chat/completions', JSON.stringify(chat))
    assert.equal(JSON.parse(text).choices[0].message.content, 'Hello')
    assert.match(sentTo(name).path, /\/responses/)
    const body = { model: name, max_tokens: 100, messages: [HI], tools: TOOLS.messages }
    const effort = { output_config: { effort: 'medium' } }
    const answer = await posted('/v1/messages', JSON.stringify({ ...body, ...effort }))
    assert.partialDeepStrictEqual(JSON.parse(answer.text), {
      content: [{ type: 'text', text: 'Hello' }],
      usage: { input_tokens: 5, output_tokens: 2 },
    })
    assert.match(sentTo(name).path, /\/responses/)
  })

test('an effort for gpt-4.1 is dropped and named', async () => {
  fakes.openai.reply = answering(CALLING.openai)
  const chat = { model: 'openai', messages: [HI], reasoning_effort: 'high' }
  const { status, headers } = await posted('/v1/chat/completions', JSON.stringify(chat))
  assert.equal(status, 200)
  assert.equal(sentTo('openai').body.reasoning_effort, undefined)
  const trace = await front.admin(`/traces/${headers.get('x-request-id')}`)
  assert.match(
    `${headers.get('x-gw-dropped-parameters')} ${trace.attempts[0].left_out}`,
    /reasoning_effort/,
  )
})

test('effort medium without a limit leaves room for the answer after the thinking', async () => {
  fakes.anthropic.reply = answering(CALLING.anthropic)
  const chat = { model: 'anthropic', messages: [HI], reasoning_effort: 'medium' }
  await posted('/v1/chat/completions', JSON.stringify(chat))
  const { max_tokens: limit, thinking } = sentTo('anthropic').body
  assert.ok(limit - thinking.budget_tokens >= 4_096, JSON.stringify({ limit, thinking }))
})

test('the newest Claude is not asked to disable thinking, because it refuses that', async () => {
  fakes.opus.reply = answering(CALLING.anthropic)
  const chat = { model: 'opus', messages: [HI], reasoning_effort: 'none' }
  assert.equal((await posted('/v1/chat/completions', JSON.stringify(chat))).status, 200)
  assert.notEqual(sentTo('opus').body.thinking?.type, 'disabled')
})

const MCP =
  'mcp__claude_ai_Atlassian_Rovo__getConfluencePageInlineCommentsByVersionAndStatus1234567'
for (const name of ['openai', 'bedrock'] as const)
  test(`an MCP name of 87 letters is shortened for ${name}, also in the history, and restored for the client`, async () => {
    assert.equal(MCP.length, 87)
    fakes[name].reply = (outgoing, { text }) => {
      const short = /"name":"([^"]+)"/.exec(text)?.[1] ?? ''
      answering(CALLING[name].replace('Bash', short))(outgoing, {} as never)
    }
    const body = { model: name, messages: CALLED, tools: TOOLS.chat }
    const { text } = await posted(
      '/v1/chat/completions',
      JSON.stringify(body).replaceAll('Bash', MCP),
    )
    assert.equal(JSON.parse(text).choices[0].message.tool_calls[0].function.name, MCP)
    const sent = [...sentTo(name).text.matchAll(/"name":"([^"]+)"/g)].map(([, one]) => one)
    assert.ok(sent.length >= 2 && new Set(sent).size === 1 && Number(sent[0]?.length) <= 64)
  })

test('the schemas {"type":"object"} and {} are sent in the form each vendor requires', async () => {
  for (const parameters of [{ type: 'object' }, {}])
    for (const name of ['openai', 'anthropic', 'bedrock'] as const) {
      fakes[name].reply = answering(CALLING[name])
      const tools = [{ type: 'function', function: { name: 'Bash', parameters } }]
      const body = JSON.stringify({ model: name, messages: [HI], tools })
      assert.equal((await posted('/v1/chat/completions', body)).status, 200)
      const [tool] = sentTo(name).body.tools ?? sentTo(name).body.toolConfig.tools
      const schema =
        tool.function?.parameters ?? tool.input_schema ?? tool.toolSpec.inputSchema.json
      assert.equal(schema.type, 'object')
      if (name === 'openai') assert.deepEqual(schema.properties, {})
    }
})

test('bounds of a Pydantic field become descriptions in a structured answer of Anthropic', async () => {
  fakes.anthropic.reply = answering(CALLING.anthropic)
  const schema = {
    type: 'object',
    properties: { age: { type: 'integer', minimum: 0, maximum: 150 } },
    required: ['age'],
  }
  const format = { type: 'json_schema', json_schema: { name: 'Person', schema, strict: true } }
  const body = JSON.stringify({ model: 'anthropic', messages: [HI], response_format: format })
  assert.equal((await posted('/v1/chat/completions', body)).status, 200)
  const sent = sentTo('anthropic').body.output_config.format.schema
  const { age } = sent.properties
  assert.deepEqual(
    ['minimum' in age, 'maximum' in age, sent.additionalProperties],
    [false, false, false],
  )
  assert.match(age.description, /150/)
})

test('a tool result that is JSON with a $ref is sent to Gemini as text', async () => {
  fakes.gemini.reply = answering(CALLING.gemini)
  const content = '{"$ref":"#/components/schemas/Pet","id":1234567890123456789}'
  const messages = [...CALLED.slice(0, 2), { role: 'tool', tool_call_id: 'call_a', content }]
  const body = JSON.stringify({ model: 'gemini', messages, tools: TOOLS.chat })
  assert.equal((await posted('/v1/chat/completions', body)).status, 200)
  const { parts } = sentTo('gemini').body.contents.at(-1)
  assert.deepEqual(Object.values(parts[0].functionResponse.response), [content])
})

test('a user of 191 letters, as Claude Code sends it, is hashed for OpenAI', async () => {
  fakes.openai.reply = answering(CALLING.openai)
  const user_id = `user_${'a'.repeat(186)}`
  const body = { model: 'openai', max_tokens: 100, messages: [HI], metadata: { user_id } }
  assert.equal((await posted('/v1/messages', JSON.stringify(body))).status, 200)
  assert.match(sentTo('openai').body.user, /^[0-9a-f]{64}$/)
})

test('an id call_0 that each turn repeats is unique to each turn at the vendor, in the call and its result', async () => {
  fakes.anthropic.reply = answering(CALLING.anthropic)
  const turn = (id: string) => [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name: 'Bash', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: id, content: 'ok' },
  ]
  const messages = [HI, ...turn('call_0'), ...turn('call_0')]
  const body = JSON.stringify({ model: 'anthropic', messages, tools: TOOLS.chat })
  assert.equal((await posted('/v1/chat/completions', body)).status, 200)
  const blocks = (sentTo('anthropic').body.messages as Json[]).flatMap(({ content }) => content)
  const calls = blocks.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []))
  const results = blocks.flatMap(({ tool_use_id: id }) => id ?? [])
  assert.deepEqual([new Set(calls).size, calls], [2, results])
})

test('cache marks of chat parts are a cachePoint at Bedrock and cache_control at Anthropic', async () => {
  const content = [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }]
  for (const name of ['bedrock', 'anthropic'] as const) {
    fakes[name].reply = answering(CALLING[name])
    const body = JSON.stringify({ model: name, messages: [{ role: 'user', content }] })
    assert.equal((await posted('/v1/chat/completions', body)).status, 200)
    assert.match(sentTo(name).text, name === 'bedrock' ? /"cachePoint"/ : /"cache_control"/)
  }
})

test('the stop sequence that vLLM reports appears in messages', async () => {
  fakes.vllm.reply = answering(
    '{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":"Done."},"finish_reason":"stop","stop_reason":"END"}]}',
  )
  const body = { model: 'vllm', max_tokens: 100, messages: [HI], stop_sequences: ['END'] }
  const { text } = await posted('/v1/messages', JSON.stringify(body))
  assert.match(text, /"stop_reason":"stop_sequence","stop_sequence":"END"/)
})
