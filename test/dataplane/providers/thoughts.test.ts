/** Signed thinking before tool calls: it reaches clients, and returns to the model that signed it, to no other. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anthropicMessagesDialect } from '../../../dataplane/apis/anthropic-messages/dialect.ts'
import { parseRequest } from '../../../dataplane/body/request.ts'
import { knownCounts } from '../../../dataplane/providers/anthropic/answer.ts'
import { anthropic } from '../../../dataplane/providers/anthropic/provider.ts'
import { bedrock } from '../../../dataplane/providers/bedrock/provider.ts'
import { mistral } from '../../../dataplane/providers/mistral/provider.ts'
import { vllm } from '../../../dataplane/providers/vllm/provider.ts'
import { pairOf } from '../../../dataplane/translation/pair.ts'
import type { Provider } from '../../../dataplane/wire/provider.ts'
import {
  aRequest,
  chatStream,
  chatWith,
  ORIGIN,
  settingsOf,
  someSettings,
} from '../../helpers/providers/a-request.ts'

// biome-ignore lint/suspicious/noExplicitAny: read like a client without types reads.
type Read = any

const CLAUDE = settingsOf('bedrock', { model: 'us.anthropic.claude-opus-4-6-v1' })
const ASKED = { role: 'user', content: 'Weather in Oslo?' }
const TOOLS = [{ type: 'function', function: { name: 'f' } }]
const THINKING = { type: 'thinking', thinking: 'Hm', signature: 's1g' }
const REDACTED = { type: 'redacted_thinking', data: 'eA==' }

const callOf = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })

/** The blocks of the model's turn as the upstream gets them, and whether it is asked to think. */
function sentBack(provider: Provider, message: object, settings = someSettings(), tenant?: string) {
  const id = (message as Read).tool_calls[0].id
  const messages = [ASKED, message, { role: 'tool', tool_call_id: id, content: '{}' }]
  const asked = aRequest({ reasoning_effort: 'low', tools: TOOLS, messages })
  const request = { ...asked, tenant }
  const body = JSON.parse(String(chatWith(provider).encode(request, settings, undefined).body))
  const thinking = body.thinking ?? body.additionalModelRequestFields?.thinking
  return { blocks: body.messages[1].content, thinks: thinking !== undefined }
}

const toolUse = (id: string) => ({ type: 'tool_use', id, name: 'f', input: {} })
const anthropicAnswer = (id: string) =>
  Buffer.from(
    JSON.stringify({ content: [THINKING, REDACTED, toolUse(id)], stop_reason: 'tool_use' }),
  )

test('thinking of a whole answer returns with the message, or from memory if a client drops it', () => {
  const passed = chatWith(anthropic).decode(anthropicAnswer('toolu_whole'), aRequest())
  assert.ok(passed.kind === 'body')
  const { message } = JSON.parse(String(passed.body)).choices[0]
  const vouched = [THINKING, REDACTED].map((block) => ({ ...block, model: ORIGIN.model }))
  assert.deepEqual(message.thinking_blocks, vouched)
  const dropped = { role: 'assistant', content: null, tool_calls: message.tool_calls }
  for (const one of [message, dropped]) {
    const { blocks, thinks } = sentBack(anthropic, one)
    assert.deepEqual([blocks, thinks], [[THINKING, REDACTED, toolUse('toolu_whole')], true])
  }
  const elsewhere = sentBack(anthropic, message, someSettings({ model: 'another' }))
  assert.deepEqual([elsewhere.blocks.length, elsewhere.thinks], [1, false])
})

test('thinking of a stream arrives with the first call, and returns', () => {
  const stream = chatStream(anthropic, aRequest({ stream: true }))
  const write = (data: object) => stream.read({ event: '', data: JSON.stringify(data) }).out
  const block = (index: number, content_block: object) =>
    write({ type: 'content_block_start', index, content_block })
  const delta = (index: number, piece: object) =>
    write({ type: 'content_block_delta', index, delta: piece })
  const stop = (index: number) => write({ type: 'content_block_stop', index })
  write({ type: 'message_start', message: { id: 'm' } })
  block(0, { type: 'thinking', thinking: '', signature: '' })
  delta(0, { type: 'thinking_delta', thinking: 'Hm' })
  delta(0, { type: 'signature_delta', signature: 's1g' })
  assert.equal(stop(0), '')
  block(1, REDACTED)
  assert.equal(stop(1), '')
  const called = JSON.parse(String(block(2, toolUse('toolu_stream'))).slice('data: '.length))
  const { thinking_blocks: blocks } = called.choices[0].delta
  assert.deepEqual(
    blocks.map(({ model: _, ...one }: Read) => one),
    [THINKING, REDACTED],
  )
  const message = { role: 'assistant', tool_calls: [callOf('toolu_stream')] }
  assert.deepEqual(sentBack(anthropic, message).blocks, [
    THINKING,
    REDACTED,
    toolUse('toolu_stream'),
  ])
})

const REASONING = [
  { reasoningContent: { reasoningText: { text: 'Hm', signature: 's1g' } } },
  { reasoningContent: { redactedContent: 'eA==' } },
]

test('a Claude at Bedrock gets its thinking back too', () => {
  const toolUse = { toolUseId: 'tooluse_1', name: 'f', input: {} }
  const output = { message: { role: 'assistant', content: [...REASONING, { toolUse }] } }
  const answer = Buffer.from(JSON.stringify({ output, stopReason: 'tool_use' }))
  const pair = chatWith(bedrock)
  assert.equal(pair.decode(answer, aRequest()).kind, 'body')
  const message = { role: 'assistant', tool_calls: [callOf('tooluse_1')] }
  // The model that signed it is that of the origin.
  assert.equal(sentBack(bedrock, message, CLAUDE).thinks, false)
  const handedBack = { ...message, thinking_blocks: [THINKING, REDACTED] }
  const own = { ...handedBack, tool_calls: [callOf('tooluse_2')] }
  const { blocks, thinks } = sentBack(bedrock, own, CLAUDE)
  assert.deepEqual([blocks.slice(0, 2), thinks], [REASONING, true])
})

const asMessages = pairOf(anthropicMessagesDialect, bedrock)!

function messagesRequest(members: object = {}) {
  const body = { model: 'm', max_tokens: 4096, messages: [ASKED], ...members }
  return parseRequest(Buffer.from(JSON.stringify(body)), anthropicMessagesDialect.reading, 7)
}

test('a client of messages reads the signatures of a Claude at Bedrock, whole or streamed', () => {
  const output = { message: { role: 'assistant', content: [...REASONING, { text: 'Hi' }] } }
  const answer = Buffer.from(JSON.stringify({ output, stopReason: 'end_turn' }))
  const passed = asMessages.decode(answer, messagesRequest(), ORIGIN)
  assert.ok(passed.kind === 'body')
  const text = { type: 'text', text: 'Hi' }
  assert.deepEqual(JSON.parse(String(passed.body)).content, [THINKING, REDACTED, text])

  const stream = asMessages.openStream(messagesRequest({ stream: true }), ORIGIN)!
  const pieces: readonly [number, object | undefined][] = [
    [0, { reasoningContent: { text: 'Hm' } }],
    [0, { reasoningContent: { signature: 's1g' } }],
    [0, undefined],
    [1, { reasoningContent: { redactedContent: 'eA==' } }],
    [1, undefined],
    [2, { text: 'Hi' }],
  ]
  const written = pieces.map(([contentBlockIndex, delta]) => {
    const event = delta === undefined ? 'contentBlockStop' : 'contentBlockDelta'
    return stream.read({ event, data: JSON.stringify({ contentBlockIndex, delta }) }).out
  })
  const events = written
    .join('')
    .match(/(?<=data: ).*/g)
    ?.map((one) => JSON.parse(one))
  const unsigned = { type: 'thinking', thinking: '', signature: '' }
  assert.deepEqual(events, [
    { type: 'content_block_start', index: 0, content_block: unsigned },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 's1g' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: REDACTED },
    { type: 'content_block_stop', index: 1 },
    { type: 'content_block_start', index: 2, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 2, delta: { type: 'text_delta', text: 'Hi' } },
  ])
})

test('the thinking in a history of messages goes to the requested Claude at Bedrock', () => {
  const turn = { role: 'assistant', content: [THINKING, REDACTED, toolUse('toolu_b')] }
  const result = { type: 'tool_result', tool_use_id: 'toolu_b', content: '{}' }
  const request = messagesRequest({
    messages: [ASKED, turn, { role: 'user', content: [result] }],
    thinking: { type: 'adaptive' },
    output_config: { effort: 'high' },
    tools: [{ name: 'f', input_schema: { type: 'object' } }],
  })
  const body = JSON.parse(String(asMessages.encode(request, CLAUDE, undefined).body))
  assert.deepEqual(body.messages[1].content.slice(0, 2), REASONING)
  assert.deepEqual(body.additionalModelRequestFields.thinking, { type: 'adaptive' })
})

test("no other provider gets a model's thinking", () => {
  const message = { role: 'assistant', content: 'Hi', thinking_blocks: [THINKING] }
  const request = aRequest({ messages: [ASKED, message, ASKED] })
  for (const provider of [vllm, mistral]) {
    const sent = chatWith(provider).encode(request, someSettings(), undefined).body
    assert.doesNotMatch(String(sent), /thinking_blocks|s1g/)
  }
})

test('thinking is remembered for its tenant, and for no other that sends its ids', () => {
  const answer = anthropicAnswer('toolu_shared')
  chatWith(anthropic).decode(answer, { ...aRequest(), tenant: 'one' })
  const dropped = { role: 'assistant', tool_calls: [callOf('toolu_shared')] }
  assert.deepEqual(sentBack(anthropic, dropped, undefined, 'other').blocks, [
    toolUse('toolu_shared'),
  ])
  const { blocks } = sentBack(anthropic, dropped, undefined, 'one')
  assert.deepEqual(blocks, [THINKING, REDACTED, toolUse('toolu_shared')])
})

test('of a usage only the counts that are read are kept', () => {
  const odd = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`member_${at}`, at]))
  const read = { input_tokens: 3, output_tokens: 4, cache_read_input_tokens: 1 }
  assert.deepEqual({ ...knownCounts({ ...odd, ...read, __proto__: null }) }, read)
})
