/** What is asked: bodies as chat completions, and the member that is at fault. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { GatewayError } from '../../../dataplane/errors.ts'
import { parseChat } from '../../../dataplane/stages/receive.ts'

const MESSAGES = [{ role: 'user', content: 'hi' }]

function parse(members: Readonly<Record<string, unknown>>) {
  return parseChat(Buffer.from(JSON.stringify({ model: 'm', messages: MESSAGES, ...members })), 7)
}

test('what the gateway reads of a body is what was sent', () => {
  const request = parse({ stream: true, stream_options: { include_usage: true }, max_tokens: 5 })
  assert.equal(request.stream, true)
  assert.equal(request.includeUsage, true)
  assert.equal(request.maxTokens, 5)
  assert.equal(request.createdSeconds, 7)
})

test('absent, null and false are no', () => {
  for (const members of [
    {},
    { stream: null, stream_options: null, max_tokens: null },
    { stream: false },
  ]) {
    const { stream, includeUsage, maxTokens } = parse(members)
    assert.deepEqual([stream, includeUsage, maxTokens], [false, false, undefined])
  }
})

test('the newer bound of tokens wins over the older', () => {
  assert.equal(parse({ max_tokens: 5, max_completion_tokens: 9 }).maxTokens, 9)
})

const WRONG: readonly [Readonly<Record<string, unknown>>, string][] = [
  [{ model: 1 }, 'model'],
  [{ model: '' }, 'model'],
  [{ messages: [] }, 'messages'],
  [{ messages: {} }, 'messages'],
  [{ messages: [null] }, 'messages[0].role'],
  [{ messages: [[]] }, 'messages[0].role'],
  [{ messages: [...MESSAGES, { role: 1 }] }, 'messages[1].role'],
  [{ messages: [{ role: 'user', content: {} }] }, 'messages[0].content'],
  [{ stream: 'true' }, 'stream'],
  [{ stream_options: [] }, 'stream_options'],
  [{ max_tokens: 0 }, 'max_tokens'],
  [{ max_tokens: 1.5 }, 'max_tokens'],
  [{ max_tokens: 100_000_001 }, 'max_tokens'],
  [{ max_completion_tokens: '1' }, 'max_completion_tokens'],
  [{ n: 129 }, 'n'],
  [{ n: -1 }, 'n'],
]

for (const [members, param] of WRONG) {
  test(`${JSON.stringify(members)} is refused for ${param}`, () => {
    assert.throws(
      () => parse(members),
      (error) => {
        assert.ok(error instanceof GatewayError)
        return error.code === 'ERR_GW_INVALID_REQUEST' && error.details.param === param
      },
    )
  })
}

test('random JSON in every member ends in a request or a refusal of the client', () => {
  const member = fc.constantFrom('model', 'messages', 'stream', 'stream_options', 'max_tokens', 'n')
  fc.assert(
    fc.property(member, fc.jsonValue(), fc.string({ unit: 'binary' }), (name, value, text) => {
      for (const bytes of [
        Buffer.from(text),
        Buffer.from(JSON.stringify({ model: 'm', messages: MESSAGES, [name]: value })),
      ]) {
        try {
          const { maxTokens = 1 } = parseChat(bytes, 0)
          assert.ok(Number.isSafeInteger(maxTokens) && maxTokens > 0)
        } catch (error) {
          assert.ok(error instanceof GatewayError)
          assert.equal(error.status, 400)
        }
      }
    }),
    { numRuns: 5000 },
  )
})
