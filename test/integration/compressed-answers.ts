/** Answers that are compressed without a request for it. */
import {
  brotliCompressSync,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib'
import { ANSWER } from './egress-gateway.ts'
import type { Reply } from './raw-server.ts'

export const OK = 'HTTP/1.1 200 OK\r\n'

export const WHOLE: Readonly<Record<string, Reply>> = {
  gzip: encoded('gzip', gzipSync(ANSWER)),
  'x-gzip': encoded('X-GZip', gzipSync(ANSWER)),
  deflate: encoded('deflate', deflateSync(ANSWER)),
  raw_deflate: encoded('deflate', deflateRawSync(ANSWER)),
  br: encoded('br', brotliCompressSync(ANSWER)),
  zstd: encoded('zstd', zstdCompressSync(ANSWER)),
  identity: encoded('identity', Buffer.from(ANSWER)),
}

export const toldCompressed: Reply = encoded(
  'gzip',
  gzipSync('{"error":{"message":"the reason","type":"invalid_request_error"}}'),
  'HTTP/1.1 400 No\r\n',
)

export function encoded(encoding: string, body: Buffer, head = OK): Reply {
  return (socket) => {
    socket.write(`${head}content-type: application/json\r\ncontent-encoding: ${encoding}\r\n`)
    socket.write(`content-length: ${body.length}\r\n\r\n`)
    socket.write(body)
  }
}
