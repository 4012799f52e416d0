/**
 * Bedrock through a gateway process, called by OpenAI's SDK. AWS's own client shows that the fake
 * answers as Bedrock does.
 */
import assert from 'node:assert/strict'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { after, test } from 'node:test'
import {
  BedrockRuntimeClient,
  type BedrockRuntimeClientConfig,
  ConverseCommand,
  ConverseStreamCommand,
  ThrottlingException,
} from '@aws-sdk/client-bedrock-runtime'
import OpenAI from 'openai'
import { aKey } from '../../helpers/a-key.ts'
import { startGateway } from '../../helpers/gateway-process.ts'
import {
  type BedrockRequest,
  type Refusal,
  type Said,
  startBedrock,
} from '../../helpers/providers/fakes/bedrock.ts'

const KEY = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  sessionToken: 'IQoJb3JpZ2luX2VjEXAMPLE//token==',
}
const BEARER = 'ABSKQmVkcm9ja0FQSUtleS1leGFtcGxl'
const REGION = 'eu-west-1'
const CLAUDE = 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0'
const PROFILE = `arn:aws:bedrock:${REGION}:123456789012:inference-profile/${CLAUDE}`
const REQUEST_ID = '6a1f7c9e-0000-4000-8000-000000000000'

const WEATHER = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
  },
}
const CALLS: Said = {
  content: [
    { text: 'Let me see.' },
    { toolUse: { toolUseId: 'tooluse_1', name: 'get_weather', input: { city: 'Oslo' } } },
    { toolUse: { toolUseId: 'tooluse_2', name: 'get_weather', input: { city: 'Rom' } } },
    { toolUse: { toolUseId: 'tooluse_3', name: 'now', input: {} } },
  ],
  stopReason: 'tool_use',
}
const HALF: Said = { content: [{ text: 'Half of it' }] }
/** Resolved when the client has the beginning of a stream that will fail. */
const seen = { breaks: Promise.withResolvers<void>(), cut: Promise.withResolvers<void>() }
const ANSWERS: Readonly<Record<string, Said | Refusal>> = {
  think: {
    content: [
      { reasoningContent: { reasoningText: { text: 'Hm, let me think.', signature: 'sig' } } },
      { text: 'Yes.' },
    ],
  },
  json: { content: [{ text: '{"city":"Oslo"}' }] },
  cached: {
    content: [{ text: 'ok' }],
    usage: { inputTokens: 12, outputTokens: 3, totalTokens: 125, cacheReadInputTokens: 110 },
  },
  guarded: { content: [{ text: 'I cannot say.' }], stopReason: 'guardrail_intervened' },
  breaks: { ...HALF, breaks: 'modelStreamErrorException', until: seen.breaks.promise },
  cut: { ...HALF, breaks: 'cut', until: seen.cut.promise },
  'too long': {
    status: 400,
    type: 'ValidationException',
    message: 'Input is too long for requested model.',
  },
  wrong: { status: 400, type: 'ValidationException', message: 'That is wrong.' },
  slow: { status: 429, type: 'ThrottlingException', message: 'Too many requests.' },
  'slow at once': { content: [{ text: 'x' }], breaks: 'at once' },
}

/** The answer that the last message requests; words are returned unchanged. */
function answerTo({ body, action }: BedrockRequest): Said | Refusal {
  if (action === 'invoke') return { content: [vectorsFor(body)] }
  const blocks = body.messages.at(-1).content
  const asked = blocks.map((block: { text?: string }) => block.text ?? '').join('')
  if (body.toolConfig !== undefined && !('toolResult' in blocks[0])) return CALLS
  return ANSWERS[asked] ?? { content: [{ text: `You said: ${asked} – é漢😀` }] }
}

function vectorsFor({ inputText, texts }: BedrockRequest['body']): object {
  if (inputText !== undefined) return { embedding: [0.5, -0.25], inputTextTokenCount: 3 }
  return { embeddings: { float: texts.map((_: string, index: number) => [index, 0.5]) } }
}

const bedrock = await startBedrock({ region: REGION, key: KEY, bearer: BEARER }, answerTo)
const allowed = aKey({ id: 'allowed' })
const upstream = { provider: 'bedrock', endpoint: bedrock.url, region: REGION }
const gateway = await startGateway({
  env: {
    AWS_ACCESS_KEY_ID: KEY.accessKeyId,
    AWS_SECRET_ACCESS_KEY: KEY.secretAccessKey,
    AWS_SESSION_TOKEN: KEY.sessionToken,
    BEARER,
    WRITTEN: `${KEY.accessKeyId}:${KEY.secretAccessKey}:${KEY.sessionToken}`,
    WRONG: `${KEY.accessKeyId}:${KEY.secretAccessKey.toLowerCase()}`,
  },
  config: {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayConfig',
    gw: {
      upstreams: [
        { name: 'chain', ...upstream, model: CLAUDE, context_window: 200_000 },
        { name: 'bearer', ...upstream, model: PROFILE, api_key: '${env:BEARER}' },
        { name: 'written', ...upstream, model: PROFILE, api_key: '${env:WRITTEN}' },
        { name: 'titan', ...upstream, model: 'amazon.titan-embed-text-v2:0' },
        { name: 'embed', ...upstream, model: 'cohere.embed-multilingual-v3' },
        { name: 'wrong', ...upstream, model: CLAUDE, api_key: '${env:WRONG}' },
      ],
      routes: ['chain', 'bearer', 'written', 'wrong', 'titan', 'embed'].map((name) => ({
        name,
        strategy: 'single',
        primary: name,
      })),
      api_keys: [allowed.record],
    },
  },
})
after(() => Promise.all([gateway.stop(), bedrock.close()]))

const client = new OpenAI({ apiKey: allowed.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })

function ask(content: string, more: object = {}, model = 'chain') {
  return { model, messages: [{ role: 'user' as const, content }], ...more }
}

function lastAsked(): BedrockRequest {
  const last = bedrock.asked.at(-1)
  assert.ok(last)
  return last
}

/** HTTP/1.1 for AWS's client, which would otherwise use HTTP/2. */
const requestHandler = {
  handle: ({ path, headers, body, method, hostname, port }: HandledRequest) =>
    new Promise<{ response: object }>((resolve, reject) => {
      const sent = httpRequest({ path, headers, method, hostname, port }, (response) =>
        resolve({ response: responseOf(response) }),
      )
      sent.once('error', reject).end(body)
    }),
  destroy() {},
}

type Handler = NonNullable<BedrockRuntimeClientConfig['requestHandler']>

interface HandledRequest {
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: Buffer
  readonly method: string
  readonly hostname: string
  readonly port?: number
}

function responseOf(response: IncomingMessage) {
  return { statusCode: response.statusCode, headers: response.headers, body: response }
}

test("AWS's client reads the fake's answers, and the fake accepts its signature", async () => {
  const aws = new BedrockRuntimeClient({
    region: REGION,
    endpoint: bedrock.url,
    credentials: KEY,
    maxAttempts: 1,
    // Its types describe a whole handler, of which it uses only this part.
    requestHandler: requestHandler as unknown as Handler,
  })
  const words = (text: string) => ({
    modelId: PROFILE,
    messages: [{ role: 'user' as const, content: [{ text }] }],
  })
  const whole = await aws.send(new ConverseCommand(words('hello')))
  assert.equal(whole.output?.message?.content?.[0]?.text, 'You said: hello – é漢😀')
  assert.equal(whole.$metadata.requestId, REQUEST_ID)
  assert.equal(lastAsked().model, PROFILE)
  const { stream } = await aws.send(new ConverseStreamCommand(words('think')))
  const events = await Array.fromAsync(stream ?? [])
  const said = events.map((event) => event.contentBlockDelta?.delta?.text ?? '').join('')
  assert.equal(said, 'Yes.')
  assert.equal(events.at(-1)?.metadata?.usage?.totalTokens, 15)
  await assert.rejects(aws.send(new ConverseCommand(words('slow'))), ThrottlingException)
  // It waits for the first event.
  await assert.rejects(
    aws.send(new ConverseStreamCommand(words('slow at once'))),
    ThrottlingException,
  )
})

for (const model of ['chain', 'bearer', 'written']) {
  test(`an answer arrives whole and as a stream, with the credential of "${model}"`, async () => {
    const answer = await client.chat.completions.create(ask('hello', { max_tokens: 9 }, model))
    assert.equal(answer.choices[0]?.message.content, 'You said: hello – é漢😀')
    assert.equal(answer.choices[0]?.finish_reason, 'stop')
    assert.equal(answer.id, `chatcmpl-${REQUEST_ID}`)
    assert.equal(answer.model, model === 'chain' ? CLAUDE : PROFILE)
    assert.equal(answer.usage?.total_tokens, 15)
    assert.deepEqual(lastAsked().body.inferenceConfig, { maxTokens: 9 })
    assert.match(lastAsked().path, /%3A0\/converse$/)
    const asked = { stream: true as const, stream_options: { include_usage: true } }
    const stream = await client.chat.completions.create({ ...ask('hello', {}, model), ...asked })
    const chunks = await Array.fromAsync(stream)
    const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')
    assert.equal(text, 'You said: hello – é漢😀')
    assert.equal(chunks.at(-2)?.choices[0]?.finish_reason, 'stop')
    assert.deepEqual(chunks.at(-1)?.choices, [])
    assert.equal(chunks.at(-1)?.usage?.total_tokens, 15)
    assert.match(lastAsked().path, /%3A0\/converse-stream$/)
  })
}

test('parallel tool calls arrive whole and in pieces, and their results are sent back', async () => {
  const tools = [WEATHER]
  const whole = await client.chat.completions.create(ask('weather', { tools }))
  const stream = client.chat.completions.stream({ ...ask('weather', { tools }) })
  const pieces = await stream.finalChatCompletion()
  for (const { choices } of [whole, pieces]) {
    assert.equal(choices[0]?.finish_reason, 'tool_calls')
    const calls = choices[0]?.message.tool_calls ?? []
    assert.deepEqual(
      calls.map((call) => call.type === 'function' && [call.id, call.function.arguments]),
      [
        ['tooluse_1', '{"city":"Oslo"}'],
        ['tooluse_2', '{"city":"Rom"}'],
        ['tooluse_3', '{}'],
      ],
    )
  }
  const { message } = whole.choices[0] ?? assert.fail()
  const results = (message.tool_calls ?? []).map(({ id }) => ({
    role: 'tool' as const,
    tool_call_id: id,
    content: '4',
  }))
  const messages = [{ role: 'user' as const, content: 'weather' }, message, ...results]
  const answer = await client.chat.completions.create({ model: 'chain', messages })
  assert.equal(answer.choices[0]?.finish_reason, 'stop')
  const { body } = lastAsked()
  assert.deepEqual(
    body.messages.at(-1).content.map((block: { toolResult: object }) => block.toolResult),
    ['tooluse_1', 'tooluse_2', 'tooluse_3'].map((toolUseId) => ({
      toolUseId,
      content: [{ text: '4' }],
    })),
  )
})

test('images and documents are sent as bytes, and image URLs are refused by name', async () => {
  const image = (url: string) => ({ type: 'image_url' as const, image_url: { url } })
  const file = { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERg==' }
  const content = [
    { type: 'text' as const, text: 'What?' },
    image('data:image/png;base64,iVBORw0K'),
    { type: 'file' as const, file },
  ]
  await client.chat.completions.create({ model: 'chain', messages: [{ role: 'user', content }] })
  const [, picture, document] = lastAsked().body.messages[0].content
  assert.deepEqual(picture, { image: { format: 'png', source: { bytes: 'iVBORw0K' } } })
  assert.deepEqual(document.document.source, { bytes: 'JVBERg==' })
  const elsewhere = [{ role: 'user' as const, content: [image('https://a.test/b.png')] }]
  await assert.rejects(client.chat.completions.create({ model: 'chain', messages: elsewhere }), {
    status: 400,
    param: 'messages.0.content',
    message: /bedrock.*data URLs/,
  })
})

test('a schema is forwarded', async () => {
  const schema = { type: 'object', properties: { city: { type: 'string' } } }
  const format = { type: 'json_schema', json_schema: { name: 'a', schema } }
  const answer = await client.chat.completions.create(ask('json', { response_format: format }))
  assert.equal(answer.choices[0]?.message.content, '{"city":"Oslo"}')
  const { jsonSchema } = lastAsked().body.outputConfig.textFormat.structure
  assert.deepEqual(JSON.parse(jsonSchema.schema), { ...schema, additionalProperties: false })
})

test('reasoning is requested and read', async () => {
  const answer = await client.chat.completions.create(ask('think', { reasoning_effort: 'low' }))
  const { message } = answer.choices[0] ?? assert.fail()
  assert.partialDeepStrictEqual(message, {
    content: 'Yes.',
    reasoning_content: 'Hm, let me think.',
  })
  assert.deepEqual(lastAsked().body.additionalModelRequestFields, {
    thinking: { type: 'enabled', budget_tokens: 2048 },
  })
})

test('the prompt includes cached tokens, and blocked answers are marked', async () => {
  const cached = await client.chat.completions.create(ask('cached'))
  assert.equal(cached.usage?.prompt_tokens, 122)
  assert.equal(cached.usage?.prompt_tokens_details?.cached_tokens, 110)
  const guarded = await client.chat.completions.create(ask('guarded'))
  assert.equal(guarded.choices[0]?.finish_reason, 'content_filter')
  assert.equal(guarded.choices[0]?.message.content, 'I cannot say.')
})

test('embeddings use the wire of each model family', async () => {
  const one = await client.embeddings.create({ model: 'titan', input: 'Hi', dimensions: 2 })
  assert.deepEqual(one.data[0]?.embedding, [0.5, -0.25])
  assert.equal(one.usage.prompt_tokens, 3)
  assert.deepEqual(lastAsked().body, { inputText: 'Hi', dimensions: 2 })
  assert.equal(lastAsked().path, '/model/amazon.titan-embed-text-v2%3A0/invoke')
  const two = await client.embeddings.create({ model: 'embed', input: ['a', 'b'] })
  assert.deepEqual(
    two.data.map(({ embedding }) => embedding),
    [
      [0, 0.5],
      [1, 0.5],
    ],
  )
})

test('errors have the status and code of their class', async () => {
  const cases = [
    ['too long', {}, 'chain', 400, 'ERR_GW_CONTEXT_OVERFLOW', /Input is too long/],
    ['wrong', {}, 'chain', 400, null, /That is wrong\./],
    ['slow', {}, 'chain', 429, 'ERR_GW_UPSTREAM_RATE_LIMIT', /./],
    ['slow at once', { stream: true }, 'chain', 429, 'ERR_GW_UPSTREAM_RATE_LIMIT', /./],
    ['hello', {}, 'wrong', 502, 'ERR_GW_UPSTREAM_ERROR', /credential/],
    ['hello', { n: 2 }, 'chain', 400, 'ERR_GW_INVALID_REQUEST', /bedrock.*"n"/],
  ] as const
  for (const [text, more, model, status, code, message] of cases) {
    await assert.rejects(client.chat.completions.create(ask(text, more, model)), (error) => {
      assert.ok(error instanceof OpenAI.APIError, String(error))
      assert.deepEqual([error.status, error.code], [status, code], error.message)
      assert.match(error.message, message)
      return true
    })
  }
})

for (const how of ['breaks', 'cut'] as const) {
  test(`a stream that fails after its beginning ends with an error: ${how}`, async () => {
    const stream = await client.chat.completions.create({ ...ask(how), stream: true })
    let text = ''
    await assert.rejects(async () => {
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? ''
        if (text !== '') seen[how].resolve()
      }
    }, OpenAI.APIError)
    assert.equal(text, 'Half of it')
  })
}

test('no part of a credential is logged or returned', () => {
  const secrets = [KEY.secretAccessKey, KEY.sessionToken, BEARER]
  for (const secret of secrets) assert.equal(gateway.output().includes(secret), false)
})
