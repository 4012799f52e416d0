/** A Claude gets a request for thinking in the form of its model, with room for an answer. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sentBy } from '../helpers/providers/sent-by.ts'

const OLD = 'claude-sonnet-4-5'
const AT = { anthropic: '', bedrock: 'us.anthropic.' } as const
type Api = 'chat' | 'messages' | 'responses'

/** Thinking, limit and effort in the request, at both providers. */
function asked(
  provider: keyof typeof AT,
  members: object,
  { api = 'chat', model = OLD }: { readonly api?: Api; readonly model?: string } = {},
) {
  const way = { api, provider, model: `${AT[provider]}${model}` }
  const { body, complaints, named } = sentBy(way, members)
  assert.deepEqual(complaints, [])
  const { thinking } = provider === 'anthropic' ? body : (body.additionalModelRequestFields ?? {})
  const limit = provider === 'anthropic' ? body.max_tokens : body.inferenceConfig?.maxTokens
  const effort = (body.output_config ?? body.outputConfig)?.effort
  return { thinking, limit, effort, named }
}

for (const provider of ['anthropic', 'bedrock'] as const) {
  test(`${provider}: without a limit, the limit is the budget and room for a long answer`, () => {
    const { thinking, limit } = asked(provider, { reasoning_effort: 'medium' })
    assert.deepEqual([thinking.budget_tokens, limit], [8_192, 40_192])
    const most = asked(provider, { reasoning_effort: 'max' })
    assert.deepEqual([most.thinking.budget_tokens, most.limit], [32_000, 64_000])
    const larger = asked(provider, { reasoning_effort: 'max' }, { model: 'claude-opus-4-6' })
    assert.equal(larger.thinking.type, 'adaptive')
  })

  test(`${provider}: within a client's limit, thinking takes at most half, or is not requested`, () => {
    const half = asked(provider, { reasoning_effort: 'medium', max_tokens: 4_096 })
    assert.deepEqual([half.thinking.budget_tokens, half.limit], [2_048, 4_096])
    const none = asked(provider, { reasoning_effort: 'medium', max_tokens: 2_000 })
    assert.deepEqual([none.thinking, none.limit], [undefined, 2_000])
    assert.ok(none.named.includes('reasoning_effort'), none.named.join())
  })

  for (const model of ['claude-opus-4-8', 'claude-opus-5-5', 'claude-fable-5'])
    test(`${provider}: ${model} gets no request to stop thinking, and shows a summary`, () => {
      for (const api of ['chat', 'messages'] as const) {
        const off =
          api === 'chat' ? { reasoning_effort: 'none' } : { thinking: { type: 'disabled' } }
        const { thinking, named } = asked(provider, off, { api, model })
        assert.equal(thinking, undefined)
        assert.ok(
          named.some((name) => /reasoning_effort|thinking/.test(name)),
          named.join(),
        )
      }
      const { thinking, effort } = asked(provider, { reasoning_effort: 'low' }, { model })
      assert.deepEqual(thinking, { type: 'adaptive', display: 'summarized' })
      assert.equal(effort, 'low')
    })

  test(`${provider}: a Claude that thinks by default is asked to stop in the form that it supports`, () => {
    for (const api of ['chat', 'messages'] as const) {
      const off = api === 'chat' ? { reasoning_effort: 'none' } : { thinking: { type: 'disabled' } }
      const typeOf = (model: string) => asked(provider, off, { api, model }).thinking?.type
      assert.deepEqual(
        ['claude-opus-4-6', 'claude-sonnet-5', 'claude-haiku-5-5', 'claude-sonnet-5-5'].map(typeOf),
        ['disabled', 'disabled', 'disabled', 'between_tools'],
      )
    }
  })

  test(`${provider}: an effort that the model does not take becomes the next higher one`, () => {
    const effortAt = (model: string, effort: string) =>
      asked(provider, { reasoning_effort: effort }, { model }).effort
    assert.equal(effortAt('claude-opus-4-6', 'xhigh'), 'max')
    assert.equal(effortAt('claude-opus-4-8', 'xhigh'), 'xhigh')
    assert.equal(effortAt('claude-opus-4-8', 'minimal'), 'low')
  })
}

test('a limit that the API requires cuts no long answer, and the model accepts it', () => {
  const limitOf = (model: string) => asked('anthropic', {}, { model }).limit
  assert.deepEqual(
    [
      'claude-opus-4-8',
      OLD,
      'claude-opus-4-1',
      'claude-3-5-haiku-latest',
      'claude-3-haiku-20240307',
    ].map(limitOf),
    [32_000, 32_000, 32_000, 8_192, 4_096],
  )
})

test('thinking without an effort is kept at Bedrock', () => {
  const ask = { thinking: { type: 'adaptive' } }
  const kept = asked('bedrock', ask, { api: 'messages', model: 'claude-opus-4-6' })
  assert.deepEqual([kept.thinking, kept.effort], [{ type: 'adaptive' }, undefined])
  const older = asked('bedrock', { ...ask, max_tokens: 64_000 }, { api: 'messages' })
  assert.deepEqual(older.thinking, { type: 'enabled', budget_tokens: 16_384 })
})

const CALL = { id: 'call_0', type: 'function', function: { name: 'f', arguments: '{}' } }
const SIGNED = [{ type: 'thinking', thinking: 'Hm.', signature: 'c2ln' }]
const calls = (id: string, more: object = {}) => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ ...CALL, id }],
  ...more,
})
const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'ok' })
const asks = { role: 'user', content: 'Hi' }
const on = { role: 'user', content: 'Go on.' }

for (const provider of ['anthropic', 'bedrock'] as const) {
  const thinks = (...messages: object[]) =>
    asked(provider, { messages: [asks, ...messages], reasoning_effort: 'high' }).thinking !==
    undefined

  test(`${provider}: a turn that continues after calls without their thinking asks for none`, () => {
    assert.equal(thinks(calls('a'), result('a')), false)
    // Text of the user beside results belongs to the same turn, and so does an empty answer.
    assert.equal(thinks(calls('a'), result('a'), on), false)
    assert.equal(thinks(calls('a'), result('a'), { role: 'assistant', content: '' }, on), false)
    assert.equal(thinks(calls('a'), result('a'), calls('b'), result('b'), on), false)
  })

  test(`${provider}: a turn that began with its thinking continues with it, and a new one thinks again`, () => {
    const signed = calls('a', { thinking_blocks: SIGNED })
    assert.equal(thinks(signed, result('a')), true)
    assert.equal(thinks(signed, result('a'), on), true)
    assert.equal(thinks(signed, result('a'), calls('b'), result('b')), true)
    assert.equal(thinks(calls('a'), result('a'), { role: 'assistant', content: 'Done.' }, on), true)
  })
}
