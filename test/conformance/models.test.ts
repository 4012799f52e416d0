/** A request in the form of the upstream's model, by the tables. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sentBy } from '../helpers/providers/sent-by.ts'

const TOOL = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } }
const MARKED = [
  {
    role: 'user',
    content: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }],
  },
]

for (const provider of ['openai', 'azure_openai'] as const) {
  const sent = (model: string, members: object) => sentBy({ api: 'chat', provider, model }, members)

  test(`${provider}: models without chat completions get requests for responses`, () => {
    for (const model of [
      'o1-pro',
      'gpt-5-codex',
      'gpt-5.1-codex-mini',
      'gpt-5.5-pro',
      'o3-deep-research',
    ])
      assert.match(sent(model, {}).path, /\/responses(\?|$)/, model)
    for (const model of ['o3', 'gpt-5', 'gpt-5.1', 'gpt-4.1', 'codex-of-mine'])
      assert.match(sent(model, {}).path, /\/chat\/completions(\?|$)/, model)
  })

  test(`${provider}: a limit in max_tokens moves to the member of reasoning models`, () => {
    for (const model of ['o3', 'gpt-5', 'gpt-5.4']) {
      const { body, complaints } = sent(model, { max_tokens: 50 })
      assert.deepEqual([body.max_tokens, body.max_completion_tokens], [undefined, 50], model)
      assert.deepEqual(complaints, [])
    }
    assert.equal(sent('gpt-4.1', { max_tokens: 50 }).body.max_tokens, 50)
  })

  test(`${provider}: an effort that the model does not support becomes the next higher one, or its highest`, () => {
    const effort = (model: string, asked: string, more: object = {}) => {
      const { body } = sent(model, { reasoning_effort: asked, ...more })
      return body.reasoning_effort ?? body.reasoning?.effort
    }
    assert.equal(effort('gpt-5', 'none'), 'minimal')
    assert.equal(effort('gpt-5', 'max'), 'high')
    assert.equal(effort('o3', 'minimal'), 'low')
    assert.equal(effort('gpt-5.1', 'minimal'), 'low')
    assert.equal(effort('gpt-5.4', 'max', { tools: [TOOL] }), 'xhigh')
    assert.equal(effort('gpt-6-astra', 'none', { tools: [TOOL] }), 'low')
    assert.equal(effort('my-deployment', 'max'), 'max')
  })
}

test('the effort of a response that passes is also one that the model supports', () => {
  const { body } = sentBy(
    { api: 'responses', provider: 'openai', model: 'gpt-5', isNative: true },
    { reasoning: { effort: 'max', summary: 'auto' } },
  )
  assert.deepEqual(body.reasoning, { effort: 'high', summary: 'auto' })
})

test('Mistral gets only the efforts of its models', () => {
  const sent = (model: string) =>
    sentBy({ api: 'chat', provider: 'mistral', model }, { reasoning_effort: 'low' })
  assert.equal(sent('mistral-small-2603').body.reasoning_effort, 'high')
  const { body, named } = sent('mistral-large-2512')
  assert.deepEqual([body.reasoning_effort, named], [undefined, ['reasoning_effort']])
})

test('cache marks are left out, and named, at a model of Bedrock that refuses them', () => {
  const sent = (model: string) =>
    sentBy({ api: 'chat', provider: 'bedrock', model }, { messages: MARKED })
  const { body, named } = sent('qwen.qwen3-coder-next')
  assert.doesNotMatch(JSON.stringify(body), /cachePoint/)
  assert.deepEqual(named, ['cache_control'])
  for (const model of ['amazon.nova-pro-v1:0', 'us.anthropic.claude-opus-5'])
    assert.match(JSON.stringify(sent(model).body), /cachePoint/)
})

/** A request of Messages, which passes as the client wrote it. */
const passed = (model: string, members: object) =>
  sentBy({ api: 'messages', provider: 'anthropic', model }, members)

test("a client's budget that passes becomes adaptive thinking for a model without budgets", () => {
  const thinking = { type: 'enabled', budget_tokens: 2_000 }
  const at = (model: string) => passed(model, { thinking })
  const { body, complaints } = at('claude-opus-5')
  assert.deepEqual(body.thinking, { type: 'adaptive', display: 'summarized' })
  assert.deepEqual(complaints, [])
  assert.deepEqual(at('claude-sonnet-4-5').body.thinking, thinking)
  assert.deepEqual(at('claude-opus-4-6').body.thinking, thinking)
})

test('adaptive thinking that passes becomes a budget for a model without it', () => {
  const asked = {
    thinking: { type: 'adaptive' },
    output_config: { effort: 'low' },
    max_tokens: 60_000,
  }
  const { body, complaints, named } = passed('claude-haiku-4-5', asked)
  assert.deepEqual(body.thinking, { type: 'enabled', budget_tokens: 2_048 })
  assert.deepEqual([body.output_config, complaints], [{}, []])
  assert.deepEqual(named, ['output_config.effort'])
})

test('sampling of a client that passes is left out, and named, for a model that refuses it', () => {
  const { body, complaints, named } = passed('claude-opus-5', { temperature: 0.2, top_k: 5 })
  assert.deepEqual([body.temperature, body.top_k, complaints], [undefined, undefined, []])
  assert.deepEqual(named, ['temperature', 'top_k'])
  assert.equal(passed('claude-sonnet-4-5', { temperature: 0.2 }).body.temperature, 0.2)
  assert.equal(passed('a-proxy-of-mine', { temperature: 0.2 }).body.temperature, 0.2)
})
