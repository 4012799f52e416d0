/**
 * Ollama's own API through the gateway: the official OpenAI SDK calls a fake that is as strict as
 * Ollama's types.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI from 'openai'
import { startUpstream } from '../../helpers/fake-upstream.ts'
import { ollamaApi } from '../../helpers/providers/fakes/ollama.ts'
import { testHosted, WEATHER } from './hosted.ts'

const api = await startUpstream(ollamaApi)
const client = await testHosted('ollama', { ...api, url: `${api.url}/v1` })
const tools = [{ type: 'function' as const, function: WEATHER }]

test("the gateway calls Ollama's own API, although the endpoint names the version of another API", async () => {
  api.asked.splice(0)
  await client.chat.completions.create({
    model: 'chat',
    messages: [{ role: 'user', content: 'Hi' }],
    max_tokens: 5,
    temperature: 0,
  })
  assert.deepEqual(
    api.asked.map(({ path, body }) => [path, body]),
    [
      [
        '/api/chat',
        {
          model: 'upstream-m',
          messages: [{ role: 'user', content: 'Hi' }],
          stream: false,
          truncate: false,
          options: { temperature: 0, num_predict: 5 },
        },
      ],
    ],
  )
})

test('an image URL is refused, because the gateway would have to fetch it', async () => {
  api.asked.splice(0)
  const image_url = { url: 'http://169.254.169.254/latest' }
  const content = [{ type: 'image_url' as const, image_url }]
  const asked = { model: 'chat', messages: [{ role: 'user' as const, content }] }
  const error = await client.chat.completions.create(asked).catch((thrown: unknown) => thrown)
  assert.ok(error instanceof OpenAI.BadRequestError)
  assert.equal(error.param, 'messages.0.content')
  assert.match(error.message, /ollama.*base64/)
  assert.equal(api.asked.length, 0)
})

test('if the client allows one call, one is returned', async () => {
  const asked = {
    model: 'chat',
    messages: [{ role: 'user' as const, content: 'Weather in Oslo and Bergen?' }],
    tools,
    parallel_tool_calls: false,
  }
  const whole = await client.chat.completions.create(asked)
  assert.equal(whole.choices[0]?.message.tool_calls?.length, 1)
  const streamed = await client.chat.completions.stream(asked).finalChatCompletion()
  assert.equal(streamed.choices[0]?.message.tool_calls?.length, 1)
})

test('the gateway repeats the request without thinking if the model cannot think', async () => {
  api.asked.splice(0)
  api.script.push((outgoing) => {
    outgoing.writeHead(400, { 'content-type': 'application/json' })
    outgoing.end('{"error":"\\"upstream-m\\" does not support thinking"}')
  })
  const messages = [{ role: 'user' as const, content: 'Hi' }]
  const asked = { model: 'chat', messages, reasoning_effort: 'low' as const }
  const { choices } = await client.chat.completions.create(asked)
  assert.equal(choices[0]?.message.content, 'You said: Hi')
  assert.deepEqual(
    api.asked.map(({ body }) => body.think),
    ['low', undefined],
  )
})
