/** Spans for a slow, unavailable or refusing collector: bounded, retried if useful, counted. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Exporter, type Posted } from '../../../../dataplane/telemetry/tracing/exporter.ts'
import { OtlpPage, PAGE_BYTES } from '../../../../dataplane/telemetry/tracing/otlp-page.ts'
import { writeSpans } from '../../../../dataplane/telemetry/tracing/spans.ts'
import { aClock } from '../../../helpers/clock.ts'
import { readBatch } from '../../../helpers/telemetry/spans.ts'
import { aTrace, client, snapshot } from './a-decision.ts'

const TAKEN: Posted = { kind: 'taken', rejected: 0 }

function anExporter() {
  const clock = aClock()
  const bodies: Buffer[] = []
  const answers: ((posted: Posted) => void)[] = []
  const counts: Record<string, { value: number }> = {}
  const cell = (name: string) => {
    counts[name] ??= { value: 0 }
    return counts[name]
  }
  const warned: string[] = []
  const exporter = new Exporter({
    post: (body) => {
      bodies.push(Buffer.from(body))
      return new Promise((resolve) => answers.push(resolve))
    },
    open: () => new OtlpPage({ resource: {}, version: '1' }, writeSpans),
    most: { bytes: PAGE_BYTES, items: 512 },
    clock,
    random: () => 0.5,
    exported: cell('exported'),
    dropped: cell,
    posts: (result) => cell(`post ${result}`),
    warn: (why) => warned.push(why),
  })
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  return {
    exporter,
    bodies,
    warned,
    add: (times = 1) => {
      for (let one = 0; one < times; one++)
        exporter.add({ trace: aTrace(), snapshot, client, kept: undefined })
    },
    /** Answers the running post. */
    async answer(posted: Posted) {
      answers.shift()?.(posted)
      await settled()
    },
    pass(ms: number) {
      clock.pass(ms)
      if (exporter.due <= clock.now()) exporter.expire()
    },
    count: (name: string) => counts[name]?.value ?? 0,
  }
}

test('spans wait a second for others, and are posted together', async () => {
  const { add, pass, bodies, answer, count, exporter } = anExporter()
  add(2)
  pass(900)
  assert.equal(bodies.length, 0)
  pass(200)
  assert.equal(bodies.length, 1)
  assert.equal(readBatch(bodies[0] ?? Buffer.alloc(0)).spans.length, 6)
  assert.ok(!exporter.isIdle)
  await answer(TAKEN)
  assert.equal(count('exported'), 6)
  assert.ok(exporter.isIdle)
})

test('a full page is posted at once, and pages go one after the other', async () => {
  const { add, bodies, answer, count, exporter } = anExporter()
  add(500)
  assert.equal(bodies.length, 1)
  exporter.flush()
  for (let page = 1; !exporter.isIdle; page++) {
    assert.equal(bodies.length, page)
    await answer(TAKEN)
  }
  assert.equal(count('exported'), 1500)
  const spans = bodies.map((body) => readBatch(body).spans.length)
  assert.equal(
    spans.reduce((sum, one) => sum + one, 0),
    1500,
  )
  assert.ok(spans.length > 2 && Math.max(...spans) < 520, String(spans))
  for (const { length } of bodies) assert.ok(length < 300_000, String(length))
})

test('a page is written again after another was accepted, whole and alone', async () => {
  const { add, pass, bodies, answer } = anExporter()
  for (let round = 0; round < 4; round++) {
    add()
    pass(1000)
    await answer(TAKEN)
  }
  assert.deepEqual(
    bodies.map((body) => readBatch(body).spans.length),
    [3, 3, 3, 3],
  )
})

test('an unavailable collector is tried again, at growing intervals, and no sooner than it asks', async () => {
  const { add, pass, bodies, answer, warned, count } = anExporter()
  add()
  pass(1000)
  await answer({ kind: 'away', why: 'it answered with 503', afterMs: undefined })
  pass(700)
  assert.equal(bodies.length, 1)
  pass(100)
  assert.equal(bodies.length, 2)
  await answer({ kind: 'away', why: 'it answered with 429', afterMs: 3000 })
  pass(2900)
  assert.equal(bodies.length, 2)
  pass(200)
  assert.equal(bodies.length, 3)
  await answer(TAKEN)
  assert.deepEqual(bodies[0], bodies[2])
  assert.deepEqual([count('exported'), warned], [3, ['it answered with 503']])
  assert.deepEqual([count('post away'), count('post taken')], [2, 1])
})

test('a refused batch is not repeated, and its rejected spans are counted', async () => {
  const { add, pass, bodies, answer, count } = anExporter()
  add()
  pass(1000)
  await answer({ kind: 'refused', why: 'it answered with 400' })
  add()
  pass(1000)
  await answer({ kind: 'taken', rejected: 2 })
  pass(60_000)
  assert.equal(bodies.length, 2)
  assert.deepEqual([count('refused'), count('rejected'), count('exported')], [3, 2, 1])
})

test('while a collector hangs, memory is bounded and the oldest spans are dropped and counted', async () => {
  const { add, bodies, exporter, answer, count } = anExporter()
  add(5000)
  exporter.flush()
  assert.ok(count('queue_full') > 0)
  while (!exporter.isIdle) await answer(TAKEN)
  assert.equal(count('exported') + count('queue_full'), 15_000)
  const bytes = bodies.reduce((sum, { length }) => sum + length, 0)
  assert.ok(bytes <= 2_097_152, String(bytes))
})
