import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatRequest } from '../../dataplane/inner-form.ts'
import { Meter } from '../../dataplane/meter.ts'
import { anEmbeddingsRequest } from '../helpers/providers/a-request.ts'

/** All that a meter reads of a request. */
const request = {
  operation: 'chat',
  bytes: Buffer.alloc(41),
  promptTokensMax: 14,
} as unknown as ChatRequest
const usage = {
  promptTokens: 5,
  completionTokens: 2,
  cachedTokens: 1,
  reasoningTokens: 0,
  estimated: false,
}

test('an attempt that reported usage is charged as it was reported, at its own model', () => {
  const meter = new Meter()
  meter.begin('one', 'dear').usage = usage
  meter.begin('two', 'cheap').usage = { ...usage, promptTokens: 9 }
  const charges = meter.charges(request)
  assert.deepEqual(
    charges.map(({ attempt, usage: { promptTokens } }) => [attempt.model, promptTokens]),
    [
      ['dear', 5],
      ['cheap', 9],
    ],
  )
})

test('an attempt that failed before it said anything costs nothing', () => {
  const meter = new Meter()
  meter.begin('one', 'm')
  meter.begin('two', 'm').usage = usage
  assert.deepEqual(
    meter.charges(request).map(({ attempt }) => attempt.upstream),
    ['two'],
  )
})

test('a stream that never reported its usage is counted by its events, and marked as estimated', () => {
  const meter = new Meter()
  meter.begin('one', 'm').contentEvents = 3
  const [charge] = meter.charges(request)
  assert.partialDeepStrictEqual(charge?.usage, {
    completionTokens: 3,
    promptTokens: 11,
    estimated: true,
  })
})

test('vectors of unknown usage cost the tokens of the inputs, and nothing for the answer', () => {
  const meter = new Meter()
  meter.begin('one', 'm').answerBytes = 4_000
  const [charge] = meter.charges(anEmbeddingsRequest({ input: ['12345678', '1234'] }))
  assert.partialDeepStrictEqual(charge?.usage, { promptTokens: 3, completionTokens: 0 })
})

test('a usage of zero is a usage', () => {
  const meter = new Meter()
  const attempt = meter.begin('one', 'm')
  attempt.contentEvents = 3
  attempt.usage = { ...usage, promptTokens: 0, completionTokens: 0 }
  assert.partialDeepStrictEqual(meter.charges(request)[0]?.usage, {
    completionTokens: 0,
    estimated: false,
  })
})

test('a stream that ends before its end costs at least the words that were seen, and the reported prompt', () => {
  const meter = new Meter()
  const attempt = meter.begin('one', 'm')
  attempt.countedEvents = 0
  attempt.contentEvents = 200
  attempt.usage = { ...usage, completionTokens: 1 }
  assert.partialDeepStrictEqual(meter.charges(request)[0]?.usage, {
    promptTokens: 5,
    cachedTokens: 1,
    completionTokens: 200,
    estimated: true,
  })
  attempt.usage = { ...usage, completionTokens: 900 }
  assert.equal(meter.charges(request)[0]?.usage.completionTokens, 900)
})

test('counts that no request can have are not believed', () => {
  for (const member of ['promptTokens', 'completionTokens']) {
    const meter = new Meter()
    const attempt = meter.begin('one', 'm')
    attempt.contentEvents = 3
    attempt.usage = { ...usage, [member]: 1e15 }
    assert.partialDeepStrictEqual(meter.charges(request)[0]?.usage, {
      promptTokens: 11,
      completionTokens: 3,
      estimated: true,
    })
  }
})

test('a half that the upstream left out is estimated, and the other half stays', () => {
  const meter = new Meter()
  const stream = meter.begin('one', 'm')
  stream.contentEvents = 3
  stream.usage = { ...usage, completionTokens: 0, lacks: 'completionTokens' }
  const whole = meter.begin('two', 'm')
  whole.usage = { ...usage, completionTokens: 0, lacks: 'completionTokens' }
  whole.answerBytes = 40
  const unasked = meter.begin('three', 'm')
  unasked.usage = { ...usage, promptTokens: 0, lacks: 'promptTokens' }
  unasked.answerBytes = 40
  assert.deepEqual(
    meter
      .charges(request)
      .map(({ usage: { promptTokens, completionTokens, estimated } }) => [
        promptTokens,
        completionTokens,
        estimated,
      ]),
    [
      [5, 3, true],
      [5, 10, true],
      [11, 2, true],
    ],
  )
})
