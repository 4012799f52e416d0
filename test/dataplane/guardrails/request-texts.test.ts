import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Guard } from '../../../dataplane/guardrails/guard.ts'
import { judgeInput } from '../../../dataplane/guardrails/input.ts'
import { holdsTokens, textsOf, withTexts } from '../../../dataplane/guardrails/request-texts.ts'
import {
  aCompletionsRequest,
  anEmbeddingsRequest,
  aRequest,
  aRerankRequest,
} from '../../helpers/providers/a-request.ts'

test('a list is copied once, however many of its texts change, and the request does not change', () => {
  const parts = Array.from({ length: 1_000 }, (_, at) => ({ type: 'text', text: `secret ${at}` }))
  const request = aRequest({ messages: [{ role: 'user', content: parts }] })
  const content = request.body.messages[0]?.content as object[]
  let copies = 0
  Object.defineProperty(content, Symbol.iterator, {
    value: () => {
      copies++
      return Array.prototype[Symbol.iterator].call(content)
    },
  })
  const places = textsOf(request)
  copies = 0
  const fresh = withTexts(
    request,
    places,
    places.map(({ text }, at) => (at === 7 ? text : 'x')),
  )
  assert.equal(copies, 1)
  const shown = fresh.body.messages[0]?.content as { text: string }[]
  assert.deepEqual([shown[0]?.text, shown[7]?.text, shown[999]?.text], ['x', 'secret 7', 'x'])
  assert.equal(shown[7], content[7])
  assert.equal((content[0] as { text: string }).text, 'secret 0')
})

test('words are read wherever a model reads them, and changed in place', () => {
  const request = aRequest({
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'one' }] },
      {
        role: 'assistant',
        content: [{ type: 'refusal', refusal: 'two' }],
        refusal: 'three',
        reasoning_content: 'four',
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'f', arguments: '{"five":5}' } },
          { id: 'b', type: 'custom', custom: { name: 'c', input: 'six' } },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: 'seven' },
    ],
    tools: [
      { type: 'function', function: { name: 'f', description: 'eight' } },
      { type: 'custom', custom: { name: 'c', description: 'nine' } },
    ],
  })
  const places = textsOf(request)
  const spoken = ['one', 'two', 'three', 'four', '{"five":5}', 'six', 'seven', 'eight', 'nine']
  const wordsOf = (all: typeof places) =>
    all.filter(({ isFixed }) => !isFixed).map(({ text }) => text)
  assert.deepEqual(wordsOf(places), spoken)
  assert.deepEqual(
    places.filter(({ isFixed }) => isFixed).map(({ text }) => text),
    ['f', 'c', 'f', 'c'],
  )
  const hidden = places.map(({ text }) => text.toUpperCase())
  const fresh = textsOf(withTexts(request, places, hidden))
  assert.deepEqual(
    wordsOf(fresh),
    spoken.map((text) => text.toUpperCase()),
  )
})

test('a text to continue is read with its suffix; token numbers cannot be read', () => {
  const request = aCompletionsRequest({ prompt: ['one', 'two'], suffix: 'three' })
  assert.deepEqual(
    textsOf(request).map(({ text }) => text),
    ['one', 'two', 'three'],
  )
  assert.equal(holdsTokens(request), false)
  for (const tokens of [
    [1, 2],
    [[1], [2]],
  ]) {
    assert.equal(holdsTokens(aCompletionsRequest({ prompt: tokens })), true)
    assert.equal(holdsTokens(anEmbeddingsRequest({ input: tokens })), true)
  }
})

test('a request without changed texts is the same', () => {
  const request = aRequest()
  const places = textsOf(request)
  assert.equal(
    withTexts(
      request,
      places,
      places.map(({ text }) => text),
    ),
    request,
  )
})

test('a query and its documents are read, and changed in place', () => {
  const request = aRerankRequest({ query: 'Which?', documents: ['one', { text: 'two' }] })
  const places = textsOf(request)
  assert.deepEqual(
    places.map(({ text }) => text),
    ['Which?', 'one', 'two'],
  )
  const { body } = withTexts(request, places, ['Hidden?', 'one', 'x'])
  assert.deepEqual([body.query, body.documents], ['Hidden?', ['one', { text: 'x' }]])
})

test('the texts of a large request are read in a separate turn, and the changed ones put back in another', async (t) => {
  const messages = Array.from({ length: 2_000 }, (_, at) => ({
    role: 'user',
    content: `secret ${at} ${'x'.repeat(40)}`,
  }))
  const request = aRequest({ messages })
  const entries = t.mock.method(Object, 'entries')
  const guard = {
    judges: () => true,
    judge: async (_side: string, places: readonly unknown[]) => places.map(() => 'hidden'),
  } as unknown as Guard
  const subject = { requestId: 'r', tenant: 't', key: 'k', model: 'm' }
  const judging = judgeInput(request, [guard], subject, () => undefined)
  assert.equal(entries.mock.callCount(), 0)
  const { body } = await judging
  assert.ok(body.messages.every(({ content }) => content === 'hidden'))
})
