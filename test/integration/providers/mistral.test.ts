/** Mistral's API: the official Mistral SDK reads a fake, then the gateway uses the same fake. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Mistral } from '@mistralai/mistralai'
import { startUpstream } from '../../helpers/fake-upstream.ts'
import { mistralApi } from '../../helpers/providers/fakes/mistral.ts'
import { testHosted, WEATHER } from './hosted.ts'

const api = await startUpstream(mistralApi)
const vendor = new Mistral({ apiKey: 'upstream-credential', serverURL: api.url })
const question = { model: 'mistral-m', messages: [{ role: 'user' as const, content: 'Hi' }] }
const tools = [{ type: 'function' as const, function: WEATHER }]

const client = await testHosted('mistral', api)

test('the official SDK reads whole answers of the fake', async () => {
  const answer = await vendor.chat.complete({ ...question, reasoningEffort: 'high' })
  assert.partialDeepStrictEqual(answer.choices?.[0]?.message?.content, [
    { type: 'thinking', thinking: [{ type: 'text', text: 'Let me see.' }] },
    { type: 'text', text: 'You said: Hi' },
  ])
  assert.equal(answer.usage.totalTokens, 29)
})

test('the official SDK reads streams of the fake', async () => {
  const content = 'Weather in Oslo and Bergen?'
  const asked = { ...question, messages: [{ role: 'user' as const, content }], tools }
  const events = await Array.fromAsync(await vendor.chat.stream(asked))
  const last = events.at(-1)?.data
  assert.equal(last?.choices[0]?.finishReason, 'tool_calls')
  const names = last.choices[0].delta.toolCalls?.map((call) => call.function.name)
  assert.deepEqual(names, ['get_weather', 'get_weather'])
  assert.equal(last.usage?.completionTokens, 9)
})

test('the official SDK reads embeddings of the fake', async () => {
  const { data } = await vendor.embeddings.create({ model: 'mistral-embed', inputs: ['one'] })
  assert.deepEqual(data[0]?.embedding, [3, 0.5, -0.25, 1])
})

test("the API's request id is returned to the client", async () => {
  const answer = await client.chat.completions.create({ ...question, model: 'chat' }).asResponse()
  assert.equal(answer.headers.get('x-gw-upstream-request-id'), 'correlation-1')
})

test('the fake refuses another key', async () => {
  const stranger = new Mistral({ apiKey: 'another', serverURL: api.url })
  await assert.rejects(stranger.chat.complete(question), { statusCode: 401 })
})

test('call ids sent to the API have nine letters and digits', () => {
  const sent = api.asked.flatMap(({ body }) => (body.messages ?? []) as { tool_call_id?: string }[])
  const ids = sent.flatMap((message) => message.tool_call_id ?? [])
  assert.ok(ids.length > 0)
  for (const id of ids) assert.match(id, /^[a-zA-Z0-9]{9}$/)
})
