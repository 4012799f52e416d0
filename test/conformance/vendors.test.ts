/** The strict vendors of the fakes: they accept the requests of the fixtures, and refuse what the vendors refuse. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROVIDERS } from '../../dataplane/providers/index.ts'
import { aRequest, chatWith, settingsOf } from '../helpers/providers/a-request.ts'
import { CANONICAL, type RequestCase, readCases } from '../helpers/providers/provider-fixtures.ts'
import { complaintsOf, type Vendor } from '../helpers/vendors/index.ts'
import { refusalBy, vendorAt } from '../helpers/vendors/refusal.ts'
import { KNOWN } from '../helpers/vendors/rules/known-faults.ts'

/** Fixtures that a vendor refuses, by the name of the case, with the reason for keeping them. */
const REFUSED: Readonly<Record<string, string>> = {
  'text beside calls would lose the calls': 'The history ends with a call, to be short.',
  'a result of no call, with its name': 'Such a history is already wrong at the client.',
  'unknown members pass': 'The client names members of other servers, and the vendor reports it.',
}

for (const [name, provider] of PROVIDERS) {
  test(`${name} accepts the requests of its fixtures`, () => {
    for (const one of readCases<RequestCase[]>(name, 'chat/request.json')) {
      if (one.refused !== undefined || one.case in REFUSED) continue
      const request = aRequest(one.client === 'canonical' ? CANONICAL : one.client)
      const settings = settingsOf(name, one.dialect)
      const { path, headers, body } = chatWith(provider).encode(request, settings, one.maxTokens)
      const sent = { path: `/v1${path}`, headers, body: JSON.parse(String(body)) }
      assert.deepEqual(complaintsOf(name as Vendor, sent), [], one.case)
    }
  })
}

const call = (id: string, name = 'f', input = '{}') => ({
  id,
  type: 'function',
  function: { name, arguments: input },
})
const asks = { role: 'user', content: 'Hi' }
const calls = (...ids: string[]) => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => call(id)),
})
const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'ok' })
const CHAT = '/v1/chat/completions'
const GEMINI = '/v1beta/models/gemini-3-pro:generateContent'
const BEDROCK = '/model/us.anthropic.claude-sonnet-4-5/converse'
const tool = (name: string, parameters: object) => ({
  tools: [{ type: 'function', function: { name, parameters } }],
})
const user = (...content: object[]) => ({ role: 'user', content })
const version = { 'anthropic-version': '2023-06-01' }

/** A request, and the rule that it violates. */
const BAD: readonly (readonly [Vendor, string, object, string])[] = [
  ['openai', CHAT, { messages: [asks, calls('a')] }, 'call-unanswered'],
  ['openai', CHAT, { messages: [asks, calls('a'), asks, result('a')] }, 'call-unanswered'],
  ['openai', CHAT, { messages: [asks, result('a')] }, 'result-without-call'],
  ['openai', CHAT, { messages: [asks, calls('a', 'a'), result('a')] }, 'call-id-twice'],
  ['openai', CHAT, { messages: [asks], top_k: 4 }, 'unknown-member top_k'],
  ['openai', CHAT, { messages: [asks], ...tool('f', { type: 'object' }) }, 'schema-properties'],
  ['openai', CHAT, { messages: [asks], ...tool('f'.repeat(65), {}) }, 'tool-name'],
  ['openai', CHAT, { model: 'gpt-5.1', max_tokens: 4, messages: [asks] }, 'max-tokens-of-model'],
  ['openai', '/v1/responses', { input: [{ ...call('a'), type: 'function_call' }] }, 'call-name'],
  ['azure_openai', CHAT, { messages: [asks], user: 'u'.repeat(65) }, 'long user'],
  ['mistral', CHAT, { messages: [asks, calls('call_1'), result('call_1')] }, 'call-id'],
  ['mistral', CHAT, { messages: [asks, { role: 'assistant', content: 'a' }] }, 'last-role'],
  ['vllm', CHAT, { messages: [{ ...asks, role: 'agent' }] }, 'role'],
  ['sglang', CHAT, { messages: [] }, 'messages'],
  ['llamacpp', CHAT, { messages: [{ role: 'user' }] }, 'no-content'],
  ['tgi', CHAT, { messages: [asks], stop: 'END' }, 'stop'],
  ['triton', CHAT, { messages: [asks], max_tokens: 4, store: true }, 'unknown-member store'],
  ['ollama', '/api/chat', { messages: [calls('a'), result('a')] }, 'arguments'],
  ['cohere', '/v2/chat', { messages: [asks], top_p: 1 }, 'unknown-member top_p'],
  [
    'anthropic',
    '/v1/messages',
    { max_tokens: 4, messages: [user({ type: 'text', text: ' ' })] },
    'blank-text',
  ],
  ['anthropic', '/v1/messages', { messages: [asks] }, 'max-tokens'],
  ['bedrock', BEDROCK, { messages: [user({ text: 'Hi' }), user({ text: 'Hi' })] }, 'alternation'],
  ['bedrock', BEDROCK, { messages: [user({ text: '' })] }, 'blank-text'],
  ['gemini', GEMINI, { contents: [{ role: 'user', parts: [] }] }, 'no-parts'],
  ['gemini', GEMINI, { contents: [{ role: 'model', parts: [{ text: 'a' }] }] }, 'last-role'],
]

for (const [vendor, path, body, rule] of BAD) {
  test(`${vendor} refuses a request: ${rule}`, () => {
    const sent = { path, headers: version, body }
    const rules = complaintsOf(vendor, sent).map((one) => one.rule)
    assert.ok(rules.includes(rule), rules.join())
  })
}

test('a fake refuses in the form of the vendor, and accepts the requests of known faults', () => {
  const refusal = refusalBy('openai', { path: CHAT, body: { messages: [asks], top_k: 4 } })
  assert.equal(refusal?.status, 400)
  assert.match(
    refusal.body.error.message,
    /^openai refuses this \[unknown-member top_k\] at body: /,
  )
  for (const kind of Object.keys(KNOWN))
    assert.match(kind, /^(request|meaning|answer|second turn): /)
})

test('a path leads to the vendor that serves it', () => {
  const at = (path: string) => vendorAt({ path, headers: version, body: {} })
  assert.deepEqual(
    [CHAT, '/v1/responses', '/v1/messages', GEMINI, BEDROCK, '/api/chat', '/v2/chat'].map(at),
    ['openai', 'openai', 'anthropic', 'gemini', 'bedrock', 'ollama', 'cohere'],
  )
  assert.equal(at('/v1/embeddings'), undefined)
})
