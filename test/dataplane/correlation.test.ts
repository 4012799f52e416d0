/** Foreign ids: which are accepted, and how they are sent upstream. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { continuing, correlate, idsFor } from '../../dataplane/telemetry/correlation.ts'
import { newTrace } from '../../dataplane/telemetry/trace/code.ts'
import type { Trace } from '../../dataplane/telemetry/trace/fields.ts'
import { type Headers, headed } from './headed.ts'

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = `00-${TRACE_ID}-00f067aa0ba902b7-01`

function taken(headers: Headers, id = 'tag-1'): Trace {
  const trace = newTrace(id, '', 'POST', '/')
  correlate(headed(headers), trace)
  return trace
}

const RUNTIME = { provider: { hosted: false }, section: {} }

function sent(headers: Headers, id?: string, upstream = RUNTIME): Record<string, string> {
  const list = idsFor(continuing(taken(headers, id)), upstream, { span_id: undefined }).headers
  return Object.fromEntries(
    Array.from({ length: list.length / 2 }, (_, at) => [list[at * 2], list[at * 2 + 1]]),
  )
}

test('a request without foreign ids sends none', () => {
  assert.deepEqual(continuing(taken({})), {
    requestId: 'tag-1',
    clientRequestId: undefined,
    headers: [],
    context: undefined,
  })
  assert.equal(continuing(taken({})).headers, continuing(taken({})).headers)
})

for (const id of ['a', 'req-1', '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~', 'x'.repeat(128)]) {
  test(`the client's request id ${id.slice(0, 40)} is kept and forwarded`, () => {
    const headers = { 'x-request-id': id }
    assert.equal(taken(headers).client_request_id, id)
    assert.equal(continuing(taken(headers)).clientRequestId, id)
    assert.deepEqual(sent(headers), { 'x-client-request-id': id })
  })
}

const NO_IDS = [
  '',
  'a b',
  'a, b',
  'a\tb',
  'x'.repeat(129),
  'é',
  'a\x7f',
  'a\r\nb: c',
  'sk-abcdefghijkl',
  'gw_live_client_0pQ7rS8tU9vW0xY1zA2bC3dE4fG5hI6jK7lM8nO9pQ0rS1tU2v',
]
for (const id of NO_IDS) {
  test(`${JSON.stringify(id.slice(0, 20))} is not a request id`, () => {
    assert.equal(taken({ 'x-request-id': id }).client_request_id, undefined)
    assert.deepEqual(sent({ 'x-request-id': id }), {})
  })
}

test('a trace continues with its id and flags, and with a span of this request', () => {
  for (const [traceparent, flags] of [
    [PARENT, '01'],
    [PARENT.replace(/01$/, '00'), '00'],
    [`${PARENT.replace(/^00/, 'cc')}-what-the-future-brings`, '01'],
    [PARENT.replace(/01$/, 'ff'), '03'],
    [PARENT.replace(/^00/, 'cc'), '01'],
  ] as const) {
    const trace = taken({ traceparent })
    assert.equal(trace.trace_id, TRACE_ID)
    assert.equal(trace.traceparent, traceparent.slice(0, 55))
    const { traceparent: next = '' } = sent({ traceparent })
    assert.match(next, new RegExp(`^00-${TRACE_ID}-[0-9a-f]{16}-${flags}$`))
    assert.ok(!next.includes('00f067aa0ba902b7'))
    assert.equal(sent({ traceparent }).traceparent, next)
    assert.notEqual(sent({ traceparent }, 'tag-2').traceparent, next)
  }
})

test("a company's API does not get the trace; your own endpoint of that API does", () => {
  const hosted = { provider: { hosted: true }, section: {} }
  const asked = { traceparent: PARENT, tracestate: 'a=b', 'x-request-id': 'id' }
  assert.deepEqual(sent(asked, 'tag-1', hosted), { 'x-client-request-id': 'id' })
  const own = { ...hosted, section: { endpoint: 'http://127.0.0.1:1' } }
  assert.deepEqual(Object.keys(sent(asked, 'tag-1', own)), [
    'x-client-request-id',
    'traceparent',
    'tracestate',
  ])
})

test("with spans, each attempt is the parent of its upstream's work", () => {
  let spans = 0
  const spanId = () => String(++spans).padStart(16, '0')
  const ids = continuing(taken({ traceparent: PARENT }), { spanId })
  for (const span of ['0000000000000001', '0000000000000002']) {
    const attempt = { span_id: undefined }
    const { headers } = idsFor(ids, RUNTIME, attempt)
    assert.deepEqual(headers, ['traceparent', `00-${TRACE_ID}-${span}-01`])
    assert.equal(attempt.span_id, span)
  }
})

const BAD_PARENTS = [
  '',
  'x',
  PARENT.slice(0, -1),
  `${PARENT}-`,
  `${PARENT}-more`,
  `${PARENT.replace(/^00/, 'cc')}more`,
  PARENT.replace(/^00/, 'ff'),
  PARENT.toUpperCase(),
  `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
  `00-${TRACE_ID}-${'0'.repeat(16)}-01`,
  PARENT.replaceAll('-', '_'),
  `${PARENT}, ${PARENT}`,
  ` ${PARENT}`,
]
for (const traceparent of BAD_PARENTS) {
  test(`${JSON.stringify(traceparent)} is not a traceparent, and its tracestate is dropped`, () => {
    const trace = taken({ traceparent, tracestate: 'a=b' })
    assert.deepEqual(
      [trace.trace_id, trace.traceparent, trace.tracestate],
      [undefined, undefined, undefined],
    )
    assert.deepEqual(sent({ traceparent, tracestate: 'a=b' }), {})
  })
}

const STATES = [
  'rojo=00f067aa0ba902b7',
  'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE',
  'a=1, b=2,\tc=3',
  'fw529a3039@dt=FfAAAA;x y',
  '0a@b=c',
  'a=b,,c=d',
  Array.from({ length: 32 }, (_, at) => `k${at}=v`).join(),
  `a=${'v'.repeat(256)}`,
]
for (const tracestate of STATES) {
  test(`the tracestate ${tracestate.slice(0, 40)} is kept and forwarded unchanged`, () => {
    assert.equal(taken({ traceparent: PARENT, tracestate }).tracestate, tracestate)
    assert.equal(sent({ traceparent: PARENT, tracestate }).tracestate, tracestate)
  })
}

const BAD_STATES = [
  '',
  'a',
  '=b',
  'a=',
  'A=b',
  'a =b',
  'a=b=c',
  'a=b\r\nx: y',
  'a=é',
  '@a=b',
  Array.from({ length: 33 }, (_, at) => `k${at}=v`).join(),
  `a=${'v'.repeat(257)}`,
  `a=${'v'.repeat(250)},b=${'v'.repeat(250)},c=${'v'.repeat(250)}`,
]
for (const tracestate of BAD_STATES) {
  test(`the tracestate ${JSON.stringify(tracestate.slice(0, 20))} is dropped, and the trace continues`, () => {
    const trace = taken({ traceparent: PARENT, tracestate })
    assert.deepEqual([trace.trace_id, trace.tracestate], [TRACE_ID, undefined])
    assert.equal(sent({ traceparent: PARENT, tracestate }).tracestate, undefined)
  })
}

test('any input is forwarded as short visible ASCII', () => {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(PARENT, 'a=b', 'id'))
  fc.assert(
    fc.property(text, text, text, (id, traceparent, tracestate) => {
      const all = sent({ 'x-request-id': id, traceparent, tracestate })
      for (const value of Object.values(all)) assert.match(value, /^[\t -~]{1,512}$/)
    }),
  )
})

test('64 KiB of any input are checked at once', () => {
  for (const piece of ['a=b,', 'a=', ',', ' ', '\t', '0', '-', 'a']) {
    const long = piece.repeat(65_536 / piece.length)
    const headers = { 'x-request-id': long, traceparent: PARENT, tracestate: long }
    const times = Array.from({ length: 5 }, () => {
      const start = performance.now()
      taken(headers)
      taken({ traceparent: long })
      return performance.now() - start
    })
    assert.ok(Math.min(...times) < 100, piece)
  }
})
