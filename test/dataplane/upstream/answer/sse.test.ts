/** Events from chunks cut anywhere: no byte is lost, and the same events result however they arrive. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { EVENT_BYTES_MAX } from '../../../../dataplane/providers/boundary-framer.ts'
import { SseFramer } from '../../../../dataplane/providers/openai-like/sse.ts'
import { cases } from '../../../helpers/cases.ts'
import { cut, eventsOf, frame, recorded, WRITTEN } from './streams.ts'

for (const { name, bytes } of [...recorded(), ...WRITTEN]) {
  test(`${name}: each of its ${bytes.length + 1} splits gives the same bytes and events`, () => {
    const events = eventsOf(bytes)
    for (let place = 0; place <= bytes.length; place++) {
      const framed = frame(cut(bytes, place))
      assert.ok(framed.bytes.equals(bytes), `bytes, split at ${place}`)
      assert.deepEqual(framed.events, events, `split at ${place}`)
    }
    const single = frame(Array.from(bytes, (byte) => Buffer.of(byte)))
    assert.ok(single.bytes.equals(bytes))
    assert.deepEqual(single.events, events)
  })
}

const PIECES = [
  '\n',
  '\r',
  '\r\n',
  '\n\n',
  '\r\n\r\n',
  'data: a',
  'data:b',
  'data',
  'event: e',
  ':',
  ': c',
  'id: 1',
  '🦜',
  'é',
  ' ',
  'x',
]
const text = fc
  .array(fc.constantFrom(...PIECES), { maxLength: 24 })
  .map((pieces) => pieces.join(''))

test('random streams, cut at random places, keep bytes and events', () => {
  const places = fc.array(fc.nat(200), { maxLength: 6 })
  fc.assert(
    fc.property(text, places, (written, drawn) => {
      const bytes = Buffer.from(written)
      const framed = frame(cut(bytes, ...drawn.map((place) => place % (bytes.length + 1))))
      assert.ok(framed.bytes.equals(bytes))
      assert.deepEqual(framed.events.filter(hasData), eventsOf(bytes).filter(hasData))
    }),
    { numRuns: cases(2000, 20_000) },
  )
})

/** A line `data` without a colon is an empty event to the standard and none here: no upstream sends it. */
function hasData({ data }: { readonly data: string }): boolean {
  return data.trim() !== ''
}

test('random bytes come out unchanged', () => {
  const chunks = fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 10 })
  fc.assert(
    fc.property(chunks, (drawn) => {
      const buffers = drawn.map((bytes) => Buffer.from(bytes))
      assert.ok(frame(buffers).bytes.equals(Buffer.concat(buffers)))
    }),
    { numRuns: cases(2000, 20_000) },
  )
})

test('an event is emitted with the chunk that ends it, and not before', () => {
  const framer = new SseFramer()
  assert.equal(framer.push(Buffer.from('data: a\n')), undefined)
  assert.equal(framer.push(Buffer.from('\ndata: b'))?.toString(), 'data: a\n\n')
  assert.equal(framer.push(Buffer.from('\r\n')), undefined)
  assert.equal(
    framer.push(Buffer.from('\r\ndata: c\n\n: d'))?.toString(),
    'data: b\r\n\r\ndata: c\n\n',
  )
  assert.equal(framer.rest().toString(), ': d')
})

test('an event is emitted with the last byte of its blank line, wherever it is cut', () => {
  for (const end of ['\n\n', '\r\r', '\r\n\r\n', '\n\r\n', '\r\n\n', '\n\r']) {
    const bytes = Buffer.from(`data: a${end}`)
    for (let place = 0; place < bytes.length; place++) {
      const framer = new SseFramer()
      for (const chunk of cut(bytes, place)) framer.push(chunk)
      // The LF of a CRLF may follow the event that its CR has ended.
      assert.match(framer.rest().toString(), /^\n?$/, `${JSON.stringify(end)} at ${place}`)
    }
  }
})

test('an event above the bound passes in pieces, bounded in memory, and the next one is whole', () => {
  const framer = new SseFramer()
  const piece = Buffer.alloc(65_536, 'x')
  let given = framer.push(Buffer.from('data: '))?.length ?? 0
  let sent = 6
  for (let count = 0; count < 64; count++) {
    given += framer.push(piece)?.length ?? 0
    sent += piece.length
    assert.ok(sent - given <= EVENT_BYTES_MAX, 'held')
  }
  const last = framer.push(Buffer.from('\n\ndata: next\n\n'))
  assert.equal(given + (last?.length ?? 0), sent + 14)
  assert.equal(framer.push(Buffer.from('data: a\n\n'))?.toString(), 'data: a\n\n')
})

test('an event of exactly the bound is read whole', () => {
  const bytes = Buffer.from(`data: ${'x'.repeat(EVENT_BYTES_MAX - 8)}\n\n`)
  for (const place of [1, 6, 65_536, bytes.length - 2, bytes.length - 1]) {
    const { events } = frame(cut(bytes, place))
    assert.equal(events.length, 1)
    assert.equal(events[0]?.data.length, EVENT_BYTES_MAX - 8)
  }
})

test('a megabyte that arrives byte by byte takes no quadratic time', { timeout: 300_000 }, () => {
  const event = Buffer.from(`data: ${'x'.repeat(90)}\n\n`)
  const { bytes } = frame(
    Array.from({ length: 1_000_000 }, (_, at) => event.subarray(at % 98, (at % 98) + 1)),
  )
  assert.equal(bytes.length, 1_000_000)
})
