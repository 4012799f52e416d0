/**
 * An upstream's answer that both the gateway and llhttp accept is the same answer for both, however its bytes are cut.
 */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import type { AnswerHead } from '../../../dataplane/connection/http1/answer-head.ts'
import { AnswerReader } from '../../../dataplane/connection/http1/answer-reader.ts'
import { GOOD } from '../upstream/http1/answers.ts'
import { MemorySocket } from './memory-socket.ts'
import { mutated, randomFrom, seeds } from './mutations.ts'

const SAMPLES = Object.values(GOOD).map(({ wire }) => wire)

interface Read {
  readonly status: number
  readonly body: string
}

/** llhttp refuses some blanks and extensions of chunks that old servers send, and lengths in trailers, which the gateway does not read. */
const TOLERATED = /Invalid character in chunk (size|extensions)|Content-Length can't be present/

interface Own {
  readonly read: Read
  readonly isTwiceFramed: boolean
  /** Bytes of the answer; later ones belong to no request. */
  readonly length: number
}

/** The gateway's reading of bytes in pieces; a message if it refuses them. */
function readByGateway(bytes: Buffer, cuts: readonly number[]): Own | string {
  let [status, length, body, isTwiceFramed] = [0, 0, '', false]
  const reader = new AnswerReader({
    stopped: false,
    onHead: (head: AnswerHead) => {
      const { 'content-length': size, 'transfer-encoding': coding } = head.headers
      isTwiceFramed = size !== undefined && coding !== undefined
      status = head.status
    },
    onData: (chunk) => {
      body += chunk.toString('latin1')
    },
  })
  reader.begin()
  try {
    for (const [index, from] of [0, ...cuts].entries()) {
      const piece = bytes.subarray(from, cuts[index] ?? bytes.length)
      if (piece.length > 0 && !reader.complete) length = from + reader.read(piece, 0)
    }
    if (!reader.complete) reader.finish()
    return { read: { status, body }, isTwiceFramed, length }
  } catch (error) {
    return (error as Error).message
  }
}

/** The reading of Node's client; a message if it refuses. */
function readByNode(bytes: Buffer): Promise<Read | string> {
  return new Promise((resolve) => {
    // The client only reads from it and writes to it.
    const createConnection = () => new MemorySocket(bytes) as unknown as Socket
    const outgoing = request({ createConnection, method: 'POST', insecureHTTPParser: false })
    outgoing.on('error', (error) => resolve(error.message))
    outgoing.on('response', (incoming) => {
      let body = ''
      incoming.setEncoding('latin1')
      incoming.on('data', (chunk) => {
        body += chunk
      })
      incoming.on('error', (error) => resolve(error.message))
      incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, body }))
    })
    outgoing.end()
  })
}

test('a randomly changed answer means the same to both readers, however it is cut', async () => {
  let compared = 0
  for (const seed of seeds()) {
    const random = randomFrom(seed)
    const bytes = Buffer.from(mutated(SAMPLES, random), 'latin1')
    const again = `GW_FUZZ_SEED=${seed} node --test test/dataplane/fuzz/answers.test.ts`
    const whole = readByGateway(bytes, [])
    const cuts = [random(), random(), random()]
      .map((share) => Math.floor(share * bytes.length))
      .toSorted((one, other) => one - other)
    const pieces = readByGateway(bytes, cuts)
    assert.equal(typeof pieces, typeof whole, `cut at ${cuts}: ${again}`)
    if (typeof whole === 'string') continue
    assert.deepEqual(pieces, whole, `cut at ${cuts}: ${again}`)
    const node = await readByNode(bytes.subarray(0, whole.length))
    if (typeof node === 'string') {
      assert.match(node, whole.isTwiceFramed ? /^$/ : TOLERATED, again)
      continue
    }
    compared++
    assert.deepEqual(node, whole.read, again)
  }
  assert.ok(compared > 0, 'no sequence was read by both')
})
