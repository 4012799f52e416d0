/** Requests of megabytes that pass are parsed in short steps if something is removed from them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anthropicMessagesDialect } from '../../../dataplane/apis/anthropic-messages/dialect.ts'
import { openAiResponsesDialect } from '../../../dataplane/apis/openai-responses/dialect.ts'
import { parseRequest } from '../../../dataplane/body/request.ts'
import { PIECE_BYTES } from '../../../dataplane/json/members.ts'
import { PROVIDERS } from '../../../dataplane/providers/index.ts'
import { pairOf } from '../../../dataplane/translation/pair.ts'
import { bytesOf, someSettings } from '../../helpers/providers/a-request.ts'

/** Four parts of a long string, in quotes. */
const PARSED_AT_ONCE_MAX = 4 * PIECE_BYTES + 2
const LONG = 'x'.repeat(2_000_000)

const thinking = (signature: string) => ({ type: 'thinking', thinking: 'hm', signature })
const call = { type: 'tool_use', id: 'c', name: 'f', input: { amount: 1 } }
const said = { type: 'text', text: 'said' }
const asked = { role: 'user', content: LONG }
const reasoning = { type: 'reasoning', id: 'r', summary: [], encrypted_content: 'sealed' }
const message = { type: 'message', role: 'user', content: LONG }

const CASES = [
  {
    what: 'Messages, thinking that another provider has done',
    dialect: anthropicMessagesDialect,
    provider: 'anthropic',
    native: [],
    body: {
      max_tokens: 9,
      messages: [asked, { role: 'assistant', content: [thinking(''), said, call] }],
    },
    facts: {},
    sent: '{"role":"assistant","content":[{"type":"text","text":"said"},{"type":"tool_use"',
  },
  {
    what: 'Messages, thinking that stays',
    dialect: anthropicMessagesDialect,
    provider: 'anthropic',
    native: [],
    body: {
      max_tokens: 9,
      messages: [asked, { role: 'assistant', content: [thinking('s'), said] }],
    },
    facts: {},
    sent: '[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"said"}]}]',
  },
  {
    what: 'Responses, reasoning that another upstream has sealed',
    dialect: openAiResponsesDialect,
    provider: 'openai',
    native: [openAiResponsesDialect.wire],
    body: { input: [message, reasoning, { type: 'message', role: 'user', content: 'hi' }] },
    facts: { isUnsealed: true },
    sent: 'xx"},{"type":"message","role":"user","content":"hi"}]',
  },
] as const

for (const { what, dialect, provider, native, body, facts, sent } of CASES) {
  test(`a request that passes is changed in short steps: ${what}`, (t) => {
    const bytes = Buffer.from(
      JSON.stringify({ model: 'm', ...body }).replace('"amount":1', '"amount":1.0'),
    )
    const request = { ...parseRequest(bytes, dialect.reading, 0), ...facts }
    const known = PROVIDERS.get(provider)
    const pair = known && pairOf(dialect, known, native)
    const parse = t.mock.method(JSON, 'parse')
    const encoded = pair?.encode(request, someSettings(), 100)
    const text = String(bytesOf(encoded?.body ?? ''))
    const most = Math.max(0, ...parse.mock.calls.map(({ arguments: [one] }) => String(one).length))
    assert.ok(most <= PARSED_AT_ONCE_MAX, `${most} characters at once`)
    assert.ok(text.length > LONG.length && text.includes(sent), text.slice(-300))
    assert.equal(text.includes('"amount":1.0'), String(bytes).includes('"amount":1.0'))
  })
}
