/**
 * Frames of clients mean the same wherever their bytes are cut, and a violation of the protocol ends the connection.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  FrameError,
  FrameReader,
  type FrameSink,
} from '../../../dataplane/websocket/frame-reader.ts'
import { frameOf } from '../../../dataplane/websocket/frames.ts'
import { clientFrame, serverFrames, textFrame } from '../../helpers/client-frames.ts'

class Heard implements FrameSink {
  isWaiting = false
  bytesMax = 100_000
  readonly events: string[] = []
  #text: Buffer[] = []

  begins(length: number | undefined): void {
    this.events.push(`begins ${length}`)
  }

  data(piece: Buffer): void {
    this.#text.push(Buffer.from(piece))
  }

  ends(): void {
    this.events.push(`ends ${Buffer.concat(this.#text.splice(0))}`)
  }

  ping(payload: Buffer): void {
    this.events.push(`ping ${payload}`)
  }

  closes(code: number): void {
    this.events.push(`closes ${code}`)
  }
}

/** The sink's calls for bytes in these pieces; a broken rule is its code. */
function heard(pieces: readonly Buffer[]): readonly string[] {
  const sink = new Heard()
  const reader = new FrameReader(sink)
  try {
    for (const piece of pieces) reader.read(Buffer.from(piece), 0)
  } catch (error) {
    assert.ok(error instanceof FrameError, String(error))
    sink.events.push(`broken ${error.code}`)
  }
  return sink.events
}

const CODE = (code: number, reason = '') => {
  const payload = Buffer.concat([Buffer.alloc(2), Buffer.from(reason)])
  payload.writeUInt16BE(code)
  return payload
}
const LONG = 'x'.repeat(300)
const VERY_LONG = 'é'.repeat(35_000)

const CONVERSATIONS: Readonly<Record<string, readonly [bytes: Buffer[], events: string[]]>> = {
  'a text': [[textFrame('hello')], ['begins 5', 'ends hello']],
  'an empty text': [[textFrame('')], ['begins 0', 'ends ']],
  'characters of several bytes': [[textFrame('aé€😀')], ['begins 10', 'ends aé€😀']],
  'two texts': [
    [textFrame('one'), textFrame('two')],
    ['begins 3', 'ends one', 'begins 3', 'ends two'],
  ],
  'a length of two bytes': [[textFrame(LONG)], ['begins 300', `ends ${LONG}`]],
  'fragments with a ping between them': [
    [
      clientFrame({ opcode: 1, isLast: false, payload: Buffer.from('€').subarray(0, 1) }),
      clientFrame({ opcode: 9, payload: 'p' }),
      clientFrame({ opcode: 0, isLast: false, payload: '' }),
      clientFrame({ opcode: 0, payload: Buffer.from('€').subarray(1) }),
    ],
    ['begins undefined', 'ping p', 'ends €'],
  ],
  'a pong and a close': [
    [clientFrame({ opcode: 10, payload: 'x' }), clientFrame({ opcode: 8, payload: CODE(1000) })],
    ['closes 1000'],
  ],
  'a close without a code': [[clientFrame({ opcode: 8 })], ['closes 1005']],
  'a close with words': [[clientFrame({ opcode: 8, payload: CODE(4999, 'é') })], ['closes 4999']],
}

for (const [name, [frames, events]] of Object.entries(CONVERSATIONS))
  test(`cut at every byte, the frames mean the same: ${name}`, () => {
    const bytes = Buffer.concat(frames)
    assert.deepEqual(heard([bytes]), events)
    assert.deepEqual(heard([...bytes].map((byte) => Buffer.of(byte))), events)
    for (let cut = 1; cut < bytes.length; cut++)
      assert.deepEqual(heard([bytes.subarray(0, cut), bytes.subarray(cut)]), events, `at ${cut}`)
  })

test('a text of more than 64 KiB has its length in eight bytes, and may be cut in its characters', () => {
  const bytes = textFrame(VERY_LONG)
  for (const size of [bytes.length, 1, 1021])
    assert.deepEqual(
      heard(
        Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => at).map((at) =>
          bytes.subarray(at * size, (at + 1) * size),
        ),
      ),
      ['begins 70000', `ends ${VERY_LONG}`],
    )
})

const lengthIn = (bytes: readonly number[]) => Buffer.from([0x81, ...bytes, 0, 0, 0, 0])

const BROKEN: Readonly<Record<string, readonly [bytes: Buffer, code: number]>> = {
  'a frame without a mask': [clientFrame({ opcode: 1, payload: 'a', isMasked: false }), 1002],
  'a reserved bit': [clientFrame({ opcode: 1, payload: 'a', reserved: 0x40 }), 1002],
  'an unknown opcode of data': [clientFrame({ opcode: 3 }), 1002],
  'an unknown opcode of control': [clientFrame({ opcode: 11 }), 1002],
  'a fragmented ping': [clientFrame({ opcode: 9, isLast: false }), 1002],
  'a long ping': [clientFrame({ opcode: 9, payload: 'x'.repeat(126) }), 1002],
  'a fragment of nothing': [clientFrame({ opcode: 0, payload: 'a' }), 1002],
  'a length of two bytes that one could hold': [lengthIn([0xfe, 0, 125]), 1002],
  'a length of eight bytes that two could hold': [
    lengthIn([0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff]),
    1002,
  ],
  'a negative length': [lengthIn([0xff, 0x80, 0, 0, 0, 0, 0, 0, 0]), 1002],
  'a close of one byte': [clientFrame({ opcode: 8, payload: 'a' }), 1002],
  'a code that must not be sent': [clientFrame({ opcode: 8, payload: CODE(1006) }), 1002],
  'a code without a meaning': [clientFrame({ opcode: 8, payload: CODE(2000) }), 1002],
  'a text of a close that is not UTF-8': [
    clientFrame({ opcode: 8, payload: Buffer.concat([CODE(1000), Buffer.of(0xff)]) }),
    1007,
  ],
  'a binary message': [clientFrame({ opcode: 2, payload: 'a' }), 1003],
}

for (const [name, [bytes, code]] of Object.entries(BROKEN))
  test(`${name} ends the connection with ${code}, wherever it is cut`, () => {
    for (const pieces of [[bytes], [...bytes].map((byte) => Buffer.of(byte))])
      assert.deepEqual(heard(pieces), [`broken ${code}`])
  })

test('a text that is not UTF-8 ends the connection with 1007, at the latest at its end', () => {
  for (const payload of [[0xff], [0x61, 0xc3], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80]])
    assert.equal(
      heard([clientFrame({ opcode: 1, payload: Buffer.from(payload) })]).at(-1),
      'broken 1007',
    )
})

test('a message cannot begin inside another one', () => {
  const begun = clientFrame({ opcode: 1, isLast: false, payload: 'a' })
  assert.deepEqual(heard([begun, textFrame('b')]), ['begins undefined', 'broken 1002'])
})

test('a message above the bound, alone or by its fragments, ends the connection with 1009 before it has arrived', () => {
  const head = clientFrame({ opcode: 1, payload: 'x'.repeat(100_001) }).subarray(0, 14)
  assert.deepEqual(heard([head]), ['begins 100001', 'broken 1009'])
  assert.deepEqual(heard([lengthIn([0xff, 0x7f, 0, 0, 0, 0, 0, 0, 0])]).at(-1), 'broken 1009')
  const part = 'x'.repeat(50_001)
  const first = clientFrame({ opcode: 1, isLast: false, payload: part })
  const second = clientFrame({ opcode: 0, payload: part })
  assert.deepEqual(heard([first, second]), ['begins undefined', 'broken 1009'])
})

test('a message that must wait is not begun, and control frames before it are read', () => {
  const sink = new Heard()
  sink.isWaiting = true
  const reader = new FrameReader(sink)
  const ping = clientFrame({ opcode: 9, payload: 'p' })
  const bytes = Buffer.concat([ping, textFrame('later')])
  assert.equal(reader.read(bytes, 0), ping.length)
  assert.deepEqual(sink.events, ['ping p'])
  sink.isWaiting = false
  assert.equal(reader.read(bytes, ping.length), bytes.length)
  assert.deepEqual(sink.events.slice(1), ['begins 5', 'ends later'])
})

test('written frames can be read, with every form of length', () => {
  for (const length of [0, 1, 125, 126, 65_535, 65_536]) {
    const frame = { opcode: 1, isLast: length !== 1, payload: Buffer.alloc(length, 'x') }
    assert.deepEqual(serverFrames(frameOf(frame)), {
      frames: [frame],
      end: frameOf(frame).length,
    })
  }
})
