import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Trace, Traces } from '../../../dataplane/telemetry/traces.ts'

function aTrace(id: number, fields: Partial<Trace> = {}): Trace {
  return Object.assign(new Trace(String(id), '2026-11-21T00:00:00.000Z', 'POST', '/'), {
    status: 200,
    ...fields,
  })
}

const idsOf = (traces: Traces, limit = 100) => traces.list(limit).map((trace) => trace.request_id)

test('the newest come first, and the oldest make room', () => {
  const traces = new Traces(3)
  for (const id of [1, 2, 3, 4]) traces.add(aTrace(id))
  assert.deepEqual(idsOf(traces), ['4', '3', '2'])
  assert.deepEqual(idsOf(traces, 1), ['4'])
  assert.equal(traces.get('3')?.request_id, '3')
  assert.equal(traces.get('1'), undefined)
})

test('errors and slow requests stay when many others come, and are there once', () => {
  const traces = new Traces(8)
  traces.add(aTrace(1, { status: 500 }))
  traces.add(aTrace(2, { duration_ms: 10_000 }))
  assert.deepEqual(idsOf(traces), ['2', '1'])
  for (let id = 10; id < 30; id++) traces.add(aTrace(id))
  assert.equal(traces.get('1')?.status, 500)
  assert.equal(traces.get('2')?.duration_ms, 10_000)
  assert.equal(idsOf(traces).length, 10)
})

test('another size keeps the newest that fit, and goes on from there', () => {
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
