/**
 * Bytes of an upstream that are expensive to read are followed by a rest, so that other requests are served meanwhile.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import { Connection } from '../../../../dataplane/connection/http1/connection.ts'
import type { PoolHandler } from '../../../../dataplane/connection/http1/contract.ts'

const PIECE = Buffer.alloc(16_384, 'x')
const HEAD = `HTTP/1.1 200 OK\r\ncontent-length: ${3 * PIECE.length}\r\n\r\n`

class Line extends Duplex {
  override _read(): void {}
  override _write(_chunk: Buffer, _encoding: unknown, done: () => void): void {
    done()
  }
  unref(): this {
    return this
  }
}

/** The reader of the bytes works this long on each piece. */
function asked(costMs: number) {
  const line = new Line()
  const kept = { count: 0 }
  const keeper = { isForwarded: false, freed: () => void kept.count++, gone: () => undefined }
  // The connection uses only these members of a socket.
  const connection = new Connection(line as unknown as Socket, keeper)
  let bytes = 0
  const handler: PoolHandler = {
    isOver: false,
    onRequestStart: () => undefined,
    onResponseStart: () => undefined,
    onResponseData: (_, chunk) => {
      bytes += chunk.length
      const before = process.threadCpuUsage()
      while (process.threadCpuUsage(before).user < costMs * 1000);
    },
    onResponseEnd: () => undefined,
    onResponseError: (_, error) => assert.fail(error),
  }
  connection.send('POST / HTTP/1.1\r\n\r\n', { body: Buffer.alloc(0) }, handler)
  connection.flush()
  line.emit('data', Buffer.from(HEAD))
  return { line, connection, kept, bytes: () => bytes }
}

test('a piece that takes long is followed by a rest, and then reading continues', async () => {
  const { line, bytes, kept } = asked(5)
  line.emit('data', PIECE)
  assert.equal(line.isPaused(), true)
  await once(line, 'resume')
  line.emit('data', PIECE)
  await once(line, 'resume')
  line.emit('data', PIECE)
  assert.equal(bytes(), 3 * PIECE.length)
  assert.equal(kept.count, 1)
})

test('a cheap piece is followed by the next', () => {
  // Code that is not compiled yet costs, too.
  const lines = Array.from({ length: 20 }, () => {
    const { line } = asked(0)
    line.emit('data', PIECE)
    return line
  })
  assert.equal(lines.at(-1)?.isPaused(), false)
})

test('a reader that wants more during a rest waits for its end', async () => {
  const { line, connection } = asked(5)
  line.emit('data', PIECE)
  connection.pause()
  connection.resume()
  assert.equal(line.isPaused(), true)
  await once(line, 'resume')
})
