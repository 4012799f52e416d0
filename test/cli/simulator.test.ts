import assert from 'node:assert/strict'
import { test } from 'node:test'
import type OpenAI from 'openai'
import { aSimulator, hello } from './a-simulator.ts'

test('it echoes in words and counts them', async (t) => {
  const { client } = await aSimulator(t)
  const answer = await client.chat.completions.create(hello)
  assert.equal(answer.model, 'any')
  assert.equal(answer.choices[0]?.message.content, 'You said: Good morning')
  assert.equal(answer.choices[0]?.finish_reason, 'stop')
  assert.deepEqual(answer.usage, { prompt_tokens: 2, completion_tokens: 4, total_tokens: 6 })
})

test('it echoes the last message of the user, whose parts may be several', async (t) => {
  const { client } = await aSimulator(t)
  const content = [
    { type: 'text' as const, text: 'look' },
    { type: 'image_url' as const, image_url: { url: 'data:,' } },
    { type: 'text' as const, text: 'here' },
  ]
  const messages = [
    { role: 'user' as const, content: 'first' },
    { role: 'user' as const, content },
    { role: 'assistant' as const, content: 'well' },
  ]
  const answer = await client.chat.completions.create({ model: 'm', messages })
  assert.equal(answer.choices[0]?.message.content, 'You said: look here')
})

test('a stream has the same text, and null usage until the usage', async (t) => {
  const { client } = await aSimulator(t)
  const stream = await client.chat.completions.create({
    ...hello,
    stream: true,
    stream_options: { include_usage: true },
  })
  const chunks = await Array.fromAsync(stream)
  const last = chunks.pop()
  assert.deepEqual(last?.choices, [])
  assert.deepEqual(last?.usage, { prompt_tokens: 2, completion_tokens: 4, total_tokens: 6 })
  assert.ok(chunks.every(({ usage }) => usage === null))
  assert.equal(chunks[0]?.choices[0]?.delta.role, 'assistant')
  const pieces = chunks.map(({ choices }) => choices[0]?.delta.content ?? '')
  assert.deepEqual(pieces, ['', 'You', ' said:', ' Good', ' morning', ''])
  assert.equal(chunks.at(-1)?.choices[0]?.finish_reason, 'stop')
})

test('a stream that did not ask for usage has none, and ends with [DONE]', async (t) => {
  const { post } = await aSimulator(t)
  const answer = await post('/v1/chat/completions', { ...hello, stream: true })
  const text = await answer.text()
  assert.match(answer.headers.get('content-type') ?? '', /^text\/event-stream/)
  assert.doesNotMatch(text, /"usage"/)
  assert.ok(text.endsWith('data: [DONE]\n\n'))
})

const lengths = [
  [{ max_tokens: 3 }, 'You said: Good', 'length'],
  [{ max_completion_tokens: 1 }, 'You', 'length'],
  [{ max_tokens: 4 }, 'You said: Good morning', 'stop'],
  [{ stop: ' Good' }, 'You said:', 'stop'],
  [{ stop: ['absent', 'said'] }, 'You', 'stop'],
  [{ stop: ['morning'], max_tokens: 2 }, 'You said:', 'length'],
] as const

for (const [limits, text, reason] of lengths) {
  test(`with ${JSON.stringify(limits)} it says "${text}" and ${reason}`, async (t) => {
    const { post } = await aSimulator(t)
    const answer = await post('/v1/chat/completions', { ...hello, ...limits })
    const [choice] = ((await answer.json()) as OpenAI.ChatCompletion).choices
    assert.equal(choice?.message.content, text)
    assert.equal(choice?.finish_reason, reason)
  })
}

test('the length of answers can be set, and a seed always fills them alike', async (t) => {
  const say = async (seed: number, tokens: number) => {
    const { client } = await aSimulator(t, { seed, tokens })
    const answer = await client.chat.completions.create(hello)
    assert.equal(answer.usage?.completion_tokens, tokens)
    assert.equal(answer.choices[0]?.finish_reason, 'stop')
    return answer.choices[0]?.message.content
  }
  assert.equal(await say(1, 3), 'You said: Good')
  assert.equal(await say(1, 30), await say(1, 30))
  assert.notEqual(await say(1, 30), await say(2, 30))
})

test('several choices differ and are counted together, streamed or not', async (t) => {
  const { client } = await aSimulator(t)
  const answer = await client.chat.completions.create({ ...hello, n: 2 })
  const texts = answer.choices.map(({ message }) => message.content)
  assert.deepEqual(texts, ['You said: Good morning', 'Again (2): You said: Good morning'])
  assert.equal(answer.usage?.completion_tokens, 10)
  const streamed = await client.chat.completions.stream({ ...hello, n: 2 }).finalChatCompletion()
  assert.deepEqual(
    streamed.choices.map(({ message }) => message.content),
    texts,
  )
})

test('models and tokens are reported as vLLM reports them', async (t) => {
  const { client, post } = await aSimulator(t, { model: 'llama' })
  const models = await Array.fromAsync(client.models.list())
  assert.partialDeepStrictEqual(models, [{ id: 'llama', object: 'model', max_model_len: 131_072 }])
  const prompt = await (await post('/tokenize', { prompt: 'one two one' })).json()
  assert.partialDeepStrictEqual(prompt, { count: 3, max_model_len: 131_072 })
  const { tokens } = prompt as { tokens: number[] }
  assert.equal(tokens[0], tokens[2])
  assert.notEqual(tokens[0], tokens[1])
  const messages = await (await post('/tokenize', { messages: hello.messages })).json()
  assert.partialDeepStrictEqual(messages, { count: 2 })
  assert.equal((await post('/tokenize', {})).status, 400)
})
