/** Which requests are plain: everything ambiguous is left to Node. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { headersOf } from '../../../dataplane/http1/header-lines.ts'
import { type PlainLine, recognise } from '../../../dataplane/listener/http1/plain-head.ts'

const LINES: readonly PlainLine[] = [
  { text: 'POST /v1/chat/completions HTTP/1.1\r\n', hasBody: true },
  { text: 'GET /healthz HTTP/1.1\r\n', hasBody: false },
]
const BODY = '{"model":"m"}'
const HEADERS = ['Host: gateway.test', 'Authorization: Bearer k', `Content-Length: ${BODY.length}`]

function post(more: readonly string[] = [], headers: readonly string[] = HEADERS): string {
  return `${LINES[0]?.text}${[...headers, ...more].join('\r\n')}\r\n\r\n${BODY}`
}

function read(bytes: string) {
  return recognise(Buffer.from(bytes, 'latin1'), LINES)
}

test("the head of a plain request has its line, the length of its body and the body's start", () => {
  const head = read(post(['content-TYPE:  application/json ', 'Accept: */*', 'Accept: a']))
  assert.equal(head?.line, 0)
  assert.equal(head?.length, BODY.length)
  assert.equal(
    post(['content-TYPE:  application/json ', 'Accept: */*', 'Accept: a']).slice(head?.bodyAt),
    BODY,
  )
  assert.equal(head?.kept.host, 'gateway.test')
  assert.equal(head?.kept.authorization, 'Bearer k')
  assert.equal(head?.kept['content-type'], 'application/json')
  assert.equal(head?.kept.accept, undefined)
})

test('a GET without a body is plain', () => {
  for (const more of ['', 'Content-Length: 0\r\n', 'connection: Keep-Alive\r\n']) {
    const head = read(`GET /healthz HTTP/1.1\r\nHost: a:1\r\n${more}\r\n`)
    assert.deepEqual([head?.line, head?.length], [1, 0], more)
  }
})

test('a body in chunks is plain', () => {
  for (const coding of ['chunked', 'Chunked']) {
    const head = read(post([`Transfer-Encoding: ${coding}`], HEADERS.slice(0, 2)))
    assert.deepEqual([head?.isChunked, head?.length], [true, 0], coding)
  }
  assert.equal(read(post())?.isChunked, false)
})

test('an offer to upgrade is plain, and so is the connection option that goes with it', () => {
  for (const connection of [
    'Upgrade, HTTP2-Settings',
    'upgrade',
    'Upgrade,HTTP2-Settings',
    'keep-alive, Upgrade',
  ]) {
    const head = read(post(['Upgrade: h2c', `Connection: ${connection}`, 'HTTP2-Settings: AAMA']))
    assert.equal(head?.length, BODY.length, connection)
  }
  for (const connection of ['Upgrade, close', 'close, Upgrade', 'Upgrade, te', 'Upgrade,', ',']) {
    assert.equal(read(post([`Connection: ${connection}`])), undefined, connection)
  }
})

test('a head with a missing byte is left to Node', () => {
  const bytes = Buffer.from(post(), 'latin1')
  const bodyAt = bytes.indexOf('\r\n\r\n') + 4
  for (let length = 0; length <= bytes.length; length++) {
    const head = recognise(bytes.subarray(0, length), LINES)
    assert.equal(head?.bodyAt, length < bodyAt ? undefined : bodyAt, `${length} bytes`)
  }
})

test('only visible ASCII is read anywhere in a head', () => {
  const good = Buffer.from(post(['X-Any: thing']), 'latin1')
  const bodyAt = good.indexOf('\r\n\r\n') + 4
  for (let at = 0; at < bodyAt; at++) {
    for (let byte = 0; byte < 256; byte++) {
      if ((byte >= 0x20 && byte < 0x7f) || byte === good[at]) continue
      const bad = Buffer.from(good)
      bad[at] = byte
      assert.equal(recognise(bad, LINES), undefined, `${byte} at ${at}`)
    }
  }
})

test('no unusual byte can be inserted', () => {
  const good = post(['X-Any: thing'])
  for (const odd of ['\r', '\n', '\0', '\t', '\x7f', '\x80', '\n\n']) {
    for (let at = 0; at <= good.length - BODY.length - 4; at++) {
      const bytes = good.slice(0, at) + odd + good.slice(at)
      assert.equal(read(bytes), undefined, `${JSON.stringify(odd)} at ${at}`)
    }
  }
})

const LEFT: Readonly<Record<string, string>> = {
  'another path': post().replace('/v1/chat', '/v2/chat'),
  'a query': post().replace('completions ', 'completions? '),
  'another method': post().replace('POST', 'PUT'),
  'a method in lower case': post().replace('POST', 'post'),
  'HTTP/1.0': post().replace('HTTP/1.1', 'HTTP/1.0'),
  'two spaces': post().replace('POST ', 'POST  '),
  'an empty line ahead': `\r\n${post()}`,
  'no headers': `${LINES[0]?.text}\r\n`,
  'no host': post([], HEADERS.slice(1)),
  'two hosts': post(['host: b']),
  'an invalid host': post([], ['Host: a b', ...HEADERS.slice(1)]),
  'no length': post([], HEADERS.slice(0, 2)),
  'two lengths': post([`Content-Length: ${BODY.length}`]),
  'a length with a sign': post([], [...HEADERS.slice(0, 2), 'Content-Length: +1']),
  'a length with a zero ahead': post([], [...HEADERS.slice(0, 2), 'Content-Length: 01']),
  'a length that is no whole number': post([], [...HEADERS.slice(0, 2), 'Content-Length: 1.0']),
  'an endless length': post([], [...HEADERS.slice(0, 2), `Content-Length: ${'9'.repeat(16)}`]),
  'an empty length': post([], [...HEADERS.slice(0, 2), 'Content-Length:']),
  'chunks and a length': post(['Transfer-Encoding: chunked']),
  'two codings': post(['Transfer-Encoding: gzip, chunked'], HEADERS.slice(0, 2)),
  'the same coding twice': post(
    ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'],
    HEADERS.slice(0, 2),
  ),
  'an empty coding': post(['Transfer-Encoding:'], HEADERS.slice(0, 2)),
  'a GET in chunks':
    'GET /healthz HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'an expectation': post(['expect: 100-continue']),
  trailers: post(['Trailer: a']),
  'a connection that is to be closed': post(['Connection: close']),
  'a list of connection options': post(['Connection: keep-alive, te']),
  'what proxies send': post(['Proxy-Connection: keep-alive']),
  'two keys': post(['authorization: Bearer k']),
  'two content types': post(['Content-Type: a/b', 'Content-Type: a/b']),
  'a space before a colon': post(['X-Any : a']),
  'no colon': post(['X-Any']),
  'no name': post([': a']),
  'a folded line': post(['X-Any: a', ' b']),
  'a name that is no token': post(['X(Any): a']),
  'more than 100 headers': post(Array.from({ length: 98 }, () => 'a: b')),
  'more than 8 KiB': post([`a: ${'b'.repeat(8192)}`]),
  'a GET with a body': 'GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx',
}

describe('left to Node', () => {
  for (const [what, bytes] of Object.entries(LEFT)) {
    test(what, () => assert.equal(read(bytes), undefined))
  }
})

test('100 headers, and more than two KiB of them, are plain', () => {
  assert.ok(read(post(Array.from({ length: 97 }, () => 'a: b'))))
  assert.ok(read(post([`a: ${'b'.repeat(4000)}`])))
})

test('all headers are there unchanged', () => {
  const name = fc.stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,15}$/)
  const value = fc.stringMatching(/^[!-~]([ -~]{0,20}[!-~])?$/)
  const others = fc.array(
    fc.tuple(
      name.map((text) => `x-${text}`),
      value,
    ),
    { maxLength: 20 },
  )
  fc.assert(
    fc.property(others, (headers) => {
      const head = read(post(headers.map(([one, other]) => `${one}:${other}`)))
      assert.deepEqual(headersOf(head?.lines ?? '').slice(HEADERS.length * 2), headers.flat())
    }),
  )
})
