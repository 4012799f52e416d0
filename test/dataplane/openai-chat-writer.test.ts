/** Answers of the inner form in OpenAI's wire, at points where its clients are strict. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openAiChatDialect } from '../../dataplane/apis/openai-chat/dialect.ts'
import { KeptText } from '../../dataplane/base/kept-text.ts'
import type { ChatEvent } from '../../dataplane/wire/inner-form.ts'
import { aRequest } from '../helpers/providers/a-request.ts'

const START: ChatEvent = { kind: 'start', id: 'c', model: 'm' }
const EXTRA = { maker: { proof: 'x' } }

function choicesOf(events: readonly ChatEvent[]) {
  const { write } = openAiChatDialect.openWriter!(aRequest({ stream: true, n: 2 }), new KeptText())
  const frames = events.map(write).join('').split('\n\n').filter(Boolean)
  return frames.flatMap((frame) => JSON.parse(frame.replace('data: ', '')).choices)
}

test('every choice of a stream begins with its role', () => {
  const choices = choicesOf([
    START,
    { kind: 'delta', choice: 1, delta: { text: 'b' } },
    { kind: 'delta', choice: 0, delta: { text: 'a' } },
    { kind: 'end', choice: 1, finish: 'stop' },
    { kind: 'end', choice: 2, finish: 'stop' },
  ])
  const roles = choices.map(({ index, delta }) => [index, delta.role, delta.content])
  assert.deepEqual(roles, [
    [0, 'assistant', ''],
    [1, 'assistant', ''],
    [1, undefined, 'b'],
    [0, undefined, 'a'],
    [1, undefined, undefined],
    [2, 'assistant', ''],
    [2, undefined, undefined],
  ])
})

test("the provider's own members of a tool call reach the client, only in its first piece", () => {
  const called = { index: 0, id: 'call_1', name: 'f', arguments: '{', extra: EXTRA }
  const [, first, rest] = choicesOf([
    START,
    { kind: 'delta', choice: 0, delta: { call: called } },
    { kind: 'delta', choice: 0, delta: { call: { index: 0, arguments: '}' } } },
  ])
  assert.deepEqual(first.delta.tool_calls[0].extra_content, EXTRA)
  assert.deepEqual(rest.delta.tool_calls, [{ index: 0, function: { arguments: '}' } }])
  const call = { id: 'call_1', name: 'f', arguments: '{}', extra: EXTRA }
  const choices = [{ text: '', calls: [call], finish: 'tool_calls' as const }]
  const written = openAiChatDialect.writeAnswer(
    { id: 'c', model: 'm', choices },
    undefined,
    aRequest(),
  )
  const { message } = JSON.parse(JSON.stringify(written)).choices[0]
  assert.deepEqual(message.tool_calls[0].extra_content, EXTRA)
})
