/** The messages of failing upstreams, and their requested delays. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { classifyAnswer, classifyError } from '../../../dataplane/providers/failures/classify.ts'

function classify(status: number, body: unknown, headers: Record<string, unknown> = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return classifyAnswer([], status, headers, Buffer.from(text))
}

test('the delay comes from the most exact place that has one', () => {
  const delayOf = (headers: Record<string, unknown>, body: unknown = '') =>
    classify(429, body, headers).retryAfterMs
  const gemini = {
    error: { code: 429, message: 'Quota', details: [{ reason: 'x' }, { retryDelay: '13.5s' }] },
  }
  assert.equal(delayOf({ 'retry-after-ms': '1200.4', 'retry-after': '9' }), 1201)
  assert.equal(delayOf({ 'retry-after': '0.5' }), 500)
  assert.equal(delayOf({ 'retry-after': ['2', '3'] }), 2000)
  assert.equal(delayOf({}, gemini), 13_500)
  assert.equal(delayOf({ 'retry-after': '1' }, gemini), 1000)
  const said = (message: string) => delayOf({}, { error: { message } })
  assert.equal(said('Too many. Please retry after 6 seconds.'), 6000)
  assert.equal(said('Please try again in 20ms.'), 20)
  assert.equal(said('Please try again in 1h2m3s'), 3_723_000)
  assert.equal(said('Please retry in 13.2s'), 13_200)
  assert.equal(said('Please retry after a while'), undefined)
})

test('details of an error can be more precise than its text', () => {
  const own = [{ class: 'quota', status: [429], details: /"id":"[^"]*PerDay/ } as const]
  const classOf = (details: unknown, status = 429) => {
    const body = JSON.stringify({ error: { message: 'm', details } })
    return classifyAnswer(own, status, {}, Buffer.from(body)).class
  }
  assert.equal(classOf([{ violations: [{ id: 'RequestsPerDay' }] }]), 'quota')
  assert.equal(classOf([{ violations: [{ id: 'RequestsPerMinute' }] }]), 'rate_limited')
  assert.equal(classOf([{ id: 'RequestsPerDay' }], 400), 'client')
  assert.equal(classOf({ id: 'RequestsPerDay' }), 'rate_limited')
})

test('an invalid delay is ignored', () => {
  for (const value of ['0', '-5', 'NaN', 'Infinity', '', 'soon', 'Wed, 21 Oct 2015 07:28:00 GMT']) {
    const failure = classify(503, '', { 'retry-after': value, 'retry-after-ms': value })
    assert.equal('retryAfterMs' in failure, false, value)
  }
})

test('no body and no header throws', () => {
  const header = fc.oneof(fc.string(), fc.array(fc.string()), fc.constant(undefined))
  fc.assert(
    fc.property(
      fc.jsonValue(),
      fc.integer({ min: 100, max: 599 }),
      header,
      (body, status, value) => {
        const failure = classify(status, body, { 'retry-after': value, 'retry-after-ms': value })
        assert.ok(failure.message.length > 0 && failure.message.length <= 65_536)
        classifyError([], body)
      },
    ),
  )
})

test('the message of a web page is its title, and little of a large body is read', () => {
  const page = `<html>${'<title '.repeat(50_000)}`
  assert.equal(classify(502, page).message, 'The upstream answered with a web page.')
  assert.equal(
    classify(403, '<title>\n Blocked </title>').message,
    'The upstream answered with a web page: Blocked',
  )
  assert.equal(classify(500, 'x'.repeat(1_000_000)).message.length, 65_536)
  assert.equal(classify(500, '').message, 'The upstream answered 500 without a reason.')
})

test('an error under 200 is judged by its fields, and one without any has no status', () => {
  assert.deepEqual(classify(200, { error: { message: 'm', code: 429 } }).status, 429)
  assert.equal(classify(200, { error: { message: 'm', code: '404' } }).class, 'missing')
  assert.equal(classify(200, { error: { message: 'm', type: 'overloaded_error' } }).status, 503)
  const nameless = classify(200, { error: { message: 'm' } })
  assert.deepEqual([nameless.class, 'status' in nameless], ['server', false])
  assert.equal(classify(200, { error: { message: 'm', code: 200 } }).class, 'server')
})

test('forms of bodies that name the place of a mistake', () => {
  const list = [
    { loc: ['body', 'tools', 0], msg: 'first' },
    { loc: ['body', 'n'], msg: 'second' },
  ]
  const fastApi = classify(422, { detail: list })
  assert.equal(fastApi.message, 'tools.0: first; n: second')
  assert.equal(fastApi.param, 'tools.0')
  const mistral = classify(422, { object: 'error', message: { detail: list }, type: 'invalid' })
  assert.equal(mistral.message, fastApi.message)
  assert.equal(classify(400, { Message: 'AWS' }).message, 'AWS')
  const gemini = classify(400, [{ error: { code: 400, message: 'm', status: 'INVALID' } }])
  assert.deepEqual([gemini.type, gemini.code], ['INVALID', '400'])
})
