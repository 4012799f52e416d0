/** Answers of upstreams are read the same however they arrive, and refused if they are ambiguous. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { AnswerHead } from '../../../../dataplane/connection/http1/answer-head.ts'
import { AnswerReader } from '../../../../dataplane/connection/http1/answer-reader.ts'
import { BAD, GOOD } from './answers.ts'

function aSink() {
  return {
    heads: [] as AnswerHead[],
    body: '',
    stopped: false,
    onHead(head: AnswerHead) {
      this.heads.push(head)
    },
    onData(chunk: Buffer) {
      assert.ok(chunk.length > 0)
      this.body += chunk.toString('latin1')
    },
  }
}

/** The wire cut at these places. */
function read(wire: string, cuts: readonly number[]) {
  const sink = aSink()
  const reader = new AnswerReader(sink)
  reader.begin()
  let over = 0
  for (const [index, from] of [0, ...cuts].entries()) {
    const chunk = Buffer.from(wire.slice(from, cuts[index] ?? wire.length), 'latin1')
    over += chunk.length - reader.read(chunk, 0)
  }
  return { sink, reader, over }
}

describe('good answers, cut at every place', () => {
  for (const [name, { wire, status, body, headers, byClose }] of Object.entries(GOOD)) {
    test(name, () => {
      const all = Array.from({ length: wire.length - 1 }, (_, index) => index + 1)
      for (const cuts of [[], all, ...all.map((place) => [place])]) {
        const { sink, reader, over } = read(wire, cuts)
        if (byClose) reader.finish()
        assert.ok(reader.complete, `cut at ${cuts}`)
        assert.equal(over, 0)
        assert.equal(sink.body, body)
        const head = sink.heads.at(-1)
        assert.equal(head?.status, status)
        assert.deepEqual({ ...head?.headers }, headers)
      }
    })
  }

  test('bytes after the answer are left', () => {
    const wire = GOOD['in chunks']?.wire ?? ''
    assert.equal(read(`${wire}HTTP/1.1 200 OK`, []).over, 'HTTP/1.1 200 OK'.length)
  })

  test('every hint is told', () => {
    const { sink } = read(GOOD['behind hints']?.wire ?? '', [])
    assert.deepEqual(
      sink.heads.map(({ status }) => status),
      [103, 102, 200],
    )
  })
})

describe('bad answers', () => {
  for (const [name, wire] of Object.entries(BAD)) {
    test(`${name} is refused`, () => {
      const middle = Math.floor(wire.length / 2)
      const drops = Array.from({ length: Math.ceil(wire.length / 7) }, (_, index) => index * 7 + 1)
      for (const cuts of [[], [middle], drops.filter((place) => place < wire.length)]) {
        assert.throws(() => read(wire, cuts), /^WireError|Error: /, `cut at ${cuts.length} places`)
      }
    })
  }

  test('a truncated answer is not whole', () => {
    for (const { wire, byClose } of Object.values(GOOD)) {
      if (byClose) continue
      for (let length = 0; length < wire.length; length++) {
        const { reader } = read(wire.slice(0, length), [])
        assert.ok(!reader.complete)
        assert.throws(() => reader.finish(), { code: 'UND_ERR_SOCKET' })
      }
    }
  })
})

describe('a reader that is stopped', () => {
  test('continues at its position, and ends only then', () => {
    for (const { wire, body } of Object.values(GOOD)) {
      const sink = aSink()
      const reader = new AnswerReader(sink)
      reader.begin()
      const { onData } = sink
      sink.onData = (chunk) => {
        onData.call(sink, chunk)
        sink.stopped = true
      }
      const bytes = Buffer.from(wire, 'latin1')
      let at = 0
      for (let turns = 0; turns < 20; turns++) {
        at = reader.read(bytes, at)
        if (sink.stopped) assert.ok(!reader.complete)
        sink.stopped = false
      }
      assert.equal(at, bytes.length)
      assert.equal(sink.body, body)
    }
  })
})

describe('whether the connection may be used again', () => {
  const cases: readonly (readonly [string, boolean])[] = [
    ['HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n', true],
    ['HTTP/1.1 200 OK\r\ncontent-length: 0\r\nConnection: close\r\n\r\n', false],
    ['HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: x, Close\r\n\r\n', false],
    ['HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: x\r\nconnection: close\r\n\r\n', false],
    ['HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n', false],
    ['HTTP/1.0 200 OK\r\ncontent-length: 0\r\nconnection: keep-alive\r\n\r\n', true],
    ['HTTP/1.1 204 No\r\n\r\n', true],
    ['HTTP/1.1 204 No\r\ncontent-length: 5\r\n\r\n', false],
    ['HTTP/1.1 304 No\r\ntransfer-encoding: chunked\r\n\r\n', false],
  ]
  for (const [wire, keepAlive] of cases) {
    test(JSON.stringify(wire), () => {
      assert.equal(read(wire, []).sink.heads[0]?.keepAlive, keepAlive)
    })
  }

  test("the upstream's keep-alive time is reported", () => {
    const { sink } = read('HTTP/1.1 204 No\r\nkeep-alive: timeout=7, max=9\r\n\r\n', [])
    assert.equal(sink.heads[0]?.keepAliveMs, 7000)
  })
})
