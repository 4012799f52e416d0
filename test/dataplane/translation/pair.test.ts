/** The client's wire and the upstream's, joined: the same one passes, another goes through the inner form. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anthropicMessagesDialect } from '../../../dataplane/apis/anthropic-messages/dialect.ts'
import { openAiChatDialect } from '../../../dataplane/apis/openai-chat/dialect.ts'
import { PROVIDERS } from '../../../dataplane/providers/index.ts'
import { pairOf, serves } from '../../../dataplane/translation/pair.ts'
import type { Dialect } from '../../../dataplane/wire/dialect.ts'
import type { ChatEvent } from '../../../dataplane/wire/inner-form.ts'
import { aRequest, ORIGIN, someSettings } from '../../helpers/providers/a-request.ts'

const vllm = PROVIDERS.get('vllm')!

/** A wire that no provider has: events are written unchanged. */
const other: Dialect<'chat'> = {
  ...openAiChatDialect,
  wire: 'other',
  writeAnswer: ({ choices }, usage) => [`${choices[0]?.text} for ${usage?.completionTokens}`],
  openWriter: () => ({
    write: (event: ChatEvent) => `${event.kind} `,
    end: (usage) => `in all ${usage?.completionTokens}`,
  }),
}

const chunk = (choice: object, more: object = {}) =>
  JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, ...choice }], ...more })

test('two with the same wire are joined once, and bytes pass', () => {
  const pair = pairOf(openAiChatDialect, vllm)!
  assert.equal(pairOf(openAiChatDialect, vllm), pair)
  const request = aRequest({ model: 'upstream-model', stream: true })
  const encoded = pair.encode(aRequest({ model: 'upstream-model' }), someSettings(), undefined)
  assert.equal(String(encoded.body), String(aRequest({ model: 'upstream-model' }).bytes))
  const reader = pair.openStream(request, ORIGIN)!
  assert.equal(reader.read({ event: '', data: chunk({ delta: { content: 'x' } }) }).out, 'same')
})

test('a request in another wire is written in that of the upstream', () => {
  const pair = pairOf(other, vllm)!
  const request = { ...aRequest({ max_tokens: 5 }), wire: 'other', bytes: Buffer.from('other') }
  const { body } = pair.encode(request, someSettings(), undefined)
  assert.deepEqual(JSON.parse(String(body)), {
    model: 'upstream-model',
    messages: [{ role: 'user', content: 'Hi' }],
    max_tokens: 5,
  })
})

test('the API writes an answer in another wire', () => {
  const usage = { prompt_tokens: 1, completion_tokens: 2 }
  const answer = chunk({ message: { content: 'Hello.' }, finish_reason: 'stop' }, { usage })
  const passed = pairOf(other, vllm)!.decode(Buffer.from(answer), aRequest(), ORIGIN)
  assert.deepEqual(passed.kind === 'body' && passed.body, '["Hello. for 2"]')
})

test('a stream in another wire has ended when every choice has', () => {
  const pair = pairOf(other, vllm)!
  const reader = pair.openStream(aRequest({ stream: true, n: 2 }), ORIGIN)!
  const read = (data: string) => reader.read({ event: '', data })
  const first = read(chunk({ delta: { content: 'x' } }))
  assert.deepEqual([first.out, first.content, first.finished], ['start delta ', true, false])
  const end = (index: number) => read(chunk({ index, delta: {}, finish_reason: 'stop' }))
  assert.deepEqual([end(0).finished, end(0).finished, end(1).finished], [false, false, true])
  assert.equal(read('[DONE]').done, true)
  const usage = { promptTokens: 1, completionTokens: 2, cachedTokens: 0, reasoningTokens: 0 }
  assert.equal(reader.end({ ...usage, estimated: false }), 'in all 2')
})

test('a provider without the operation is not joined', () => {
  const embeddings = { ...other, operation: 'embeddings' } as unknown as Dialect
  const anthropic = PROVIDERS.get('anthropic')!
  assert.equal(pairOf(embeddings, anthropic), undefined)
  assert.deepEqual([serves(anthropic, 'chat'), serves(anthropic, 'embeddings')], [true, false])
})

test('an answer of megabytes in another wire is written part by part', async (t) => {
  const text = '"a\\'.repeat(500_000)
  const pair = pairOf(anthropicMessagesDialect, vllm) ?? assert.fail()
  const choices = [{ index: 0, message: { content: text }, finish_reason: 'stop' }]
  const bytes = Buffer.from(JSON.stringify({ id: 'a', model: 'm', choices }))
  const request = aRequest()
  const stringify = t.mock.method(JSON, 'stringify')
  const decoded = pair.decode(bytes, request, ORIGIN)
  const passed = decoded.kind === 'inspected' ? await decoded.passed : decoded
  assert.ok(passed.kind === 'body')
  const calls = stringify.mock.calls.map(({ arguments: [one] }) => one)
  stringify.mock.restore()
  const lengths = calls.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)).length)
  assert.ok(lengths.length > 20 && lengths.every((length) => length <= 65_537))
  assert.equal(JSON.parse(String(passed.body)).content[0].text, text)
})
