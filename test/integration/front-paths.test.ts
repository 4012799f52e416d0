/**
 * Both readers understand a request in the same way: the gateway's own, for plain requests, and
 * Node's, for all others.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { CHAT_BODY, CHAT_HEADERS, chatBytes, open, startFront, withKey } from './hostile/front.ts'
import type { RawSocket } from './hostile/raw-socket.ts'

const LIMIT = 4096
const front = await startFront({
  gateway: {
    max_request_bytes: LIMIT,
    cors: { allowed_origins: ['https://page.test'], allow_credentials: true },
  },
})
after(() => front.stop())

/** An unknown path, so that Node reads the rest of the connection. */
const TURN = 'GET /healthz?turn HTTP/1.1\r\nHost: gateway.test\r\n\r\n'
/** Its answer marks the end of the answer to the previous request. */
const LAST = 'GET /readyz?last HTTP/1.1\r\nHost: gateway.test\r\nConnection: close\r\n\r\n'

const get = (path: string, ...more: string[]) =>
  `${[`GET ${path} HTTP/1.1`, ...CHAT_HEADERS.slice(0, 2), ...more].join('\r\n')}\r\n\r\n`
const STREAM = CHAT_BODY.replace('{', '{"stream":true,')
const ORIGIN = 'Origin: https://page.test'

const REQUESTS: Readonly<Record<string, string>> = {
  'a chat': chatBytes(),
  'a stream': chatBytes({ body: STREAM }),
  'a page of an origin that may': chatBytes({ more: [ORIGIN] }),
  'a page of another origin': chatBytes({ more: ['Origin: https://other.test'] }),
  'a stream of a page': chatBytes({ body: STREAM, more: [ORIGIN] }),
  'no key': chatBytes({ headers: ['Host: a', 'Content-Length: 2'], body: '{}' }),
  'a bad key': chatBytes().replace('Bearer ', 'Bearer x'),
  'another type': chatBytes().replace('application/json', 'text/plain'),
  'a type with a charset': chatBytes().replace(
    'application/json',
    'application/json; charset=utf-8',
  ),
  'a coding': chatBytes({ more: ['Content-Encoding: gzip'] }),
  'an unknown route': chatBytes({ body: CHAT_BODY.replace('chat', 'nowhere \\u2192') }),
  'broken JSON': chatBytes({ body: '{"model":' }),
  'no body': chatBytes({ body: '' }),
  'a body at the limit': chatBytes({ body: CHAT_BODY.padEnd(LIMIT) }),
  'a body above the limit': chatBytes({ body: CHAT_BODY.padEnd(LIMIT + 1) }),
  'a body that is not UTF-8': chatBytes({ body: '{"model":"\xff"}' }).replace('14', '12'),
  models: get('/v1/models'),
  'a chat without /v1': chatBytes({ line: 'POST /chat/completions HTTP/1.1' }),
  'a chat of a deployment': chatBytes({
    line: 'POST /openai/deployments/chat/chat/completions?api-version=1 HTTP/1.1',
    body: CHAT_BODY.replace('"model":"chat",', ''),
  }),
  'a WebSocket': get('/v1/responses', 'Connection: Upgrade', 'Upgrade: websocket'),
  'what arrived': get('/v1/debug/echo-headers', 'X-a:  b ', 'x-A: c', '__proto__: d', 'Accept:'),
  alive: get('/healthz'),
  ready: get('/readyz'),
}

/** Masks ids, times and durations in answers that are otherwise equal. */
function masked(heard: string): string {
  return heard
    .replaceAll(/[0-9a-f]{12}-[0-9a-z]+/g, '<id>')
    .replaceAll(/^Date: .*$/gm, 'Date: <date>')
    .replaceAll(/^(X-Gw-RateLimit-(?:Remaining|Reset)): .*$/gm, '$1: <n>')
    .replaceAll(/^content-length: .*$/gm, 'content-length: <n>')
    .replaceAll(/^[0-9a-f]+\r$/gm, '<size>\r')
}

/** All bytes received on a connection until it is closed, without the answer to the first bytes. */
async function heardOf(bytes: string, first?: string): Promise<string> {
  const socket = open(front, first)
  if (first !== undefined) assert.ok(await socket.until(() => socket.answers.length === 1))
  const earlier = socket.heard.length
  socket.send(withKey(front, bytes))
  await isAnswered(socket, first === undefined ? 1 : 2)
  if (socket.end === undefined) socket.send(LAST)
  assert.ok(await socket.closes(), socket.heard)
  return masked(socket.heard.slice(earlier))
}

async function isAnswered(socket: RawSocket, count: number): Promise<void> {
  const finals = () => socket.answers.filter(({ status }) => status >= 200).length
  await socket.until(() => finals() >= count || socket.end !== undefined)
}

for (const [what, bytes] of Object.entries(REQUESTS)) {
  test(`the same answer, header by header: ${what}`, async () => {
    const own = await heardOf(bytes)
    assert.equal(own, await heardOf(bytes, TURN))
    assert.match(own, /^HTTP\/1\.1 [1-5]\d\d /)
  })
}

for (const path of ['/chat/completions', '//v1/chat/completions', '/v1/v1/chat/completions/']) {
  test(`the same answer as at the path itself, header by header: ${path}`, async () => {
    const line = `POST ${path} HTTP/1.1`
    for (const body of [CHAT_BODY, STREAM, '{"model":'])
      assert.equal(await heardOf(chatBytes({ line, body })), await heardOf(chatBytes({ body })))
  })
}

test('a request with random changes gets the same answer from both readers', async () => {
  const sound = [chatBytes({ more: ['Accept: */*', ORIGIN] }), chatBytes({ body: STREAM })]
  const piece = fc.constantFrom(
    '\r',
    '\n',
    '\r\n',
    ' ',
    '\t',
    ':',
    ',',
    '\0',
    '\x7f',
    '\xe4',
    '0',
    '1',
    'a',
    'Z',
    '/',
    '"',
    '{',
    'Host: a\r\n',
    'Connection: close\r\n',
    'Content-Length: 3\r\n',
    'Transfer-Encoding: chunked\r\n',
    'Expect: 100-continue\r\n',
    'X-Api-Key: a\r\n',
    'a: b\r\n',
    'HTTP/1.1',
    'Upgrade: a\r\n',
  )
  const change = fc.record({ at: fc.nat(), gone: fc.constantFrom(0, 0, 1, 3), piece })
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...sound),
      fc.array(change, { minLength: 1, maxLength: 2 }),
      async (given, changes) => {
        const bytes = changes.reduce((text, { at, gone, piece: put }) => {
          const place = put.endsWith('\r\n') ? lineStart(text, at) : at % text.length
          return text.slice(0, place) + put + text.slice(place + gone)
        }, given)
        // The gateway would wait for the rest of a part; the bytes below complete or break it for
        // both readers.
        const tail = `${'\r\n'.repeat(2)}0\r\n\r\n${' '.repeat(LIMIT)}\r\n\r\n`
        const [own, others] = [await answersTo(bytes + tail), await answersTo(bytes + tail, TURN)]
        assert.deepEqual(own, others)
      },
    ),
    { numRuns: 400 },
  )
})

/** The start of one of the header lines. */
function lineStart(text: string, at: number): number {
  const lines = text.slice(0, text.indexOf('\r\n\r\n') + 2).split('\r\n')
  const before = lines.slice(0, 1 + (at % Math.max(1, lines.length - 1)))
  return before.join('\r\n').length + 2
}

/** Statuses and bodies, until the peer closes the connection or sends an incomplete answer. */
async function answersTo(bytes: string, first?: string): Promise<string[]> {
  const socket = open(front, first)
  if (first !== undefined) assert.ok(await socket.until(() => socket.answers.length === 1))
  socket.send(withKey(front, bytes))
  await isAnswered(socket, first === undefined ? 1 : 2)
  socket.sendEnd()
  assert.ok(await socket.closes(), socket.heard)
  return socket.answers
    .slice(first === undefined ? 0 : 1)
    .filter(({ status }) => status >= 200)
    .map(({ status, body }) => `${status} ${masked(body)}`)
}
