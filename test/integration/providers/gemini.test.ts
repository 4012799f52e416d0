/** Gemini called through the official OpenAI SDK; Google's own SDK verifies the fake API. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { ApiError, FunctionCallingConfigMode, GoogleGenAI } from '@google/genai'
import OpenAI, { APIError } from 'openai'
import {
  startFront,
  startUpstream,
  streaming,
  whole,
  wordsOf,
} from '../../helpers/fake-upstream.ts'
import { startFakeGemini } from '../../helpers/providers/fakes/gemini.ts'
import { CANONICAL, type ErrorCase, readCases } from '../../helpers/providers/provider-fixtures.ts'
import { sdkError } from '../../helpers/sdk-error.ts'

const KEY = 'upstream-credential'
const MODEL = 'gemini-3-flash-preview'
const [fake, spare] = await Promise.all([
  startFakeGemini({ key: KEY }),
  startUpstream(whole('from the spare')),
])
const provider = 'gemini'
/** Failures of one upstream do not affect the others. */
const SPILLING = ['overloaded', 'server', 'key', 'model', 'late', 'rate', 'day', 'permission']
const pairs = [...SPILLING, 'broken', 'unfit'].map((name) => `pair-${name}`)
const front = await startFront(
  {
    upstreams: [
      { name: 'gemini', provider, endpoint: fake.url, model: MODEL },
      { name: 'older', provider, endpoint: `${fake.url}/v1`, model: 'gemini-2.5-flash' },
      { name: 'keyless', provider, endpoint: fake.url, model: MODEL, api_key: '${env:WRONG_KEY}' },
      { name: 'vectors', provider, endpoint: fake.url, model: 'gemini-embedding-001' },
      { name: 'spare', endpoint: spare.url },
      ...pairs.map((name) => ({ name, provider, endpoint: fake.url, model: MODEL })),
    ],
    routes: [
      { name: 'chat', strategy: 'single', primary: 'gemini' },
      { name: 'older', strategy: 'single', primary: 'older' },
      { name: 'keyless', strategy: 'single', primary: 'keyless' },
      { name: 'vectors', strategy: 'single', primary: 'vectors' },
      ...pairs.map((name) => ({
        name,
        strategy: 'primary_with_fallback',
        primary: name,
        fallback: ['spare'],
      })),
    ],
  },
  { env: { WRONG_KEY: 'not-the-key' } },
)
after(() => Promise.all([front.process.stop(), fake.close(), spare.close()]))
const google = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: fake.url } })
const client = new OpenAI({ apiKey: front.key, baseURL: `${front.process.url}/v1`, maxRetries: 0 })

const parameters = { type: 'object', properties: { city: { type: 'string' } } }
const declaration = { name: 'get_weather', parametersJsonSchema: parameters }

function ask(content: string, model = 'chat') {
  return { model, messages: [{ role: 'user' as const, content }] }
}

function aTool(name: string) {
  return { type: 'function' as const, function: { name, parameters } }
}

const failing = (asked: Promise<unknown>) => sdkError<APIError>(asked, APIError)

beforeEach(() => {
  fake.asked.length = 0
  fake.refusals.length = 0
  spare.asked.length = 0
})

test("Google's SDK reads the fake's whole answers and streams", async () => {
  const answer = await google.models.generateContent({ model: MODEL, contents: 'Hello' })
  assert.equal(answer.text, 'Good day.')
  assert.equal(answer.usageMetadata?.totalTokenCount, 32)
  const stream = await google.models.generateContentStream({ model: MODEL, contents: 'Hello' })
  const texts = await Array.fromAsync(stream, ({ text }) => text)
  assert.deepEqual(texts, ['Good ', 'day.'])
})

test("Google's SDK calls tools of the fake, which requires its signatures", async () => {
  const config = {
    tools: [{ functionDeclarations: [declaration] }],
    toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY } },
  }
  const chat = google.chats.create({ model: MODEL, config })
  const { functionCalls = [] } = await chat.sendMessage({ message: 'Weather?' })
  assert.deepEqual(functionCalls[0]?.args, { city: 'Oslo' })
  const functionResponse = { name: 'get_weather', response: { temp_c: 4 } }
  const { text } = await chat.sendMessage({ message: [{ functionResponse }] })
  assert.equal(text, 'get_weather says {"temp_c":4}.')
  const call = { functionCall: { name: 'get_weather', args: {} } }
  const contents = [
    { role: 'user', parts: [{ text: 'x' }] },
    { role: 'model', parts: [call] },
    { role: 'user', parts: [{ functionResponse }] },
  ]
  const unsigned = google.models.generateContent({ model: MODEL, contents })
  await assert.rejects(unsigned, /thought_signature/)
  const stranger = new GoogleGenAI({ apiKey: 'other', httpOptions: { baseUrl: fake.url } })
  const refused = stranger.models.generateContent({ model: MODEL, contents: 'Hello' })
  await assert.rejects(refused, (error) => error instanceof ApiError && error.status === 400)
})

test('a whole answer arrives as a chat completion', async () => {
  const { choices, usage, model } = await client.chat.completions.create({
    ...ask('Hello'),
    max_completion_tokens: 50,
    temperature: 0.3,
  })
  assert.equal(choices[0]?.message.content, 'Good day.')
  assert.equal(choices[0]?.finish_reason, 'stop')
  assert.equal(model, MODEL)
  assert.partialDeepStrictEqual(usage, {
    prompt_tokens: 30,
    completion_tokens: 2,
    total_tokens: 32,
    prompt_tokens_details: { cached_tokens: 10 },
  })
  const [asked] = fake.asked
  assert.equal(asked?.path, `/v1beta/models/${MODEL}:generateContent`)
  assert.equal(asked?.headers['x-goog-api-key'], KEY)
  assert.ok(!('authorization' in (asked?.headers ?? {})))
  assert.deepEqual(asked?.body.generationConfig, { maxOutputTokens: 50, temperature: 0.3 })
})

test('a stream arrives in pieces, with usage if the client asks for it', async () => {
  const chunks = await Array.fromAsync(
    await client.chat.completions.create({ ...ask('Hello', 'older'), stream: true }),
  )
  const texts = chunks.map(({ choices }) => choices[0]?.delta.content ?? '')
  assert.equal(texts.join(''), 'Good day.')
  assert.ok(chunks.every((chunk) => !('usage' in chunk)))
  assert.equal(fake.asked[0]?.path, '/v1/models/gemini-2.5-flash:streamGenerateContent?alt=sse')
  const counted = client.chat.completions.stream({
    ...ask('Hello'),
    stream_options: { include_usage: true },
  })
  const { usage, choices } = await counted.finalChatCompletion()
  assert.deepEqual([usage?.prompt_tokens, usage?.completion_tokens], [30, 2])
  assert.equal(choices[0]?.finish_reason, 'stop')
})

test('a request with the common members of all providers is accepted', async () => {
  // Writing out the type would be long; the content is what a client of the SDK sends.
  const canonical = {
    ...CANONICAL,
    model: 'chat',
  } as unknown as OpenAI.ChatCompletionCreateParamsStreaming
  const chunks = await Array.fromAsync(await client.chat.completions.create(canonical))
  const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
  assert.equal(text, 'get_weather says {"temp_c":4}.')
})

for (const stream of [true, false]) {
  test(`an agent calls tools in parallel and gets the text that follows, ${stream ? 'streamed' : 'whole'}`, async () => {
    const cities: string[] = []
    const tool = (name: string) => ({
      type: 'function' as const,
      function: {
        name,
        description: name,
        parameters,
        parse: JSON.parse,
        function: ({ city }: { city: string }) => `${cities.push(city)}`,
      },
    })
    const tools = [tool('get_weather'), tool('get_time')]
    const asked = { ...ask('Ask all of them.'), tools }
    const runner = stream
      ? client.chat.completions.runTools({ ...asked, stream: true })
      : client.chat.completions.runTools(asked)
    const words = await runner.finalContent()
    assert.equal(words, 'get_weather says 1, get_time says 2.')
    assert.deepEqual(cities, ['Oslo', 'Bergen'])
    const parts = fake.asked[1]?.body.contents[1].parts
    assert.equal(typeof parts[0].thoughtSignature, 'string')
    assert.notEqual(parts[0].thoughtSignature, 'skip_thought_signature_validator')
    assert.equal(parts[1].thoughtSignature, undefined)
  })
}

test("a client that drops a call's signature, or sends calls of another model, is served", async () => {
  const asked = { ...ask('Weather?'), tools: [aTool('get_weather')] }
  const { choices } = await client.chat.completions.create(asked)
  const call = choices[0]?.message.tool_calls?.[0]
  assert.ok(call?.type === 'function')
  const { id, function: called } = call
  const history = (call: object, tool_call_id: string) => [
    ...asked.messages,
    {
      role: 'assistant' as const,
      content: null,
      tool_calls: [call as OpenAI.ChatCompletionMessageToolCall],
    },
    { role: 'tool' as const, tool_call_id, content: '{"temp_c":4}' },
  ]
  const bare = { id, type: 'function', function: called }
  const other = {
    id: 'toolu_1',
    type: 'function',
    function: { name: 'get_weather', arguments: '{}' },
  }
  for (const messages of [history(bare, id), history(other, 'toolu_1')]) {
    const next = await client.chat.completions.create({ model: 'chat', messages })
    assert.equal(next.choices[0]?.message.content, 'get_weather says {"temp_c":4}.')
  }
  const signatures = fake.asked
    .slice(1)
    .map(({ body }) => body.contents[1].parts[0].thoughtSignature)
  assert.notEqual(signatures[0], 'skip_thought_signature_validator')
  assert.equal(signatures[1], 'skip_thought_signature_validator')
})

test('the answer has at most one call if the client asks for that', async () => {
  const asked = { ...ask('Ask all of them.'), tools: [aTool('f'), aTool('g')] }
  const { choices } = await client.chat.completions.create({ ...asked, parallel_tool_calls: false })
  assert.equal(choices[0]?.message.tool_calls?.length, 1)
  assert.equal(choices[0]?.finish_reason, 'tool_calls')
})

test('clients of the other APIs call tools too, at most one if they ask for that', async () => {
  const functions = ['f', 'g'].map((name) => ({
    type: 'function' as const,
    name,
    parameters,
    strict: false,
  }))
  const asked = { model: 'chat', tools: functions }
  const question = { role: 'user' as const, content: 'Ask all of them.' }
  const responses = async (parallel_tool_calls: boolean) =>
    await client.responses.create({ ...asked, input: [question], parallel_tool_calls })
  assert.equal((await responses(false)).output.length, 1)
  const { output } = await responses(true)
  const results = output.flatMap((item) =>
    item.type === 'function_call'
      ? [{ type: 'function_call_output' as const, call_id: item.call_id, output: '{"ok":true}' }]
      : [],
  )
  // A history contains the items of earlier answers unchanged.
  const input = [question, ...output, ...results] as OpenAI.Responses.ResponseInput
  const next = await client.responses.create({ ...asked, input })
  assert.equal(next.output_text, 'f says {"ok":true}, g says {"ok":true}.')

  const anthropic = new Anthropic({ apiKey: front.key, baseURL: front.process.url, maxRetries: 0 })
  const input_schema = { type: 'object' as const, properties: parameters.properties }
  const tools = ['f', 'g'].map((name) => ({ name, input_schema }))
  const messages = async (disable_parallel_tool_use: boolean) =>
    await anthropic.messages.create({
      model: 'chat',
      max_tokens: 50,
      tools,
      messages: [question],
      tool_choice: { type: 'auto', disable_parallel_tool_use },
    })
  assert.equal((await messages(true)).content.length, 1)
  assert.equal((await messages(false)).content.length, 2)
})

test('images as data and as URLs, and sounds', async () => {
  const content = [
    { type: 'text' as const, text: 'What?' },
    { type: 'image_url' as const, image_url: { url: 'data:image/png;base64,AAAA' } },
    { type: 'image_url' as const, image_url: { url: 'https://images.test/a.webp' } },
    { type: 'input_audio' as const, input_audio: { data: 'BBBB', format: 'wav' as const } },
  ]
  const { choices } = await client.chat.completions.create({
    model: 'chat',
    messages: [{ role: 'user', content }],
  })
  assert.equal(
    choices[0]?.message.content,
    'I see image/png of 4. I see https://images.test/a.webp. I see audio/wav of 4. Good day.',
  )
})

test('the answer follows a schema', async () => {
  const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  const { choices } = await client.chat.completions.parse({
    ...ask('Where?'),
    response_format: { type: 'json_schema', json_schema: { name: 'place', strict: true, schema } },
  })
  assert.deepEqual(JSON.parse(choices[0]?.message.content ?? ''), { city: 'x' })
})

test('thoughts are reasoning, and are counted', async () => {
  const { choices, usage } = await client.chat.completions.create({
    ...ask('Hello', 'older'),
    reasoning_effort: 'low',
  })
  assert.partialDeepStrictEqual(choices[0]?.message, {
    content: 'Good day.',
    reasoning_content: 'Hm.',
  })
  assert.equal(usage?.completion_tokens_details?.reasoning_tokens, 7)
  assert.equal(usage?.completion_tokens, 10)
  const thinkingConfig = fake.asked[0]?.body.generationConfig.thinkingConfig
  assert.deepEqual(thinkingConfig, { thinkingBudget: 1024, includeThoughts: true })
})

test('several choices, whole and streamed, with log probabilities', async () => {
  const asked = { ...ask('Hello'), n: 2, logprobs: true }
  const { choices } = await client.chat.completions.create(asked)
  assert.deepEqual(
    choices.map(({ message }) => message.content),
    ['Good day.', 'Good day.'],
  )
  assert.equal(choices[1]?.logprobs?.content?.[0]?.logprob, -0.25)
  const streamed = await client.chat.completions.stream(asked).finalChatCompletion()
  assert.deepEqual(
    streamed.choices.map(({ message, finish_reason: reason }) => [message.content, reason]),
    [
      ['Good day.', 'stop'],
      ['Good day.', 'stop'],
    ],
  )
})

test('a blocked prompt is a refusal', async () => {
  const { choices } = await client.chat.completions.create(ask('block this'))
  assert.equal(choices[0]?.finish_reason, 'content_filter')
  assert.equal(choices[0]?.message.refusal, 'The prompt was blocked (SAFETY).')
})

for (const name of SPILLING) {
  test(`"${name}" is retried at the fallback`, async () => {
    fake.refusals.push(refusal(name))
    const answer = await client.chat.completions.create(ask('Hello', `pair-${name}`))
    assert.equal(answer.choices[0]?.message.content, 'from the spare')
    assert.equal(fake.asked.length, 1)
  })
}

for (const [name, status, code] of [
  ['overloaded', 502, 'ERR_GW_UPSTREAM_ERROR'],
  ['rate', 429, 'ERR_GW_UPSTREAM_RATE_LIMIT'],
  ['day', 429, 'ERR_GW_UPSTREAM_RATE_LIMIT'],
  ['context', 400, 'ERR_GW_CONTEXT_OVERFLOW'],
  ['parameter', 400, '400'],
] as const) {
  test(`"${name}" without a fallback returns ${status}`, async () => {
    fake.refusals.push(refusal(name))
    const error = await failing(client.chat.completions.create(ask('Hello')))
    assert.deepEqual([error.status, error.code], [status, code])
    // A daily quota and a client's mistake do not go away, so the SDK must not retry.
    const isFinal = name === 'day' || status < 429
    assert.equal(error.headers?.get('x-should-retry'), isFinal ? 'false' : null)
  })
}

test('a wrong key of the gateway is an internal fault, and stays hidden', async () => {
  const error = await failing(client.chat.completions.create(ask('Hello', 'keyless')))
  assert.equal(error.status, 502)
  assert.equal(error.message.includes('not-the-key'), false)
})

test('a failure in the middle of a stream, even as plain JSON, does not end it normally', async () => {
  spare.script.push(streaming(), streaming())
  for (const words of ['break', 'break plainly']) {
    const heard = await front.stream(ask(words))
    // The whole stream arrived at once, so the gateway knew the error before it sent the first
    // word.
    assert.equal(heard.status, 502, heard.text)
    assert.equal(wordsOf(await front.stream(ask(words, 'pair-broken'))), 'hello')
  }
})

test('an invalid call of the model is retried elsewhere', async () => {
  const answer = await client.chat.completions.create(ask('confuse it', 'pair-broken'))
  assert.equal(answer.choices[0]?.message.content, 'from the spare')
})

test('a parameter without a counterpart is refused by name, or served by a fallback', async () => {
  const asked = { logit_bias: { 1: 2 } }
  const error = await failing(client.chat.completions.create({ ...ask('Hello'), ...asked }))
  assert.deepEqual([error.status, error.param], [400, 'logit_bias'])
  assert.match(error.message, /gemini/)
  const answer = await client.chat.completions.create({ ...ask('Hello', 'pair-unfit'), ...asked })
  assert.equal(answer.choices[0]?.message.content, 'from the spare')
  assert.equal(fake.asked.length, 0)
})

test('vectors have the order of their texts, in the form that the SDKs request', async () => {
  const model = 'gemini-embedding-001'
  const config = { outputDimensionality: 2 }
  const own = await google.models.embedContent({ model, contents: ['one', 'three'], config })
  const values = own.embeddings?.map((one) => one.values)
  assert.deepEqual(values, [
    [3, 0.5],
    [5, 0.5],
  ])
  const asked = { model: 'vectors', input: ['one', 'three'], dimensions: 2 }
  for (const format of [undefined, 'float'] as const) {
    const { data: answer, response } = await client.embeddings
      .create({ ...asked, ...(format && { encoding_format: format }) })
      .withResponse()
    const { data, usage } = answer
    assert.deepEqual(
      data.map(({ embedding }) => embedding),
      values,
    )
    assert.ok(usage.prompt_tokens > 0)
    // The API does not count their tokens.
    const trace = await front.admin(`/traces/${response.headers.get('x-request-id')}`)
    assert.deepEqual([trace.usage_estimated, trace.prompt_tokens > 0], [true, true])
  }
})

function refusal(name: string) {
  const found = readCases<ErrorCase[]>('gemini', 'errors.json').find((one) => one.case === name)
  return found ?? assert.fail(`there is no case "${name}"`)
}
