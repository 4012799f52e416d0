/** Configured facts about a model win over the tables, at every provider that uses them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compile } from '../../dataplane/config/snapshot.ts'
import { capabilitiesOf } from '../../dataplane/providers/facts-of-models.ts'
import type { WrittenCapabilities } from '../../dataplane/wire/models/capabilities.ts'
import { sentBy } from '../helpers/providers/sent-by.ts'
import type { Vendor } from '../helpers/vendors/index.ts'

type Api = 'chat' | 'messages' | 'responses'

/** The request as it is sent to an upstream with these facts. */
function sent(
  provider: Exclude<Vendor, 'deepseek'>,
  model: string,
  written: WrittenCapabilities,
  members: object,
  api: Api = 'chat',
) {
  const capabilities = capabilitiesOf({ provider, model, capabilities: written })
  return sentBy({ api, provider, model, settings: { capabilities } }, members)
}

const LONG = 'x'.repeat(60)
const HISTORY = [
  { role: 'user', content: 'Hi' },
  {
    role: 'assistant',
    content: null,
    reasoning_content: 'I look.',
    tool_calls: [
      { id: `call_${LONG}`, type: 'function', function: { name: LONG, arguments: '{}' } },
    ],
  },
  { role: 'tool', tool_call_id: `call_${LONG}`, content: 'ok' },
]
const TOOLS = [
  { type: 'function', function: { name: LONG, parameters: { type: 'object', properties: {} } } },
]

for (const provider of ['openai', 'azure_openai', 'vllm', 'sglang', 'llamacpp', 'mistral'] as const)
  test(`${provider}: an effort is left out, and named, for a model that does not reason`, () => {
    const { body, named } = sent(provider, 'm', { reasoning: false }, { reasoning_effort: 'low' })
    assert.deepEqual([body.reasoning_effort, named], [undefined, ['reasoning_effort']])
  })

test('a model without reasoning in a table gets an effort if it is configured', () => {
  const at = (written: WrittenCapabilities) =>
    sent('openai', 'llama-of-mine', written, { reasoning_effort: 'low' }).body.reasoning_effort
  assert.deepEqual([at({}), at({ reasoning: true })], [undefined, 'low'])
})

for (const provider of ['anthropic', 'bedrock', 'gemini', 'cohere', 'ollama'] as const)
  test(`${provider}: a model that does not reason gets no request to think`, () => {
    const { body, named } = sent(provider, 'm', { reasoning: false }, { reasoning_effort: 'low' })
    assert.doesNotMatch(JSON.stringify(body), /think|effort|reasoning/i)
    assert.deepEqual(named, ['reasoning_effort'])
  })

test('only configured efforts are sent', () => {
  const asked = { reasoning_effort: 'minimal' }
  assert.equal(sent('vllm', 'm', { efforts: ['low', 'high'] }, asked).body.reasoning_effort, 'low')
  const { body } = sent('anthropic', 'a-proxy', { efforts: ['high'] }, asked)
  assert.equal(body.output_config.effort, 'high')
})

test('the configured form of thinking is used', () => {
  const asked = { reasoning_effort: 'high' }
  const budget = sent('anthropic', 'a-proxy', { thinking: 'budget', thinking_tokens: 4_000 }, asked)
  assert.deepEqual(budget.body.thinking, { type: 'enabled', budget_tokens: 4_000 })
  const profile = 'arn:aws:bedrock:eu-west-1:1:application-inference-profile/abc'
  const adaptive = sent('bedrock', profile, { thinking: 'adaptive' }, asked)
  assert.equal(adaptive.body.additionalModelRequestFields.thinking.type, 'adaptive')
  const gemini = sent('gemini', 'gemini-tuned', { thinking: 'budget', thinking_tokens: 900 }, asked)
  assert.equal(gemini.body.generationConfig.thinkingConfig.thinkingBudget, 900)
})

for (const member of ['reasoning_content', 'reasoning', 'thinking'] as const)
  test(`unsigned thinking goes back as ${member}`, () => {
    const { body } = sent('openai', 'gpt-like', { thinking_member: member }, { messages: HISTORY })
    assert.equal(body.messages[1][member], 'I look.')
  })

for (const provider of [
  'vllm',
  'openai',
  'anthropic',
  'bedrock',
  'gemini',
  'cohere',
  'ollama',
  'mistral',
  'tgi',
  'triton',
] as const)
  test(`${provider}: names of tools and a limit are as short as configured`, () => {
    const written = { tool_name_length: 30, output_tokens: 500 }
    const members = { messages: HISTORY, tools: TOOLS, max_tokens: 9_000 }
    const text = JSON.stringify(sent(provider, 'm', written, members).body)
    assert.ok(!text.includes(`"${LONG}"`), text)
    assert.match(text, /"x{16}_[0-9a-f]{12}"/)
    assert.match(text, /[:]500\b/)
    assert.doesNotMatch(text, /9000/)
  })

test('ids of calls are as short as configured, at the call and its result', () => {
  const { body } = sent('vllm', 'm', { call_id_length: 40 }, { messages: HISTORY })
  const [, { tool_calls: calls }, { tool_call_id: id }] = body.messages
  assert.equal(calls[0].id, id)
  assert.ok(id.length <= 40, id)
})

test('the limit of a client that passes is lowered, too', () => {
  const written = { output_tokens: 500 }
  assert.equal(
    sent('anthropic', 'm', written, { max_tokens: 9_000 }, 'messages').body.max_tokens,
    500,
  )
})

test('a model without chat gets requests for responses, and one without responses never does', () => {
  const tools = { tools: TOOLS, reasoning_effort: 'low' }
  const pathOf = (wires: WrittenCapabilities['wires'], model: string) =>
    sent('openai', model, { wires }, tools).path
  assert.equal(pathOf(['responses'], 'gpt-4.1'), '/v1/responses')
  assert.equal(pathOf(['chat'], 'gpt-5.6'), '/v1/chat/completions')
  assert.equal(pathOf(['chat', 'responses'], 'gpt-5.6'), '/v1/responses')
})

test('requests pass in the configured APIs', () => {
  const wiresOf = (capabilities: WrittenCapabilities | undefined) => {
    const upstream = {
      name: 'a',
      provider: 'openai',
      model: 'm',
      idle_timeout_seconds: 60,
      capabilities,
    }
    const section = {
      ...{
        upstreams: [upstream],
        routes: [],
        aliases: {},
        tenants: [],
        budgets: [],
        limits: [],
        api_keys: [],
      },
      deprecated_aliases: {},
      ...{ auth: { jwt: [], certificates: [] }, gateway: {}, usage: { tags: [] } },
    }
    const configuration = { gw: section } as unknown as Parameters<typeof compile>[0]
    return compile(configuration).upstreams.get('a')?.native
  }
  assert.deepEqual(wiresOf(undefined), ['openai-responses'])
  assert.deepEqual(wiresOf({ wires: ['chat', 'messages'] }), ['anthropic-messages'])
  assert.deepEqual(wiresOf({ wires: ['chat'] }), [])
})
