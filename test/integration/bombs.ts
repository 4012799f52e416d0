/** Answers designed to exhaust the reader, and the expected end of each. */
import type { Socket } from 'node:net'
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { encoded, OK } from './compressed-answers.ts'
import { ANSWER } from './egress-gateway.ts'
import type { Reply } from './raw-server.ts'

export const MIB = 1_048_576
const STREAM = `${OK}content-type: text/event-stream\r\n`
const CONTENT =
  'data: {"choices":[{"index":0,"delta":{"content":"hello"},"finish_reason":null}]}\n\n'
const inflated = Buffer.from(ANSWER.replace('"hello"', `"${' '.repeat(40 * MIB)}"`))
const doubled = gzipSync(gzipSync(ANSWER))

export interface Bomb {
  readonly reply: Reply
  readonly stream?: boolean
  readonly message: RegExp
  /** Class of the failure; absent: `malformed`. */
  readonly outcome?: 'timeout' | 'server'
}

export const BOMBS: Readonly<Record<string, Bomb>> = {
  endless_informational: {
    reply: (socket) =>
      forEver(socket, 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(1000)),
    message: /hints without end/,
  },
  headers_without_end: {
    reply: (socket) => forEver(socket, 'x-more: of it\r\n'.repeat(1000), OK),
    message: /UND_ERR_HEADERS_OVERFLOW/,
  },
  header_of_a_gigabyte: {
    reply: (socket) => forEver(socket, 'a'.repeat(65_536), `${OK}x-long: `),
    message: /UND_ERR_HEADERS_OVERFLOW/,
  },
  header_name_without_end: {
    reply: (socket) => forEver(socket, 'a'.repeat(65_536), OK),
    message: /UND_ERR_HEADERS_OVERFLOW/,
  },
  status_without_end: {
    reply: (socket) => forEver(socket, 'a'.repeat(65_536), 'HTTP/1.1 200 '),
    message: /UND_ERR_HEADERS_OVERFLOW/,
  },
  chunk_extension_without_end: {
    reply: (socket) =>
      forEver(socket, 'a'.repeat(65_536), `${OK}transfer-encoding: chunked\r\n\r\n5;`),
    message: /HPE_INVALID_RESPONSE/,
  },
  trailers_without_end: {
    reply: (socket) =>
      forEver(
        socket,
        'x-more: of it\r\n'.repeat(1000),
        `${OK}transfer-encoding: chunked\r\n\r\n0\r\n`,
      ),
    message: /UND_ERR_HEADERS_OVERFLOW/,
  },
  body_without_end: {
    reply: (socket) =>
      forEver(socket, ' '.repeat(65_536), `${OK}content-type: application/json\r\n\r\n`),
    message: /larger than 32 MiB/,
  },
  failure_without_end: {
    reply: (socket) => forEver(socket, 'a'.repeat(65_536), 'HTTP/1.1 500 No\r\n\r\n'),
    message: /failed: aaa/,
    outcome: 'server',
  },
  inflated_answer: {
    reply: encoded('gzip', gzipSync(inflated)),
    message: /compressed answer cannot be read/,
  },
  inflated_brotli: {
    reply: encoded('br', brotliCompressSync(inflated)),
    message: /compressed answer cannot be read/,
  },
  inflated_zstd: {
    reply: encoded('zstd', zstdCompressSync(inflated)),
    message: /compressed answer cannot be read/,
  },
  inflated_failure: {
    reply: encoded('gzip', gzipSync(inflated).subarray(0, 60_000), 'HTTP/1.1 500 No\r\n'),
    message: /500/,
    outcome: 'server',
  },
  no_gzip_at_all: {
    reply: encoded('gzip', Buffer.from(ANSWER)),
    message: /compressed answer cannot be read/,
  },
  two_encodings: { reply: encoded('gzip, gzip', doubled), message: /The answer is compressed/ },
  many_encodings: {
    reply: encoded(new Array(5000).fill('gzip').join(','), doubled),
    message: /The answer is compressed/,
  },
  many_encoding_headers: {
    reply: encoded(new Array(2000).fill('gzip').join('\r\ncontent-encoding: '), doubled),
    message: /The answer is compressed/,
  },
  unknown_encoding: { reply: encoded('compress', doubled), message: /The answer is compressed/ },
  compressed_stream: {
    reply: (socket) => socket.write(`${STREAM}content-encoding: gzip\r\n\r\n`),
    stream: true,
    message: /The answer is compressed/,
  },
  line_without_end: {
    reply: (socket) => forEver(socket, 'a'.repeat(65_536), `${STREAM}\r\ndata: {"a":"`),
    stream: true,
    message: /1 MiB without any content/,
  },
  comments_without_end: {
    reply: (socket) => forEver(socket, ': waiting\n\n'.repeat(1000), `${STREAM}\r\n`),
    stream: true,
    message: /1 MiB without any content/,
  },
}

/** 10 MiB in one event after the first content. */
export const longLine: Reply = (socket) => {
  socket.write(`${STREAM}\r\n${CONTENT}data: {"a":"`)
  socket.write('a'.repeat(10 * MIB))
  socket.end('"}\n\ndata: [DONE]\n\n')
}

/** Writes the piece repeatedly, as fast as it is read. */
function forEver(socket: Socket, piece: string, first = ''): void {
  const write = () => {
    while (!socket.destroyed && socket.write(piece));
  }
  socket.on('drain', write)
  socket.write(first)
  write()
}
