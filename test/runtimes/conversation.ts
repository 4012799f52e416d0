/** The tests that every real runtime with the scripted model has to pass behind the gateway, through the official SDK. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI from 'openai'
import type { Front } from '../helpers/fake-upstream.ts'
import { SCRIPTED_TEXT, SCRIPTED_TOKENS } from '../helpers/model/model-server.ts'

export const TOOL = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
  },
}
const messages = [{ role: 'user' as const, content: 'Hi' }]

export function clientOf(front: Front): OpenAI {
  return new OpenAI({ apiKey: front.key, baseURL: `${front.process.url}/v1`, maxRetries: 0 })
}

/** `limit` is the name of the limit of tokens that the runtime reads. */
export function testConversation(
  client: OpenAI,
  model: string,
  limit: 'max_tokens' | 'max_completion_tokens' = 'max_completion_tokens',
): void {
  test(`${model}: an answer arrives whole, with its usage`, async () => {
    const { choices, usage } = await client.chat.completions.create({ model, messages })
    assert.equal(choices[0]?.message.content?.trim(), SCRIPTED_TEXT)
    assert.equal(choices[0]?.finish_reason, 'stop')
    assert.ok(usage !== undefined && usage.prompt_tokens > 0)
    assert.ok([SCRIPTED_TOKENS, SCRIPTED_TOKENS - 1].includes(usage.completion_tokens))
  })

  test(`${model}: a stream has the same words, one end, and its usage once`, async () => {
    const asked = {
      model,
      messages,
      stream: true,
      stream_options: { include_usage: true },
    } as const
    const chunks = await Array.fromAsync(await client.chat.completions.create(asked))
    const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
    assert.equal(text.trim(), SCRIPTED_TEXT)
    const ends = chunks.flatMap(({ choices }) => choices[0]?.finish_reason ?? [])
    assert.deepEqual(ends, ['stop'])
    const counted = chunks.filter(({ usage }) => usage)
    assert.deepEqual(counted, [chunks.at(-1)])
    assert.deepEqual(counted[0]?.choices, [])
  })

  test(`${model}: a stream that asked for no usage has none`, async () => {
    const chunks = await Array.fromAsync(
      await client.chat.completions.create({ model, messages, stream: true }),
    )
    assert.equal(
      chunks.some((chunk) => 'usage' in chunk || chunk.choices.length === 0),
      false,
    )
  })

  test(`${model}: a limit of tokens cuts the answer and says so`, async () => {
    const asked = { model, messages, [limit]: 5 }
    const { choices, usage } = await client.chat.completions.create(asked)
    assert.equal(choices[0]?.finish_reason, 'length')
    assert.equal(usage?.completion_tokens, 5)
  })
}
