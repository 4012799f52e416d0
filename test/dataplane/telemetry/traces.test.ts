import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeptTexts } from '../../../dataplane/telemetry/kept-texts.ts'
import { newTrace } from '../../../dataplane/telemetry/trace/code.ts'
import { TEXTS, type Trace } from '../../../dataplane/telemetry/trace/fields.ts'
import { Traces } from '../../../dataplane/telemetry/traces.ts'

function aTrace(id: number, fields: Partial<Trace> = {}): Trace {
  return Object.assign(newTrace(String(id), '2026-11-21T00:00:00.000Z', 'POST', '/'), {
    status: 200,
    ...fields,
  })
}

const idsOf = (traces: Traces, limit = 100) => traces.list(limit).map((trace) => trace.request_id)

test('the newest come first, and the oldest are dropped', () => {
  const traces = new Traces(3)
  for (const id of [1, 2, 3, 4]) traces.add(aTrace(id))
  assert.deepEqual(idsOf(traces), ['4', '3', '2'])
  assert.deepEqual(idsOf(traces, 1), ['4'])
  assert.equal(traces.get('3')?.request_id, '3')
  assert.equal(traces.get('1'), undefined)
})

test('errors and slow requests stay when many others follow, and appear once', () => {
  const traces = new Traces(8)
  traces.add(aTrace(1, { status: 500 }))
  traces.add(aTrace(2, { duration_ms: 10_000 }))
  assert.deepEqual(idsOf(traces), ['2', '1'])
  for (let id = 10; id < 30; id++) traces.add(aTrace(id))
  assert.equal(traces.get('1')?.status, 500)
  assert.equal(traces.get('2')?.duration_ms, 10_000)
  assert.equal(idsOf(traces).length, 10)
})

test('another size keeps the newest that fit, and continues from there', () => {
  const traces = new Traces(4)
  for (const id of [1, 2, 3, 4, 5]) traces.add(aTrace(id))
  traces.resize(2)
  assert.equal(traces.size, 2)
  assert.deepEqual(idsOf(traces), ['5', '4'])
  traces.resize(4)
  for (const id of [6, 7, 8]) traces.add(aTrace(id))
  assert.deepEqual(idsOf(traces), ['8', '7', '6', '5'])
  traces.resize(0)
  traces.add(aTrace(9, { status: 500 }))
  assert.deepEqual(idsOf(traces), [])
})

function withTexts(id: number, text: string, fields: Partial<Trace> = {}): Trace {
  return aTrace(id, { ...fields, [TEXTS]: new KeptTexts([{ role: 'user', text }], []) })
}
const texted = (traces: Traces) =>
  traces.list(10_000).flatMap((trace) => (trace[TEXTS] === undefined ? [] : [trace.request_id]))

test('no JSON of a trace contains texts', () => {
  const trace = withTexts(1, 'secret words')
  assert.equal(trace[TEXTS]?.read().messages[0]?.text, 'secret words')
  assert.doesNotMatch(JSON.stringify(trace), /secret|texts/)
  assert.deepEqual(Object.keys(trace), Object.keys(aTrace(1)))
})

test('texts are lost when newer requests replace theirs, even those of errors', () => {
  const traces = new Traces(2)
  traces.add(withTexts(1, 'a', { status: 500 }))
  traces.add(withTexts(2, 'b'))
  assert.deepEqual(texted(traces), ['2', '1'])
  traces.add(aTrace(3))
  assert.equal(traces.get('1')?.status, 500)
  assert.deepEqual(texted(traces), ['2'])
  traces.resize(1)
  assert.deepEqual(texted(traces), [])
  const none = new Traces(0)
  const trace = withTexts(4, 'c')
  none.add(trace)
  assert.equal(trace[TEXTS], undefined)
})

test('all texts together are bounded: the oldest are dropped', () => {
  const traces = new Traces(2000)
  const long = 'x'.repeat(32_768)
  for (let id = 0; id < 600; id++) traces.add(withTexts(id, long))
  const kept = texted(traces)
  assert.ok(kept.length > 500 && kept.length * 32_768 <= 16_777_216, String(kept.length))
  assert.equal(kept[0], '599')
  assert.equal(traces.list(2000).length, 600)
})

test('texts of one request are bounded: the last ones are kept, and the passages that still fit', () => {
  const messages = [
    { role: 'r'.repeat(100), text: 'first' },
    { role: 'user', text: '\u{1f600}'.repeat(10_000) },
    { role: 'user', text: 'y'.repeat(20_000) },
  ]
  const texts = new KeptTexts(messages, [{ text: 'p' }])
  const { messages: kept, left_out, passages } = texts.read()
  assert.deepEqual([left_out, passages], [1, [undefined]])
  assert.equal(kept[0]?.cut, true)
  assert.equal(kept[1]?.text.length, 20_000)
  assert.ok(texts.bytes <= 65_536 + 1000, String(texts.bytes))
  const many = new KeptTexts(
    Array.from({ length: 50_000 }, () => messages[0] as never),
    [],
  )
  assert.equal(many.read().messages.length, 200)
  assert.equal(many.read().messages[0]?.role.length, 32)
  assert.deepEqual(new KeptTexts([], [{ text: 'p' }]).read().passages, ['p'])
})
