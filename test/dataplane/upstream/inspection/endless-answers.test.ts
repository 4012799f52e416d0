/** An upstream that never ends its answer: the kept part is bounded, and the client gets the reason of the cut. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anthropicMessagesDialect } from '../../../../dataplane/apis/anthropic-messages/dialect.ts'
import { anthropicWire } from '../../../../dataplane/apis/anthropic-messages/wire.ts'
import { MessageWriter } from '../../../../dataplane/apis/anthropic-messages/writer.ts'
import { openAiWire } from '../../../../dataplane/apis/openai/wire.ts'
import { openAiResponsesDialect } from '../../../../dataplane/apis/openai-responses/dialect.ts'
import { ResponseWriter } from '../../../../dataplane/apis/openai-responses/writer.ts'
import { KeptText } from '../../../../dataplane/base/kept-text.ts'
import { HeldStream } from '../../../../dataplane/guardrails/held-stream.ts'
import { aToy, aVisit, SPOKEN } from './inspected-visit.ts'

const [openai] = SPOKEN
assert.ok(openai)
const BYTES_MAX = 10_000
const PIECE = 'x'.repeat(500)
/** More than the bound, however small the pieces are. */
const PIECES = 200
const aBound = () => new KeptText(BYTES_MAX)

/** A piece of a call; its first one has an id. */
function call(index: number, text: string, id?: string): string {
  const begin = id === undefined ? {} : { id, type: 'function' }
  const named = { arguments: text, ...(id !== undefined && { name: 'f' }) }
  const delta = { tool_calls: [{ index, ...begin, function: named }] }
  return `data: ${JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, delta }] })}\n\n`
}

const guarded = () => aToy({ stream: () => new HeldStream(async (texts) => texts, aBound()) })

for (const [what, begin, piece] of [
  ['arguments of a call', [call(0, '', 'a')], () => call(0, PIECE)],
  ['calls without words', [], (at: number) => call(at, '', `c${at}`)],
] as const) {
  test(`${what} that a guardrail waits for are bounded, and another upstream is tried`, async () => {
    const visit = await aVisit(openai, true, guarded())
    await visit.say(openai.begin, ...begin)
    for (let at = 0; at < PIECES && visit.handlers.length === 1; at++) await visit.say(piece(at))
    visit.begin()
    await visit.say(openai.begin, openai.word('kept'), openai.end)
    visit.end()
    await visit.done
    assert.equal(visit.text(), 'kept')
    const [first, second] = visit.trace().attempts
    assert.deepEqual([first?.outcome, second?.outcome], ['malformed', 'ok'])
    assert.equal(first?.reason, `The answer is larger than ${BYTES_MAX} bytes.`)
  })
}

test('arguments that exceed the bound after content end the stream with an error event', async () => {
  const visit = await aVisit(openai, true, guarded())
  await visit.say(openai.begin, openai.word('good '.repeat(200)), call(0, '', 'a'))
  for (let at = 0; at < PIECES; at++) await visit.say(call(0, PIECE))
  await visit.done
  assert.match(visit.heard.body, /good .*data: \{"error":.*larger than.*"ERR_GW_STREAM_ABORTED"/s)
  assert.equal(visit.heard.calls.at(-1), 'cut')
  assert.deepEqual(
    visit.charged().map((one) => one.replace(/\d+/, 'N')),
    ['prompt N', 'completion N'],
  )
})

const messages = {
  dialect: {
    ...anthropicMessagesDialect,
    openWriter: (request: never) => new MessageWriter(request, aBound()),
  },
  wire: anthropicWire,
  body: { max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] },
}
const responses = {
  dialect: {
    ...openAiResponsesDialect,
    openWriter: (request: never) => new ResponseWriter(request, aBound()),
  },
  wire: openAiWire,
  body: { input: 'Hi' },
}

for (const { what, client, begin, piece, error } of [
  {
    what: 'a call that waits for the one before it in a stream of messages',
    client: messages,
    begin: [call(0, '{', 'a'), call(1, '{', 'b')],
    piece: call(1, PIECE),
    error: /event: error\ndata: \{"type":"error",.*larger than/,
  },
  {
    what: 'the output that the last event of a response repeats',
    client: responses,
    begin: [],
    piece: openai.word(PIECE),
    error: /event: response\.failed\ndata: .*ERR_GW_STREAM_ABORTED: .*larger than/,
  },
]) {
  test(`bounded, and the client gets its own error: ${what}`, async () => {
    const visit = await aVisit(openai, true, undefined, client)
    await visit.say(openai.begin, ...begin)
    for (let at = 0; at < PIECES; at++) await visit.say(piece)
    await visit.done
    assert.match(visit.heard.body, error)
    assert.ok(visit.heard.body.length < 30 * BYTES_MAX, String(visit.heard.body.length))
    assert.equal(visit.heardByUpstream.at(-1), 'the answer cannot be passed on')
    assert.equal(visit.trace().code, 'ERR_GW_STREAM_ABORTED')
    assert.equal(visit.charged().length, 2)
  })
}

for (const [what, broken] of [
  ['an event', { write: () => assert.fail('broken'), end: () => '' }],
  ['the end', { write: () => 'data: {}\n\n', end: () => assert.fail('broken') }],
] as const) {
  test(`a writer that fails at ${what} costs one stream, not the process`, async () => {
    const dialect = { ...messages.dialect, openWriter: () => broken }
    const visit = await aVisit(openai, true, undefined, { ...messages, dialect })
    await visit.say(openai.begin, openai.word('a'), openai.end)
    visit.end()
    await visit.say()
    if (visit.handlers.length > 1) visit.fail()
    await visit.done
    assert.match(visit.trace().attempts[0]?.reason ?? visit.trace().message ?? '', /translated/)
  })
}
