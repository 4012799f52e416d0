/** The rules of the wire on requests from Node. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { headerIn } from '../../../dataplane/http1/header-lines.ts'
import { bodyIsUnread, wireFault } from '../../../dataplane/request/head-rules.ts'

interface Given {
  readonly url?: string
  readonly version?: string
  readonly host?: string
  readonly headers?: readonly (readonly [string, string])[]
}

/** A request with only a Host and the given headers. */
function aRequest({ url = '/v1/models', host = 'gateway.test', headers = [] }: Given = {}) {
  const rawHeaders = [['Host', host] as const, ...headers].flat()
  return { url, rawHeaders, complete: false, header: (name: string) => headerIn(rawHeaders, name) }
}

function faultOf(given: Given = {}) {
  return wireFault(aRequest(given), given.version ?? '1.1')
}

function withHeader(name: string, value: string): Given {
  return { headers: [[name, value]] }
}

const GOOD: Readonly<Record<string, Given>> = {
  'a plain request': {},
  'a query': { url: '/v1/models?a=..%2e&b=c' },
  'encoded letters': { url: '/v1/models/llama%203%3A8b' },
  'dots that are not a segment': { url: '/v1/..a/a../.../.' },
  'HTTP/1.0': { version: '1.0' },
  'a length': withHeader('Content-Length', '5'),
  'a length of 0': withHeader('Content-Length', '0'),
  'the largest length': withHeader('Content-Length', '9'.repeat(16)),
  'a model name with encoded slashes': { url: '/v1/models/a%2Fb%2fc%25' },
  'an offer to upgrade': withHeader('Upgrade', 'h2c'),
  chunks: withHeader('Transfer-Encoding', 'Chunked'),
  'an expectation': withHeader('Expect', '100-Continue'),
  'a header twice that may': {
    headers: [
      ['Accept', 'a'],
      ['Accept', 'b'],
    ],
  },
  '100 headers': { headers: Array.from({ length: 99 }, () => ['a', 'b'] as const) },
}

const BAD: Readonly<Record<string, Given>> = {
  'HTTP/0.9': { version: '0.9' },
  'HTTP/2.0': { version: '2.0' },
  'no target': { url: '' },
  'the asterisk': { url: '*' },
  'an absolute target': { url: 'http://a/' },
  'an authority': { url: 'a:1' },
  'dot segments': { url: '/a/../b' },
  'encoded dot segments': { url: '/a/%2E%2e/b' },
  'dot segments at the end': { url: '/a/..' },
  'an encoded slash': { url: '/a%2Fb' },
  'an encoded slash in a query': { url: '/v1/models/a?b=%2F' },
  'an encoded slash ahead of a model name': { url: '/v1/models%2Fa' },
  'dot segments of encoded slashes': { url: '/v1/models/a%2F..%2fb' },
  'dot segments in a model name': { url: '/v1/models/%2e%2E' },
  'an encoded NUL in a model name': { url: '/v1/models/a%00' },
  'an encoded backslash in a model name': { url: '/v1/models/a%5Cb' },
  'an encoded NUL': { url: '/a%00' },
  'a backslash': { url: '/a\\b' },
  'an encoded backslash': { url: '/a%5Cb' },
  'a byte above 127': { url: '/\xe9' },
  'a length of +5': withHeader('Content-Length', '+5'),
  'a length of 05': withHeader('Content-Length', '05'),
  'a length of 5, 5': withHeader('Content-Length', '5, 5'),
  'a length of 17 digits': withHeader('Content-Length', '1'.repeat(17)),
  'an empty length': withHeader('Content-Length', ''),
  'a coding before chunked': withHeader('Transfer-Encoding', 'gzip, chunked'),
  'another coding': withHeader('Transfer-Encoding', 'identity'),
  'an empty coding': withHeader('Transfer-Encoding', ''),
  'HTTP/1.0 with chunks': { ...withHeader('Transfer-Encoding', 'chunked'), version: '1.0' },
  'length and coding': {
    headers: [
      ['Content-Length', '5'],
      ['Transfer-Encoding', 'chunked'],
    ],
  },
  'another expectation': withHeader('Expect', 'x'),
  '101 headers': { headers: Array.from({ length: 100 }, () => ['a', 'b'] as const) },
}

for (const [what, given] of Object.entries(GOOD)) {
  test(`${what} is well-formed`, () => assert.equal(faultOf(given), undefined))
}

for (const [what, given] of Object.entries(BAD)) {
  test(`${what} is refused`, () => {
    const fault = faultOf(given)
    assert.equal(fault?.status, what === '101 headers' ? 431 : 400)
  })
}

const ONCE = [
  'host',
  'authorization',
  'api-key',
  'x-api-key',
  'content-length',
  'content-type',
  'content-encoding',
  'transfer-encoding',
  'expect',
]

test('of each ambiguous header, two are refused, in any case', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...ONCE),
      fc.array(fc.boolean()),
      fc.nat(20),
      (name, upper, others) => {
        const other = [...name]
          .map((letter, at) => (upper[at] ? letter.toUpperCase() : letter))
          .join('')
        const between = Array.from({ length: others }, () => ['x-other', 'a'] as const)
        const headers = [[name, 'chunked'], ...between, [other, 'chunked']] as const
        assert.match(String(faultOf({ headers })?.message), /appears twice/)
      },
    ),
  )
})

for (const host of ['a/b', 'a@b', 'a b', 'a,b', 'a?b', 'a#b', 'a\\b', '<a>', 'ä']) {
  test(`the host ${host} is refused`, () => {
    assert.equal(faultOf({ host })?.status, 400)
  })
}

for (const host of ['a', 'a.b:80', '127.0.0.1:8080', '[::1]:8080', 'a_b', '']) {
  test(`the host ${host || 'of no letters'} is accepted`, () => {
    assert.equal(faultOf({ host }), undefined)
  })
}

test('64 KiB of anything as a target are judged at once', () => {
  for (const piece of ['a', '.', '..', '/', '/.', '%', '%2', '%2e', '/..a', '%2e%2']) {
    const url = `/${piece.repeat(65_536 / piece.length)}`
    // The fastest of several, because the machine may be busy during one of them.
    const times = Array.from({ length: 10 }, () => {
      const start = performance.now()
      faultOf({ url })
      return performance.now() - start
    })
    assert.ok(Math.min(...times) < 100, piece)
  }
})

test('a body is unread if one was announced and has not arrived', () => {
  assert.equal(bodyIsUnread(aRequest()), false)
  assert.equal(bodyIsUnread(aRequest(withHeader('Content-Length', '0'))), false)
  assert.equal(bodyIsUnread(aRequest(withHeader('Content-Length', '5'))), true)
  assert.equal(bodyIsUnread(aRequest(withHeader('Transfer-Encoding', 'chunked'))), true)
  const read = { ...aRequest(withHeader('Content-Length', '5')), complete: true }
  assert.equal(bodyIsUnread(read), false)
})
