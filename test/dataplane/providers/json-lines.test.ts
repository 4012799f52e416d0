/** Lines from chunks cut anywhere: no byte is lost, and the same lines result however they arrive. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { EVENT_BYTES_MAX } from '../../../dataplane/providers/boundary-framer.ts'
import { LINES } from '../../../dataplane/providers/ollama/lines.ts'
import { cases } from '../../helpers/cases.ts'

const WRITTEN = '{"a":"🦙 é"}\n\r\n{"b":1}\r\n\n{"c":[]}\n{"d":'

function framed(chunks: readonly Buffer[]) {
  const framer = LINES.open()
  const runs = chunks.map((chunk) => framer.push(chunk)).filter((run) => run !== undefined)
  const read = (run: Buffer) => [...LINES.split(run)].map(LINES.parse).filter(Boolean)
  const events = runs.flatMap(read)
  const rest = framer.rest()
  return { bytes: Buffer.concat([...runs, rest]), events, rest: rest.toString() }
}

test('each split of a stream gives the same bytes and lines', () => {
  const bytes = Buffer.from(WRITTEN)
  const whole = framed([bytes])
  const data = whole.events.map((event) => event?.data)
  assert.deepEqual(data, ['{"a":"🦙 é"}', '{"b":1}', '{"c":[]}'])
  assert.equal(whole.rest, '{"d":')
  for (let place = 0; place <= bytes.length; place++) {
    assert.deepEqual(framed([bytes.subarray(0, place), bytes.subarray(place)]), whole)
  }
  assert.deepEqual(framed(Array.from(bytes, (byte) => Buffer.of(byte))), whole)
})

test('random bytes come out unchanged', () => {
  const chunks = fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 10 })
  fc.assert(
    fc.property(chunks, (drawn) => {
      const buffers = drawn.map((bytes) => Buffer.from(bytes))
      assert.ok(framed(buffers).bytes.equals(Buffer.concat(buffers)))
    }),
    { numRuns: cases(2000, 20_000) },
  )
})

test('a line above the bound is not held, and is a failure instead of a gap', () => {
  const piece = Buffer.alloc(65_536, 'x')
  const framer = LINES.open()
  const runs: Buffer[] = []
  for (let count = 0; count * piece.length <= EVENT_BYTES_MAX; count++) {
    const run = framer.push(piece)
    if (run !== undefined) runs.push(run)
  }
  assert.equal(runs.length, 1)
  const [line] = [...LINES.split(Buffer.concat(runs))].map(LINES.parse)
  assert.match(String(line?.data), /^\{"error":/)
})
