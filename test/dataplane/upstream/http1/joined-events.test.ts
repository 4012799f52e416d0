/** Events of one read pass together after the first content, and separately before it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AnswerReader } from '../../../../dataplane/connection/http1/answer-reader.ts'

const HEAD = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'
const event = (word: string) =>
  `data: {"choices":[{"delta":{"content":"${word}"}}],"pad":"${'x'.repeat(40)}"}\n\n`
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`

/** The pieces of data that a sink gets. */
function pieces(reads: readonly string[], joinsAfter: number): string[] {
  const got: string[] = []
  const reader = new AnswerReader({
    stopped: false,
    get joins() {
      return got.length >= joinsAfter
    },
    onHead: () => undefined,
    onData: (bytes) => got.push(bytes.toString('latin1')),
  })
  reader.begin()
  for (const read of reads) reader.read(Buffer.from(read, 'latin1'), 0)
  return got
}

const words = ['one', 'two', 'three', 'four'].map(event)
const [first = '', ...others] = words

test('after the first content the events of one read are one piece, so that one write passes them', () => {
  const got = pieces([HEAD + chunk(first), others.map(chunk).join('')], 1)
  assert.deepEqual(got, [first, others.join('')])
})

test('before it each event is its own piece, so that its content is seen before later bytes', () => {
  assert.deepEqual(pieces([HEAD + words.map(chunk).join('')], Number.POSITIVE_INFINITY), words)
  assert.deepEqual(pieces([HEAD + words.map(chunk).join('')], 1), [first, others.join('')])
})

test('the bytes stay the same for pieces of all lengths, however they arrive', () => {
  const lengths = [1, 23, 24, 25, 63, 64, 65, 4_095, 4_096, 4_097, 9_000, 2, 70]
  const body = lengths.map((length, index) => String.fromCharCode(97 + index).repeat(length))
  const wire = `${HEAD}${body.map(chunk).join('')}0\r\n\r\n`
  for (const size of [1, 7, 64, 500, 5_000, wire.length]) {
    const reads: string[] = []
    for (let at = 0; at < wire.length; at += size) reads.push(wire.slice(at, at + size))
    for (const joinsAfter of [0, 3, Number.POSITIVE_INFINITY])
      assert.equal(pieces(reads, joinsAfter).join(''), body.join(''), `${size} ${joinsAfter}`)
  }
})
