/** Cohere's API: the official Cohere SDK reads a fake, then the gateway uses the same fake. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CohereClientV2 } from 'cohere-ai'
import { startUpstream } from '../../helpers/fake-upstream.ts'
import { cohereApi } from '../../helpers/providers/fakes/cohere.ts'
import { testHosted, WEATHER } from './hosted.ts'

const api = await startUpstream(cohereApi)
const vendor = new CohereClientV2({ token: 'upstream-credential', environment: api.url })
const question = { model: 'command-m', messages: [{ role: 'user' as const, content: 'Hi' }] }
const tools = [{ type: 'function' as const, function: WEATHER }]

const client = await testHosted('cohere', api, { embeddings: { input_type: 'search_query' } })

test('the official SDK reads whole answers of the fake', async () => {
  const answer = await vendor.chat({ ...question, thinking: { type: 'enabled' } })
  assert.deepEqual(answer.message.content, [
    { type: 'thinking', thinking: 'Let me see.' },
    { type: 'text', text: 'You said: Hi' },
  ])
  assert.equal(answer.usage?.tokens?.inputTokens, 20)
})

test('the official SDK reads streams of the fake', async () => {
  const content = 'Weather in Oslo and Bergen?'
  const messages = [{ role: 'user' as const, content }]
  const events = await Array.fromAsync(await vendor.chatStream({ ...question, messages, tools }))
  const begun = events.filter(({ type }) => type === 'tool-call-start')
  assert.equal(begun.length, 2)
  const last = events.at(-1)
  assert.ok(last?.type === 'message-end')
  assert.equal(last.delta?.finishReason, 'TOOL_CALL')
})

test('the official SDK reads embeddings of the fake', async () => {
  const { embeddings } = await vendor.embed({
    model: 'embed-m',
    texts: ['one'],
    inputType: 'search_document',
    embeddingTypes: ['float'],
    truncate: 'NONE',
  })
  assert.deepEqual(embeddings.float, [[3, 0.5, -0.25, 1]])
})

test('the fake refuses another key', async () => {
  const stranger = new CohereClientV2({ token: 'another', environment: api.url })
  await assert.rejects(stranger.chat(question), { statusCode: 401 })
})

test("vectors have the upstream's configured purpose", async () => {
  await client.embeddings.create({ model: 'chat', input: 'one' })
  assert.equal(api.asked.at(-1)?.body.input_type, 'search_query')
})

test('the plan of tool calls is returned as reasoning', async () => {
  const answer = await client.chat.completions.create({
    model: 'chat',
    messages: [{ role: 'user', content: 'Weather in Oslo?' }],
    tools,
  })
  assert.partialDeepStrictEqual(answer.choices[0]?.message, { reasoning_content: 'I look it up.' })
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

test("values beyond the API's ranges are clamped", async () => {
  const answer = await client.chat.completions.create({
    model: 'chat',
    messages: [{ role: 'user', content: 'Hi' }],
    top_p: 1,
    temperature: 1.5,
    frequency_penalty: -2,
  })
  assert.equal(answer.choices[0]?.message.content, 'You said: Hi')
  assert.partialDeepStrictEqual(api.asked.at(-1)?.body, {
    p: 0.99,
    temperature: 1,
    frequency_penalty: 0,
  })
})
