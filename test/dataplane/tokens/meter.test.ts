import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Meter } from '../../../dataplane/tokens/meter.ts'
import { Worths } from '../../../dataplane/tokens/worth.ts'
import { anEmbeddingsRequest, aRequest } from '../../helpers/providers/a-request.ts'

/** Seven words, and the four tokens of a template. */
const content = 'a word or two and three more'
const request = aRequest({ messages: [{ role: 'user', content }] })
const usage = {
  promptTokens: 5,
  completionTokens: 2,
  cachedTokens: 1,
  reasoningTokens: 0,
  estimated: false,
}

test('an attempt with reported usage is charged as reported, at its own model', () => {
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

test('an attempt is charged its prompt from the moment it is written, unless its upstream refused or failed', () => {
  const meter = new Meter()
  meter.begin('never written', 'm')
  meter.begin('written', 'm').isWritten = true
  const failed = meter.begin('failed', 'm')
  failed.isWritten = true
  failed.hasFailed = true
  meter.begin('reported', 'm').usage = usage
  assert.deepEqual(
    meter
      .charges(request)
      .map(({ attempt, usage: { promptTokens, completionTokens } }) => [
        attempt.upstream,
        promptTokens,
        completionTokens,
      ]),
    [
      ['written', 11, 0],
      ['reported', 5, 2],
    ],
  )
})

test("a prompt without usage is charged by the upstream's counts and cache shares of other prompts of the route", () => {
  const worths = new Worths()
  const content = 'word '.repeat(1000)
  const long = aRequest({ messages: [{ role: 'user', content }] })
  for (let seen = 0; seen < 8; seen++) {
    const meter = new Meter()
    const promptTokens = 1506
    meter.begin('up', 'm', worths).usage = { ...usage, promptTokens, cachedTokens: 753 }
    meter.learn(long)
  }
  const chargeOf = (upstream: string, model: string) => {
    const meter = new Meter()
    meter.begin(upstream, model, worths).isWritten = true
    return meter.charges(long)[0]?.usage
  }
  const { promptTokens = 0, cachedTokens = 0 } = chargeOf('up', 'm') ?? {}
  assert.ok(Math.abs(promptTokens - 1506) < 30, `${promptTokens}`)
  assert.equal(cachedTokens, Math.floor(promptTokens / 2))
  assert.partialDeepStrictEqual(chargeOf('up', 'another'), { promptTokens: 1004, cachedTokens: 0 })
})

test('a prompt that was counted exactly is charged that count', () => {
  const meter = new Meter()
  meter.counted = () => 77
  meter.addedTokens = 5
  meter.begin('one', 'm').isWritten = true
  assert.equal(meter.charges(request)[0]?.usage.promptTokens, 82)
})

test('an answer without usage counts by the larger of its events and its text', () => {
  const meter = new Meter()
  const large = meter.begin('one', 'm')
  for (let sent = 0; sent < 50; sent++) large.hearEvent('word '.repeat(80))
  const small = meter.begin('two', 'm')
  for (const piece of ['inter', 'nation', 'al', 'ization']) small.hearEvent(piece)
  small.hearEvent('')
  assert.deepEqual(
    meter.charges(request).map(({ usage: { completionTokens } }) => completionTokens),
    [4000, 5],
  )
})

test('text counts as many tokens as in the answers of the same model, and hidden reasoning teaches nothing', () => {
  const worths = new Worths()
  const one = (completionTokens: number, reasoningTokens: number) => {
    const meter = new Meter()
    const attempt = meter.begin('up', 'm', worths)
    attempt.hearEvent('word '.repeat(1000))
    attempt.report({ ...usage, completionTokens, reasoningTokens }, false)
    attempt.end()
    meter.learn(request)
  }
  for (let seen = 0; seen < 30; seen++) one(500, 0)
  one(8000, 7500)
  const meter = new Meter()
  meter.begin('up', 'm', worths).hearEvent('word '.repeat(1000))
  const { completionTokens = 0 } = meter.charges(request)[0]?.usage ?? {}
  assert.ok(Math.abs(completionTokens - 500) < 15, `${completionTokens}`)
})

test('text after an early usage is added to it', () => {
  const meter = new Meter()
  const attempt = meter.begin('one', 'm')
  attempt.hearEvent('word '.repeat(80))
  attempt.report({ ...usage, completionTokens: 78 }, true)
  assert.ok(attempt.isCurrent)
  attempt.hearEvent('word '.repeat(80))
  assert.ok(!attempt.isCurrent)
  assert.partialDeepStrictEqual(meter.charges(request)[0]?.usage, {
    promptTokens: 5,
    completionTokens: 158,
    estimated: true,
  })
})

test('a prompt of zero tokens is believed only at the end of a stream', () => {
  const meter = new Meter()
  const attempt = meter.begin('one', 'm')
  attempt.isWritten = true
  attempt.report({ ...usage, promptTokens: 0, cachedTokens: 0, completionTokens: 1 }, false)
  assert.equal(meter.charges(request)[0]?.usage.promptTokens, 11)
  attempt.end()
  assert.equal(meter.charges(request)[0]?.usage.promptTokens, 0)
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
  assert.partialDeepStrictEqual(charge?.usage, { promptTokens: 5, completionTokens: 0 })
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

test('a stream that ends before its end costs at least the received words, and the reported prompt', () => {
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

test('impossible counts are not believed', () => {
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

test('a missing half of the usage is estimated, and the other half stays', () => {
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
