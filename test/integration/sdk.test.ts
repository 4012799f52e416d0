/** The official Node SDK through the gateway, with a real model server. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import OpenAI from 'openai'
import { aKey } from '../helpers/a-key.ts'
import { SCRIPTED_TEXT, SCRIPTED_TOKENS } from '../helpers/model/model-server.ts'
import { until } from '../helpers/until.ts'
import { startSdkGateway } from './sdk-gateway.ts'

const { gateway, allowed, narrow, loop, stop } = await startSdkGateway()
after(stop)

const client = clientWith(allowed.key)
const question = { model: 'chat', messages: [{ role: 'user' as const, content: 'hello' }] }
const usage = { prompt_tokens: 12, completion_tokens: SCRIPTED_TOKENS, total_tokens: 81 }
const weather = {
  name: 'get_weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
}
const tools = [{ type: 'function' as const, function: weather }]

function clientWith(apiKey: string): OpenAI {
  return new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
}

test('an answer arrives whole, with its usage', async () => {
  const answer = await client.chat.completions.create(question)
  assert.equal(answer.choices[0]?.message.content, SCRIPTED_TEXT)
  assert.equal(answer.choices[0]?.finish_reason, 'stop')
  assert.partialDeepStrictEqual(answer.usage, usage)
})

test('the request id of the answer equals the one in the header', async () => {
  const pending = client.chat.completions.create(question)
  const answer = await pending
  assert.ok(answer._request_id)
  assert.equal(answer._request_id, (await pending.asResponse()).headers.get('x-request-id'))
})

test('a stream that did not ask for usage has text and no usage', async () => {
  const stream = await client.chat.completions.create({ ...question, stream: true })
  const chunks = await Array.fromAsync(stream)
  const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')
  assert.equal(text, SCRIPTED_TEXT)
  assert.equal(chunks.at(-1)?.choices[0]?.finish_reason, 'stop')
  assert.deepEqual(
    chunks.filter((chunk) => 'usage' in chunk || chunk.choices.length === 0),
    [],
  )
})

test('a stream that asked for usage gets it once, last', async () => {
  const asked = { ...question, stream: true, stream_options: { include_usage: true } } as const
  const stream = await client.chat.completions.create(asked)
  const chunks = await Array.fromAsync(stream)
  const withUsage = chunks.filter((chunk) => chunk.usage)
  assert.equal(withUsage.length, 1)
  assert.equal(withUsage[0], chunks.at(-1))
  assert.partialDeepStrictEqual(withUsage[0]?.usage, usage)
  assert.deepEqual(withUsage[0]?.choices, [])
})

test('a tool call arrives in a whole answer', async () => {
  const answer = await client.chat.completions.create({ ...question, tools })
  assert.equal(answer.choices[0]?.finish_reason, 'tool_calls')
  assert.equal(answer.usage?.completion_tokens, 9)
  assertWeatherCall(answer.choices[0].message.tool_calls)
})

test('a tool call arrives in pieces', async () => {
  const stream = client.chat.completions.stream({ ...question, tools })
  const answer = await stream.finalChatCompletion()
  assert.equal(answer.choices[0]?.finish_reason, 'tool_calls')
  assertWeatherCall(answer.choices[0].message.tool_calls)
})

test('an agent returns the result of the tool and gets text', async () => {
  const cities: unknown[] = []
  const runnable = {
    ...weather,
    description: 'The weather of a city.',
    parse: JSON.parse,
    function: (call: { city: string }) => {
      cities.push(call.city)
      return 'sunny'
    },
  }
  const runner = client.chat.completions.runTools({
    ...question,
    stream: true,
    tools: [{ type: 'function', function: runnable }],
  })
  assert.equal(await runner.finalContent(), SCRIPTED_TEXT)
  assert.deepEqual(cities, ['Paris'])
})

test('a client that leaves frees the model server', async () => {
  const endless = { ...question, model: 'endless', stream: true } as const
  const stream = await client.chat.completions.create(endless)
  const first = await stream[Symbol.asyncIterator]().next()
  assert.equal(first.done, false)
  await until('the model server works', async () => (await requestsProcessing()) === 1)
  stream.controller.abort()
  await until('the model server is idle', async () => (await requestsProcessing()) === 0, 20)
})

test("the list of models contains the key's routes", async () => {
  const ids = async (key: string) =>
    (await Array.fromAsync(clientWith(key).models.list())).map((model) => model.id).toSorted()
  assert.deepEqual(await ids(allowed.key), ['chat', 'endless'])
  assert.deepEqual(await ids(narrow.key), ['endless'])
})

const refusals = [
  {
    ask: 'an unknown key',
    of: clientWith(aKey().key),
    type: OpenAI.AuthenticationError,
    code: 'ERR_GW_AUTH_INVALID_KEY',
  },
  {
    ask: 'a key that lacks the route',
    of: clientWith(narrow.key),
    type: OpenAI.PermissionDeniedError,
    code: 'ERR_GW_AUTH_SCOPE_DENIED',
  },
  {
    ask: 'an unknown model',
    with: { model: 'nothing' },
    type: OpenAI.NotFoundError,
    code: 'ERR_GW_ROUTE_NOT_FOUND',
  },
  {
    ask: 'a prompt that is too long',
    with: { messages: [{ role: 'user' as const, content: 'word '.repeat(6000) }] },
    type: OpenAI.BadRequestError,
    code: 'ERR_GW_CONTEXT_OVERFLOW',
  },
]

for (const { ask, of = client, with: fields, type, code } of refusals) {
  for (const stream of [false, true]) {
    test(`${ask} is a ${type.name}${stream ? ', also in a stream' : ''}`, async () => {
      const body = { ...question, ...fields, stream }
      await assert.rejects(of.chat.completions.create(body), (error) => {
        assert.ok(error instanceof type, String(error))
        assert.equal(error.code, code)
        assert.ok(error.requestID)
        if (type === OpenAI.NotFoundError) {
          assert.deepEqual([error.type, error.param], ['not_found_error', 'model'])
        }
        assert.partialDeepStrictEqual(error.error, { request_id: error.requestID })
        return true
      })
    })
  }
}

function assertWeatherCall(calls: OpenAI.ChatCompletionMessageToolCall[] | undefined): void {
  assert.equal(calls?.length, 1)
  const [call] = calls
  assert.ok(call?.type === 'function' && call.id)
  assert.equal(call.function.name, 'get_weather')
  assert.deepEqual(JSON.parse(call.function.arguments), { city: 'Paris' })
}

async function requestsProcessing(): Promise<number> {
  const metrics = await (await fetch(`${loop.url}/metrics`)).text()
  return Number(/^llamacpp:requests_processing (\d+)$/m.exec(metrics)?.[1])
}
