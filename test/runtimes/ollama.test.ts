/** A real Ollama behind the gateway, by its own API and by the path that imitates OpenAI's. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { errorOf, startFront } from '../helpers/fake-upstream.ts'
import { SCRIPTED_TEXT } from '../helpers/model/model-server.ts'
import { until } from '../helpers/until.ts'
import { clientOf, TOOL, testConversation } from './conversation.ts'
import { startOllama } from './ollama.ts'

const ollama = await startOllama()
const at = { endpoint: ollama.url, model: 'tiny' }
const front = await startFront({
  upstreams: [
    { name: 'ollama', provider: 'ollama', ...at },
    { name: 'imitated', provider: 'openai', ...at },
    { name: 'unknown', provider: 'ollama', ...at, model: 'nope' },
  ],
  routes: ['ollama', 'imitated', 'unknown'].map((name) => ({
    name,
    strategy: 'single',
    primary: name,
  })),
})
after(async () => {
  await front.process.stop()
  await ollama.stop()
})
const client = clientOf(front)
const question = { role: 'user' as const, content: 'Weather?' }

testConversation(client, 'ollama')
// That path ignores the newer name.
testConversation(client, 'imitated', 'max_tokens')

test('a call of a tool has its arguments, and its result is answered in words', async () => {
  const asked = { model: 'ollama', tools: [TOOL] }
  const { choices } = await client.chat.completions.create({ ...asked, messages: [question] })
  const message = choices[0]!.message
  assert.equal(choices[0]?.finish_reason, 'tool_calls')
  const call = message.tool_calls?.[0]
  assert.ok(call?.type === 'function')
  assert.deepEqual(JSON.parse(call.function.arguments), { city: 'Paris' })
  const result = { role: 'tool' as const, tool_call_id: call.id, content: '{"temp_c":4}' }
  const messages = [question, message, result]
  const answered = await client.chat.completions.create({ ...asked, messages })
  assert.equal(answered.choices[0]?.message.content?.trim(), SCRIPTED_TEXT)
})

test('a limit of -1 or 0 tokens counts as absent', async () => {
  for (const max_tokens of [-1, 0]) {
    const asked = { model: 'ollama', messages: [question], max_tokens }
    const { choices } = await client.chat.completions.create(asked)
    assert.equal(choices[0]?.finish_reason, 'stop')
  }
})

test('a prompt that Ollama would cut to its window is refused, by the gateway or by Ollama', async () => {
  const content = 'hello '.repeat(9000)
  for (const stream of [false, true]) {
    const heard = await front.ask({
      model: 'ollama',
      messages: [{ role: 'user', content }],
      stream,
    }).over
    assert.deepEqual([heard.status, errorOf(heard).code], [400, 'ERR_GW_CONTEXT_OVERFLOW'])
  }
  const asked = { model: 'ollama', messages: [{ role: 'user', content }] }
  const isKnown = async () => errorOf(await front.chat(asked)).context_window === 4096
  await until('the window of the loaded model is known', isKnown)
})

test('a model that is not there is a 404', async () => {
  const asking = client.chat.completions.create({ model: 'unknown', messages: [question] })
  await assert.rejects(asking, { status: 404 })
})

test('equal texts have equal vectors', async () => {
  const input = ['Hello world', 'Hello world', 'weather in Paris']
  const { data } = await client.embeddings.create({ model: 'ollama', input })
  const [one, same, other] = data.map(({ embedding }) => embedding)
  assert.deepEqual(one, same)
  assert.notDeepEqual(one, other)
})
