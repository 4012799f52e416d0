/**
 * Any hosted API behind the gateway, called by the official OpenAI SDK; each fake follows one
 * script.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import OpenAI from 'openai'
import { type FakeUpstream, startFront, startUpstream, whole } from '../../helpers/fake-upstream.ts'

export const WEATHER = {
  name: 'get_weather',
  description: 'Look up weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

const tools = [{ type: 'function' as const, function: WEATHER }]

function asking(content: string) {
  return { model: 'chat', messages: [{ role: 'user' as const, content }] }
}

/** A gateway in front of the API: `chat` uses it alone, `pair` adds a spare upstream. */
export async function testHosted(
  provider: string,
  api: FakeUpstream,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<OpenAI> {
  const spare = await startUpstream(whole('from the spare'))
  const front = await startFront({
    upstreams: [
      { name: 'hosted', provider, endpoint: api.url, model: 'upstream-m', ...settings },
      { name: 'spare', endpoint: spare.url },
    ],
    routes: [
      { name: 'chat', strategy: 'single', primary: 'hosted' },
      { name: 'pair', strategy: 'primary_with_fallback', primary: 'hosted', fallback: ['spare'] },
    ],
  })
  after(() => Promise.all([front.process.stop(), api.close(), spare.close()]))
  const baseURL = `${front.process.url}/v1`
  const client = new OpenAI({ apiKey: front.key, baseURL, maxRetries: 0 })
  testWords(client)
  testTools(client)
  testFailures(client)
  testVectors(client)
  return client
}

function testWords(client: OpenAI): void {
  test('an answer arrives whole, with its usage', async () => {
    const answer = await client.chat.completions.create({ ...asking('Hi'), seed: 7, user: 'u' })
    assert.equal(answer.choices[0]?.message.content, 'You said: Hi')
    assert.equal(answer.choices[0]?.finish_reason, 'stop')
    assert.partialDeepStrictEqual(answer.usage, {
      prompt_tokens: 20,
      completion_tokens: 9,
      total_tokens: 29,
    })
  })

  test('a stream that asked for usage gets it once, last, without choices', async () => {
    const asked = {
      ...asking('Hi'),
      stream: true,
      stream_options: { include_usage: true },
    } as const
    const chunks = await Array.fromAsync(await client.chat.completions.create(asked))
    const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
    assert.equal(text, 'You said: Hi')
    const counted = chunks.filter(({ usage }) => usage)
    assert.deepEqual(counted, [chunks.at(-1)])
    assert.deepEqual(counted[0]?.choices, [])
    assert.equal(counted[0]?.usage?.total_tokens, 29)
  })

  test('a stream that did not ask for usage has none', async () => {
    const asked = { ...asking('Hi'), stream: true } as const
    const chunks = await Array.fromAsync(await client.chat.completions.create(asked))
    assert.equal(chunks.at(-1)?.choices[0]?.finish_reason, 'stop')
    assert.equal(
      chunks.some((chunk) => 'usage' in chunk || chunk.choices.length === 0),
      false,
    )
  })

  test('the model sees a picture', async () => {
    const url = 'data:image/png;base64,iVBORw0KGgo='
    const content = [
      { type: 'text' as const, text: 'Look.' },
      { type: 'image_url' as const, image_url: { url } },
    ]
    const messages = [{ role: 'user' as const, content }]
    const answer = await client.chat.completions.create({ model: 'chat', messages })
    assert.equal(answer.choices[0]?.message.content, 'A picture')
  })

  test('the client parses JSON that follows a schema', async () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
    const answer = await client.chat.completions.parse({
      ...asking('Where?'),
      response_format: { type: 'json_schema', json_schema: { name: 'place', schema } },
    })
    assert.equal(answer.choices[0]?.message.content, '{"city":"Oslo"}')
  })

  test('reasoning is separate from the text, in a whole answer and in a stream', async () => {
    const asked = { ...asking('Hi'), reasoning_effort: 'high' } as const
    const answer = await client.chat.completions.create(asked)
    assert.partialDeepStrictEqual(answer.choices[0]?.message, {
      content: 'You said: Hi',
      reasoning_content: 'Let me see.',
    })
    const stream = await client.chat.completions.create({ ...asked, stream: true })
    const deltas = (await Array.fromAsync(stream)).map(({ choices }) => choices[0]?.delta)
    const read = (name: string) =>
      deltas.map((delta) => Reflect.get(delta ?? {}, name) ?? '').join('')
    assert.deepEqual([read('reasoning_content'), read('content')], ['Let me see.', 'You said: Hi'])
  })
}

function testTools(client: OpenAI): void {
  const question = asking('Weather in Oslo and Bergen?')

  test('parallel tool calls arrive in a whole answer', async () => {
    const answer = await client.chat.completions.create({ ...question, tools })
    assert.equal(answer.choices[0]?.finish_reason, 'tool_calls')
    assert.equal(answer.choices[0].message.content, null)
    assertCalls(answer.choices[0].message.tool_calls)
  })

  test('parallel tool calls arrive in a stream', async () => {
    const stream = client.chat.completions.stream({ ...question, tools, tool_choice: 'required' })
    const answer = await stream.finalChatCompletion()
    assert.equal(answer.choices[0]?.finish_reason, 'tool_calls')
    assertCalls(answer.choices[0].message.tool_calls)
  })

  for (const stream of [true, false]) {
    test(`an agent runs tools and gets text, ${stream ? 'in a stream' : 'whole'}`, async () => {
      const cities: unknown[] = []
      const runnable = {
        ...WEATHER,
        parse: JSON.parse,
        function: ({ city }: { city: string }) => `cold (${cities.push(city)})`,
      }
      const given = { ...question, tools: [{ type: 'function' as const, function: runnable }] }
      const runner = stream
        ? client.chat.completions.runTools({ ...given, stream })
        : client.chat.completions.runTools(given)
      assert.equal(await runner.finalContent(), 'It is cold (2)')
      assert.deepEqual(cities, ['Oslo', 'Bergen'])
    })
  }

  test('a history of another API is accepted, and continues after the result of a tool', async () => {
    const call = { name: 'get_weather', arguments: '{"city":"Oslo"}' }
    const answer = await client.chat.completions.create({
      model: 'chat',
      tools,
      messages: [
        { role: 'developer', content: 'Be brief.' },
        { role: 'user', content: 'Weather?' },
        {
          role: 'assistant',
          content: null,
          refusal: null,
          tool_calls: [{ id: 'call_0123456789abcdef', type: 'function', function: call }],
        },
        { role: 'tool', tool_call_id: 'call_0123456789abcdef', content: 'cold' },
        { role: 'user', content: 'Thanks.' },
      ],
    })
    assert.equal(answer.choices[0]?.message.content, 'You said: Thanks.')
  })
}

function testFailures(client: OpenAI): void {
  test('a prompt that is too long has its own error', async () => {
    const error = await failureOf(client, 'This is too long.')
    assert.deepEqual([error.status, error.code], [400, 'ERR_GW_CONTEXT_OVERFLOW'])
  })

  test('a rate limit of the API is returned, or leads to a spare upstream', async () => {
    const error = await failureOf(client, 'You ask too often.')
    assert.deepEqual([error.status, error.code], [429, 'ERR_GW_UPSTREAM_RATE_LIMIT'])
    const asked = { ...asking('You ask too often.'), model: 'pair' }
    const answer = await client.chat.completions.create(asked)
    assert.equal(answer.choices[0]?.message.content, 'from the spare')
  })

  test('a setting that the API cannot serve is refused by name and not sent', async () => {
    const asked = { ...asking('Hi'), logit_bias: { 5: 1 } }
    const error = await client.chat.completions.create(asked).catch((thrown: unknown) => thrown)
    assert.ok(error instanceof OpenAI.BadRequestError)
    assert.equal(error.param, 'logit_bias')
  })

  for (const question of ['Fail.', 'Vanish.']) {
    test(`a stream that breaks off ("${question}") ends with an error for the client`, async () => {
      const asked = { ...asking(question), stream: true } as const
      // If the first word and the failure arrive together, there is no stream.
      const reading = async () => Array.fromAsync(await client.chat.completions.create(asked))
      await assert.rejects(reading, OpenAI.APIError)
    })
  }
}

/** The SDK requests base64 unless the caller requests floats, and decodes it. */
function testVectors(client: OpenAI): void {
  for (const format of [undefined, 'float', 'base64'] as const) {
    test(`embeddings arrive as ${format ?? 'the SDK asks by default'}`, async () => {
      const input = ['one', 'three']
      const asked = { model: 'chat', input, ...(format && { encoding_format: format }) }
      const { data, usage } = await client.embeddings.create(asked)
      const vectors = data.map(({ embedding }) => embedding as unknown)
      const expected = [
        [3, 0.5, -0.25, 1],
        [5, 0.5, -0.25, 1],
      ]
      if (format === 'base64') assert.ok(vectors.every((vector) => typeof vector === 'string'))
      else assert.deepEqual(vectors, expected)
      assert.deepEqual(usage, { ...usage, prompt_tokens: 5, total_tokens: 5 })
    })
  }
}

async function failureOf(client: OpenAI, question: string) {
  const error = await client.chat.completions.create(asking(question)).catch((thrown) => thrown)
  assert.ok(error instanceof OpenAI.APIError)
  return error
}

function assertCalls(calls: readonly object[] | undefined): void {
  assert.partialDeepStrictEqual(calls, [
    { type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } },
    { type: 'function', function: { name: 'get_weather', arguments: '{"city":"Bergen"}' } },
  ])
  assert.equal(new Set(calls?.map((call) => Reflect.get(call, 'id'))).size, 2)
}
