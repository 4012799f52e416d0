/** A chunked body is the same however its bytes are cut, and an ambiguous one is refused. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ChunkedBody } from '../../../dataplane/listener/http1/chunked-body.ts'

interface Read {
  readonly body: string
  readonly isWhole: boolean
  readonly code: string | undefined
  /** Bytes behind its end. */
  readonly left: number
}

function read(wire: string, cuts: readonly number[]): Read {
  const chunks = new ChunkedBody()
  let body = ''
  let left = 0
  for (const [index, from] of [0, ...cuts].entries()) {
    const piece = Buffer.from(wire.slice(from, cuts[index] ?? wire.length), 'latin1')
    if (chunks.takesMore) left += piece.length - chunks.read(piece, 0)
    else left += piece.length
    body += chunks.take().toString('latin1')
  }
  return {
    body,
    isWhole: !chunks.takesMore && chunks.fault === undefined,
    code: chunks.fault?.code,
    left,
  }
}

const GOOD: Readonly<Record<string, readonly [wire: string, body: string]>> = {
  'one chunk': ['5\r\nhello\r\n0\r\n\r\n', 'hello'],
  'chunks of a byte': [
    `${[...'hello'].map((one) => `1\r\n${one}\r\n`).join('')}0\r\n\r\n`,
    'hello',
  ],
  'extensions and trailers': [
    '0005;a=b;c="d \\"e";f\r\nhello\r\n0;g\r\nx-sum: 1\r\nx:\r\n\r\n',
    'hello',
  ],
  'nothing at all': ['0\r\n\r\n', ''],
  'long chunks': [
    `2000\r\n${'a'.repeat(8192)}\r\n1\r\nb\r\nA\r\n0123456789\r\n0\r\n\r\n`,
    `${'a'.repeat(8192)}b0123456789`,
  ],
}

describe('good bodies', () => {
  for (const [name, [wire, body]] of Object.entries(GOOD)) {
    test(name, () => {
      const all = Array.from({ length: wire.length - 1 }, (_, index) => index + 1)
      const single = all.filter((place) => place < 60 || place > wire.length - 60)
      for (const cuts of [[], all, ...single.map((place) => [place])]) {
        assert.deepEqual(
          read(wire, cuts),
          { body, isWhole: true, code: undefined, left: 0 },
          `cut at ${cuts.length < 2 ? cuts : 'all'}`,
        )
      }
      assert.equal(read(`${wire}GET`, []).left, 3)
    })
  }
})

describe('bad bodies', () => {
  for (const wire of [
    'g\r\n',
    '5 \r\nhello',
    '5;\r\nhello',
    '5\nhello',
    '1\r\nab',
    '1\r\na\n0',
    '0\r\rx',
    '0\r\nx : y\r\n',
    '0\r\nContent-Length: 1\r\n',
    '0\r\n folded\r\n',
    `${'0'.repeat(20_000)}`,
  ]) {
    test(JSON.stringify(wire.slice(0, 30)), () => {
      const all = Array.from({ length: wire.length - 1 }, (_, index) => index + 1)
      for (const cuts of [[], all]) assert.equal(read(wire, cuts).code, 'ERR_GW_INVALID_REQUEST')
    })
  }

  test('many extensions, each of them short', () => {
    const wire = (count: number) => `${`1;${'x'.repeat(99)}\r\na\r\n`.repeat(count)}0\r\n\r\n`
    assert.equal(read(wire(10_000), []).isWhole, true)
    assert.equal(read(wire(11_000), []).code, 'ERR_GW_INVALID_REQUEST')
  })

  test('too many trailers', () => {
    assert.equal(read(`0\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`, []).code, 'ERR_GW_HEADERS_TOO_LARGE')
  })
})
