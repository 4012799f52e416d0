/** Event streams: published frames, AWS's own codec, every split, and every flipped bit. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import {
  DAMAGED,
  EVENT_STREAM,
  FAILED,
} from '../../../../dataplane/providers/bedrock/aws/frames.ts'
import type { WireEvent } from '../../../../dataplane/wire/provider.ts'
import { cases } from '../../../helpers/cases.ts'
import {
  codec,
  errorFrame,
  eventFrame,
  exceptionFrame,
  frameOf,
} from '../../../helpers/providers/fakes/event-stream.ts'
import { aRandom } from '../../../helpers/random.ts'

const PUBLISHED = [
  [
    '000000760000005296d5fade0b3a6576656e742d7479706507000c6d65737361676553746172740d3a636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e0d3a6d6573736167652d747970650700056576656e747b22726f6c65223a22617373697374616e74227d6fa8c599',
    { event: 'messageStart', data: '{"role":"assistant"}' },
  ],
  [
    '0000009400000057b4ab9aee0b3a6576656e742d74797065070011636f6e74656e74426c6f636b44656c74610d3a636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e0d3a6d6573736167652d747970650700056576656e747b22636f6e74656e74426c6f636b496e646578223a302c2264656c7461223a7b2274657874223a224869227d7d1f944657',
    { event: 'contentBlockDelta', data: '{"contentBlockIndex":0,"delta":{"text":"Hi"}}' },
  ],
  [
    '0000007d00000056e6680fd60b3a6576656e742d74797065070010636f6e74656e74426c6f636b53746f700d3a636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e0d3a6d6573736167652d747970650700056576656e747b22636f6e74656e74426c6f636b496e646578223a317daa357c75',
    { event: 'contentBlockStop', data: '{"contentBlockIndex":1}' },
  ],
  [
    '0000007a00000051ca2c46650b3a6576656e742d7479706507000b6d65737361676553746f700d3a636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e0d3a6d6573736167652d747970650700056576656e747b2273746f70526561736f6e223a22656e645f7475726e227d5fbf09fc',
    { event: 'messageStop', data: '{"stopReason":"end_turn"}' },
  ],
  [
    '00000090000000618e91a9b70f3a657863657074696f6e2d747970650700137468726f74746c696e67457863657074696f6e0d3a636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e0d3a6d6573736167652d74797065070009657863657074696f6e7b226d657373616765223a22546f6f206d616e79207265717565737473227de67f8005',
    { event: FAILED, data: '{"message":"Too many requests","__type":"throttlingException"}' },
  ],
] as const

const BYTES = Buffer.concat(PUBLISHED.map(([hex]) => Buffer.from(hex, 'hex')))
const EVENTS: WireEvent[] = PUBLISHED.map(([, event]) => event)

/** Cuts and reads a stream that arrives in these pieces. */
function eventsIn(pieces: readonly Buffer[]): { events: WireEvent[]; rest: number } {
  const framer = EVENT_STREAM.open()
  const events: WireEvent[] = []
  for (const piece of pieces) {
    // A chunk is a view of reused memory.
    const lent = Buffer.from(piece)
    const frames = framer.push(lent)
    for (const frame of EVENT_STREAM.split(frames ?? Buffer.alloc(0))) {
      // A failure ends the reading.
      if (events.at(-1)?.data.includes(DAMAGED)) break
      const event = EVENT_STREAM.parse(frame)
      if (event !== undefined) events.push(event)
    }
    if (frames === undefined || frames.length === 0) lent.fill(0)
  }
  return { events, rest: framer.rest().length }
}

test('published frames are read, whole, byte by byte and cut at every place', () => {
  assert.deepEqual(eventsIn([BYTES]), { events: EVENTS, rest: 0 })
  assert.deepEqual(eventsIn([...BYTES].map((byte) => Buffer.of(byte))), { events: EVENTS, rest: 0 })
  for (let at = 0; at <= BYTES.length; at++) {
    const pieces = [BYTES.subarray(0, at), BYTES.subarray(at)]
    assert.deepEqual(eventsIn(pieces), { events: EVENTS, rest: 0 }, `cut at ${at}`)
  }
})

test('every flipped bit is damage, and ends the reading', () => {
  const second = PUBLISHED[0][0].length / 2
  const end = second + PUBLISHED[1][0].length / 2
  for (let bit = second * 8; bit < end * 8; bit++) {
    const bytes = Buffer.from(BYTES)
    bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7))
    const { events } = eventsIn([bytes])
    assert.deepEqual(events[0], EVENTS[0])
    assert.deepEqual(JSON.parse(events[1]?.data ?? '').__type, DAMAGED, `bit ${bit}`)
  }
})

test('an incomplete frame at the end is a rest, and not an event', () => {
  const { events, rest } = eventsIn([BYTES.subarray(0, BYTES.length - 1)])
  assert.deepEqual(events, EVENTS.slice(0, -1))
  assert.equal(rest, 143)
})

test('lengths out of bounds are damage before anything is kept for them', () => {
  for (const [total, headers] of [
    [16_777_216 + 17, 0],
    [0xffff_ffff, 0],
    [200_000, 131_073],
    [15, 0],
    [0, 0],
    [16, 1],
  ] as const) {
    const prelude = Buffer.alloc(12)
    prelude.writeUInt32BE(total)
    prelude.writeUInt32BE(headers, 4)
    prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8)
    const framer = EVENT_STREAM.open()
    const frames = framer.push(prelude) ?? Buffer.alloc(0)
    const [event] = [...EVENT_STREAM.split(frames)].map((frame) => EVENT_STREAM.parse(frame))
    assert.equal(event?.event, FAILED, `${total}, ${headers}`)
    assert.equal(framer.push(Buffer.alloc(1_000_000)), undefined)
    assert.equal(framer.rest().length, 0)
  }
})

test('headers that do not fill their length are damage', () => {
  for (const headers of ['ff', '016107', '01610700ff61', '01610a', '0161', '016108']) {
    assert.equal(read(framed(Buffer.from(headers, 'hex')))?.event, FAILED, headers)
  }
})

test('values of all types are skipped, and texts are read', () => {
  const headers = {
    a: { type: 'boolean', value: true },
    b: { type: 'boolean', value: false },
    c: { type: 'byte', value: 1 },
    d: { type: 'short', value: 2 },
    e: { type: 'integer', value: 3 },
    f: { type: 'binary', value: Buffer.from('abc') },
    g: { type: 'timestamp', value: new Date(1_767_323_045_000) },
    h: { type: 'uuid', value: '01234567-89ab-cdef-0123-456789abcdef' },
    ':event-type': { type: 'string', value: 'messageStop' },
    ':message-type': { type: 'string', value: 'event' },
  } as const
  const frame = Buffer.from(codec.encode({ headers, body: Buffer.from('{}') }))
  assert.deepEqual(read(frame), { event: 'messageStop', data: '{}' })
})

test('headers mark errors and exceptions, and other types mean nothing', () => {
  assert.deepEqual(read(errorFrame('InternalFailure', 'Oh')), {
    event: FAILED,
    data: '{"message":"Oh","__type":"InternalFailure"}',
  })
  const odd = frameOf({ ':message-type': 'exception', ':exception-type': 'a' }, Buffer.from('text'))
  assert.deepEqual(read(odd), { event: FAILED, data: '{"__type":"a"}' })
  assert.equal(read(frameOf({ ':message-type': 'new' }, new Uint8Array())), undefined)
  assert.equal(read(frameOf({}, new Uint8Array())), undefined)
  const nameless = frameOf({ ':message-type': 'event' }, Buffer.from('{}'))
  assert.deepEqual(read(nameless), { event: '', data: '{}' })
})

test("random streams are read like AWS's own codec writes them, however they are cut", () => {
  const random = aRandom(11)
  for (let round = 0; round < cases(200, 5_000); round++) {
    const sent = Array.from({ length: 1 + random(8) }, (_, index) => {
      const content = { n: index, text: 'é漢😀'.repeat(random(index === 3 ? 5_000 : 40)) }
      return random(5) === 0
        ? { event: FAILED, frame: exceptionFrame('someException', content), content }
        : { event: 'messageStart', frame: eventFrame('messageStart', content), content }
    })
    const bytes = Buffer.concat(sent.map(({ frame }) => frame))
    const pieces: Buffer[] = []
    for (let at = 0; at < bytes.length; ) {
      const end = at + 1 + random(random(4) === 0 ? 20 : 3_000)
      pieces.push(bytes.subarray(at, end))
      at = end
    }
    const { events, rest } = eventsIn(pieces)
    assert.equal(rest, 0)
    assert.deepEqual(
      events.map(({ event, data }) => [event, JSON.parse(data).text]),
      sent.map(({ event, content }) => [event, content.text]),
    )
  }
})

test('no bytes throw, and none are kept after damage', () => {
  const random = aRandom(13)
  for (let round = 0; round < cases(2_000, 100_000); round++) {
    const bytes = Buffer.from(BYTES)
    for (let change = 0; change <= random(4); change++) bytes[random(bytes.length)] = random(256)
    const at = random(bytes.length)
    const { events, rest } = eventsIn([bytes.subarray(0, at), bytes.subarray(at)])
    assert.ok(events.length <= EVENTS.length && rest <= bytes.length)
  }
})

function read(frame: Buffer): WireEvent | undefined {
  return EVENT_STREAM.parse(frame)
}

/** A valid frame around headers that may be invalid. */
function framed(headers: Buffer): Buffer {
  const frame = Buffer.alloc(16 + headers.length)
  frame.writeUInt32BE(frame.length)
  frame.writeUInt32BE(headers.length, 4)
  frame.writeUInt32BE(crc32(frame.subarray(0, 8)), 8)
  headers.copy(frame, 12)
  frame.writeUInt32BE(crc32(frame.subarray(0, -4)), frame.length - 4)
  return frame
}
