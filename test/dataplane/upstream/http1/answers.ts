/** Answers as bytes: good ones with their meaning, and bad ones that must not be read. */

export interface Good {
  readonly wire: string
  readonly status: number
  readonly body: string
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  /** Whether it ends with its connection. */
  readonly byClose?: boolean
}

const OK = 'HTTP/1.1 200 OK\r\n'
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`

export const GOOD: Readonly<Record<string, Good>> = {
  'with a length': {
    wire: `${OK}Content-Type: application/json\r\nContent-Length: 11\r\n\r\n{"a":"b c"}`,
    status: 200,
    body: '{"a":"b c"}',
    headers: { 'content-type': 'application/json', 'content-length': '11' },
  },
  'without a body': {
    wire: 'HTTP/1.1 503 \r\ncontent-length: 0\r\nretry-after:\t 7 \r\n\r\n',
    status: 503,
    body: '',
    headers: { 'content-length': '0', 'retry-after': '7' },
  },
  'without a reason': {
    wire: 'HTTP/1.1 429\r\nx: \r\ncontent-length:2\r\n\r\nno',
    status: 429,
    body: 'no',
    headers: { x: '', 'content-length': '2' },
  },
  'in chunks': {
    wire: `${CHUNKED}5\r\nhello\r\n00b;name="v; 1"\r\n, world\r\n\r\n\r\n1 \r\n!\r\n0\r\n\r\n`,
    status: 200,
    body: 'hello, world\r\n\r\n!',
    headers: { 'transfer-encoding': 'chunked' },
  },
  'in chunks, with trailers': {
    wire: `${CHUNKED}A\r\n0123456789\r\n0\r\nx-sum: 1\r\nx-more: 2\r\n\r\n`,
    status: 200,
    body: '0123456789',
    headers: { 'transfer-encoding': 'chunked' },
  },
  'behind hints': {
    wire: `HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n${OK}content-length: 2\r\n\r\nok`,
    status: 200,
    body: 'ok',
    headers: { 'content-length': '2' },
  },
  'after a 100': {
    wire: `HTTP/1.1 100 Continue\r\n\r\n${OK}content-length: 2\r\n\r\nok`,
    status: 200,
    body: 'ok',
    headers: { 'content-length': '2' },
  },
  'with a header twice': {
    wire: `${OK}Set-Cookie: a=1\r\nset-cookie: b=2\r\nSET-COOKIE: c=3\r\n__proto__: 1\r\nconstructor: 2\r\ncontent-length: 1\r\n\r\nx`,
    status: 200,
    body: 'x',
    headers: {
      'set-cookie': ['a=1', 'b=2', 'c=3'],
      constructor: '2',
      'content-length': '1',
    },
  },
  'no content': { wire: 'HTTP/1.1 204 No Content\r\n\r\n', status: 204, body: '', headers: {} },
  'until the connection ends': {
    wire: 'HTTP/1.0 200 OK\r\ncontent-type: text/plain\r\n\r\nall \xe9 of it',
    status: 200,
    body: 'all \xe9 of it',
    headers: { 'content-type': 'text/plain' },
    byClose: true,
  },
}

/** Each is an ambiguous answer, or not an answer at all. */
export const BAD: Readonly<Record<string, string>> = {
  'no HTTP': 'SSH-2.0-OpenSSH_9.2\r\n\r\n',
  'no HTTP, and no end': 'SSH-2.0-OpenSSH_9.2\r\n',
  'lines that end with LF alone': 'HTTP/1.1 200 OK\ncontent-length: 2\n\nab',
  'HTTP/0.9': 'HTTP/0.9 200 OK\r\ncontent-length: 0\r\n\r\n',
  'HTTP/2.0': 'HTTP/2.0 200 OK\r\ncontent-length: 0\r\n\r\n',
  'a status of two digits': 'HTTP/1.1 20 OK\r\ncontent-length: 0\r\n\r\n',
  'a status of four digits': 'HTTP/1.1 2000 OK\r\ncontent-length: 0\r\n\r\n',
  'a control character in the reason': 'HTTP/1.1 200 O\x00K\r\ncontent-length: 0\r\n\r\n',
  'another Content-Length': `${OK}content-length: 2\r\ncontent-length: 3\r\n\r\nabc`,
  'the same Content-Length twice': `${OK}content-length: 2\r\ncontent-length: 2\r\n\r\nab`,
  'a list of lengths': `${OK}content-length: 2, 2\r\n\r\nab`,
  'a negative length': `${OK}content-length: -2\r\n\r\nab`,
  'a signed length': `${OK}content-length: +2\r\n\r\nab`,
  'a length in hexadecimal': `${OK}content-length: 0x2\r\n\r\nab`,
  'a length beyond the safe integers': `${OK}content-length: 99999999999999999999\r\n\r\nab`,
  'an empty length': `${OK}content-length:\r\n\r\nab`,
  'length and chunks': `${OK}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n`,
  'another coding': `${OK}transfer-encoding: gzip\r\n\r\nab`,
  'two codings': `${OK}transfer-encoding: gzip, chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n`,
  'chunked twice': `${OK}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  'chunks in HTTP/1.0': 'HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
  'a space before the colon': `${OK}content-length : 2\r\n\r\nab`,
  'a folded line': `${OK}x-long: a\r\n b\r\ncontent-length: 2\r\n\r\nab`,
  'a bare LF': `${OK}x-a: b\ncontent-length: 2\r\n\r\nab`,
  'a bare CR': `${OK}x-a: b\rcontent-length: 2\r\n\r\nab`,
  'NUL in a value': `${OK}x-a: b\x00c\r\ncontent-length: 2\r\n\r\nab`,
  'a line without a colon': `${OK}x-a\r\ncontent-length: 2\r\n\r\nab`,
  'an empty name': `${OK}: b\r\ncontent-length: 2\r\n\r\nab`,
  'an upgrade': 'HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n',
  'a size that is no number': `${CHUNKED}xyz\r\nabc\r\n0\r\n\r\n`,
  'an empty size': `${CHUNKED}\r\nabc\r\n0\r\n\r\n`,
  'a negative size': `${CHUNKED}-1\r\nabc\r\n0\r\n\r\n`,
  'a size with a prefix': `${CHUNKED}0x3\r\nabc\r\n0\r\n\r\n`,
  'a size beyond the safe integers': `${CHUNKED}ffffffffffffffff\r\nabc`,
  'a size line that ends with LF': `${CHUNKED}3\nabc\r\n0\r\n\r\n`,
  'a chunk that is longer than its size': `${CHUNKED}3\r\nabcd\r\n0\r\n\r\n`,
  'a chunk that ends with LF': `${CHUNKED}3\r\nabc\n0\r\n\r\n`,
  'a control character in an extension': `${CHUNKED}3;a=\x01\r\nabc\r\n0\r\n\r\n`,
  'a trailer without a colon': `${CHUNKED}0\r\nabc\r\n\r\n`,
  'a size line without end': `${CHUNKED}3;${'a'.repeat(5000)}`,
  'a head without end': `${OK}${'x-more: of it\r\n'.repeat(5000)}`,
  'trailers without end': `${CHUNKED}0\r\n${'x-more: of it\r\n'.repeat(5000)}`,
}
