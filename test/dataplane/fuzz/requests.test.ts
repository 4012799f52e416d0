/** A strict parser (llhttp, in Node) reads every plain request exactly like the gateway's own reader. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { headersOf } from '../../../dataplane/http1/header-lines.ts'
import { ChunkedBody } from '../../../dataplane/listener/http1/chunked-body.ts'
import {
  type PlainHead,
  type PlainLine,
  recognise,
} from '../../../dataplane/listener/http1/plain-head.ts'
import { MemorySocket } from './memory-socket.ts'
import { mutated, randomFrom, seeds } from './mutations.ts'

const LINES: readonly PlainLine[] = [
  { text: 'POST /v1/chat/completions HTTP/1.1\r\n', hasBody: true },
  { text: 'GET /v1/models HTTP/1.1\r\n', hasBody: false },
]
const BODY = '{"model":"m"}'
const HEADERS =
  'Host: gateway.test\r\nAuthorization: Bearer k\r\nContent-Type: application/json\r\n'
const SAMPLES: readonly string[] = [
  `${LINES[0]?.text}${HEADERS}Content-Length: ${BODY.length}\r\n\r\n${BODY}`,
  `${LINES[0]?.text}${HEADERS}Accept: */*\r\ncontent-length:${BODY.length}\r\nConnection: keep-alive\r\n\r\n${BODY}`,
  `${LINES[0]?.text}${HEADERS}Transfer-Encoding: chunked\r\n\r\nd\r\n${BODY}\r\n0\r\n\r\n`,
  `${LINES[0]?.text}Host: a\r\ntransfer-encoding:chunked\r\n\r\n00D;a=b;c="d \\"e"\r\n${BODY}\r\n1\r\n \r\n0;x\r\nx-sum: 1\r\nx: \r\n\r\n`,
  `${LINES[1]?.text}${HEADERS}User-Agent: a/1 (b; c)\r\n\r\n`,
]

interface Read {
  readonly line: string
  readonly headers: readonly string[]
  readonly body: string
}

interface Own {
  readonly read: Read
  /** Bytes of the request; what follows is another. */
  readonly length: number
}

/** undefined if the gateway leaves the request to Node, or waits for more of its body. */
function readByGateway(bytes: Buffer): Own | undefined {
  const head = recognise(bytes, LINES)
  if (head === undefined) return undefined
  const body = bodyOf(bytes, head)
  if (body === undefined) return undefined
  const read = {
    line: LINES[head.line]?.text.trimEnd() ?? '',
    headers: headersOf(head.lines),
    body: body.text,
  }
  return { read, length: body.end }
}

function bodyOf(bytes: Buffer, head: PlainHead): { text: string; end: number } | undefined {
  const { bodyAt, length, isChunked } = head
  if (!isChunked) {
    const end = bodyAt + length
    return bytes.length < end ? undefined : { text: bytes.toString('latin1', bodyAt, end), end }
  }
  const chunks = new ChunkedBody()
  const end = chunks.read(bytes, bodyAt)
  if (chunks.takesMore || chunks.fault !== undefined) return undefined
  return { text: chunks.take().toString('latin1'), end }
}

/** The first request that llhttp finds, or why it finds none. */
function readByNode(bytes: Buffer): Promise<Read | string> {
  return new Promise((resolve) => {
    const server = createServer({ insecureHTTPParser: false, requireHostHeader: false })
    server.maxHeadersCount = 2000
    server.on('clientError', (error) => resolve(error.message))
    server.on('request', (incoming) => {
      const { method, url, httpVersion, rawHeaders } = incoming
      let body = ''
      incoming.setEncoding('latin1')
      incoming.on('data', (chunk) => {
        body += chunk
      })
      incoming.on('error', (error) => resolve(error.message))
      incoming.on('end', () =>
        resolve({ line: `${method} ${url} HTTP/${httpVersion}`, headers: rawHeaders, body }),
      )
    })
    const socket = new MemorySocket(bytes)
    socket.on('close', () => resolve('closed'))
    server.emit('connection', socket)
  })
}

test('a request changed at random means the same to both readers', async () => {
  let compared = 0
  for (const seed of seeds()) {
    const bytes = Buffer.from(mutated(SAMPLES, randomFrom(seed)), 'latin1')
    const own = readByGateway(bytes)
    if (own === undefined) continue
    compared++
    const again = `GW_FUZZ_SEED=${seed} node --test test/dataplane/fuzz/requests.test.ts`
    assert.deepEqual(await readByNode(bytes.subarray(0, own.length)), own.read, again)
  }
  assert.ok(compared > 0, 'no sequence was read by the gateway')
})
