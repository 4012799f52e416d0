/** Answers sent before a body is read: they arrive, and the connection remains correct. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, test } from 'node:test'
import {
  CHAT_BODY,
  CHAT_HEADERS,
  chatBytes,
  chunk,
  framedBytes,
  open,
  startFront,
} from './front.ts'
import { sendTo } from './send.ts'

const MEBIBYTE = 1_048_576
const front = await startFront({ gateway: { max_request_bytes: MEBIBYTE } })
after(() => front.stop())

const BAD_KEY = { authorization: 'Bearer ghost' }
const LARGE = Buffer.alloc(5 * MEBIBYTE, 'x')

test('a bad key gets 401 while 5 MiB are being sent, every time', async () => {
  for (let time = 0; time < 20; time++) {
    const answer = await sendTo(front, { headers: BAD_KEY, body: LARGE })
    assert.equal(answer.status, 401)
    assert.equal(answer.headers.connection, 'close')
  }
})

test('a body that is too large gets 413 while 5 MiB are being sent, with and without a length', async () => {
  for (let time = 0; time < 20; time++) {
    const headers = time % 2 === 0 ? {} : { 'transfer-encoding': 'chunked' }
    const answer = await sendTo(front, { headers, body: LARGE })
    assert.equal(answer.status, 413)
  }
  assert.equal(front.upstream.asked.length, 0)
})

test('a bound of some bytes holds for bodies that come with their head, with and without a length', async () => {
  const small = await startFront({ gateway: { max_request_bytes: CHAT_BODY.length } })
  after(() => small.stop())
  const chunked = (body: string) =>
    framedBytes(['Transfer-Encoding: chunked'], `${chunk(body)}${chunk('')}`)
  for (const sent of [(body: string) => chatBytes({ body }), chunked]) {
    const sockets = [CHAT_BODY, `${CHAT_BODY} `].map((body) => open(small, sent(body)))
    for (const socket of sockets) assert.ok(await socket.until(() => socket.answers.length === 1))
    const statuses = sockets.map(({ answers }) => answers[0]?.status)
    assert.deepEqual(statuses, [200, 413])
  }
})

test('a wrong type, path, method and target get their answers while 5 MiB are being sent', async () => {
  const rows = [
    [415, { headers: { 'content-type': 'text/plain' } }],
    [404, { path: '/x' }],
    [405, { path: '/v1/models' }],
    [400, { path: '/v1/%00' }],
    [400, { headers: { expect: '200-ok' } }],
  ] as const
  for (const [status, sent] of rows) {
    const answer = await sendTo(front, { ...sent, body: LARGE })
    assert.equal(answer.status, status)
  }
})

test('a client that reads only after writing gets 401', async () => {
  const socket = open(
    front,
    `${chatBytes({ headers: ['Host: a', 'Authorization: Bearer x', `Content-Length: ${LARGE.length}`], body: '' })}`,
  )
  assert.ok(await socket.until(() => socket.answers.length === 1))
  for (let sent = 0; sent < LARGE.length; sent += MEBIBYTE) socket.send(LARGE.subarray(0, MEBIBYTE))
  assert.ok(await socket.until(() => socket.end !== undefined))
  assert.equal(socket.end, 'closed')
  assert.equal(socket.answers[0]?.status, 401)
})

test('bytes after a refused body are not read as a request', async () => {
  front.upstream.asked.length = 0
  const refused = chatBytes({
    headers: ['Host: a', 'Authorization: Bearer x', `Content-Length: ${CHAT_BODY.length}`],
    body: '',
  })
  const socket = open(front, refused)
  assert.ok(await socket.until(() => socket.answers.length === 1))
  const second = open(front)
  second.leave()
  socket.send(CHAT_BODY + chatBytes())
  assert.ok(await socket.closes())
  assert.equal(socket.answers.length, 1)
  assert.equal(front.upstream.asked.length, 0)
})

test('a client that keeps its connection open after its last answer is cut', async () => {
  const { hostname, port } = new URL(front.gateway.url)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  socket.write(
    chatBytes({
      headers: ['Host: a', 'Authorization: Bearer x', 'Content-Length: 1000000'],
      body: 'x',
    }),
  )
  socket.resume()
  const over = Promise.withResolvers<void>()
  const writing = setInterval(() => socket.write('x'), 100)
  const timer = setTimeout(() => over.reject(new Error('still open after 60 s')), 60_000)
  socket.on('error', () => over.resolve())
  socket.on('close', () => over.resolve())
  await over.promise
  clearInterval(writing)
  clearTimeout(timer)
})

const EXPECTING = [`Content-Length: ${CHAT_BODY.length}`, 'Expect: 100-continue']

test('an expectation with a bad key gets 401 and no 100', async () => {
  const socket = open(
    front,
    chatBytes({ headers: ['Host: a', 'Authorization: Bearer x', ...EXPECTING], body: '' }),
  )
  assert.ok(await socket.closes())
  assert.deepEqual(
    socket.answers.map(({ status }) => status),
    [401],
  )
})

for (const [what, headers, status] of [
  ['too large a length', [...CHAT_HEADERS, 'Content-Length: 9000000', 'Expect: 100-continue'], 413],
  ['a wrong type', [...CHAT_HEADERS.slice(0, 2), 'Content-Type: a/b', ...EXPECTING], 415],
] as const) {
  test(`an expectation with ${what} gets ${status} and no 100`, async () => {
    const socket = open(front, chatBytes({ headers, body: '' }))
    assert.ok(await socket.closes())
    assert.deepEqual(
      socket.answers.map((answer) => answer.status),
      [status],
    )
  })
}

for (const expect of ['100-continue', '100-Continue']) {
  test(`a good key gets 100 for ${expect}, then its answer, and the connection stays open`, async () => {
    const head = chatBytes({
      headers: [...CHAT_HEADERS, EXPECTING[0] ?? '', `Expect: ${expect}`],
      body: '',
    })
    const socket = open(front, head)
    assert.ok(await socket.until(() => socket.answers.length === 1))
    socket.send(CHAT_BODY)
    assert.ok(await socket.until(() => socket.answers.length === 2))
    assert.deepEqual(
      socket.answers.map(({ status }) => status),
      [100, 200],
    )
    socket.send('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n')
    assert.ok(await socket.until(() => socket.answers.length === 3))
  })
}

test('a connection serves a hundred requests and refusals in turn', async () => {
  const socket = open(front, chatBytes())
  for (let count = 1; count < 100; count++) {
    assert.ok(await socket.until(() => socket.answers.length === count))
    socket.send(nth(count))
  }
  assert.ok(await socket.until(() => socket.answers.length === 100))
  assert.equal(socket.end, undefined)
  assert.deepEqual(new Set(socket.answers.map(({ status }) => status)), new Set([200, 401, 404]))
})

function nth(count: number): string {
  const key = `Authorization: Bearer ${front.key}`
  if (count % 3 === 0) return 'GET /v1/models HTTP/1.1\r\nHost: a\r\n\r\n'
  if (count % 3 === 1) return `GET /x HTTP/1.1\r\nHost: a\r\n${key}\r\n\r\n`
  return `GET /v1/models HTTP/1.1\r\nHost: a\r\n${key}\r\n\r\n`
}

test('a client of HTTP/1.0 gets its answer without chunks, and the connection ends', async () => {
  const line = 'POST /v1/chat/completions HTTP/1.0'
  const socket = open(front, framedBytes([`Content-Length: ${CHAT_BODY.length}`], CHAT_BODY, line))
  assert.ok(await socket.closes())
  assert.equal(socket.answers[0]?.status, 200)
  assert.equal(socket.answers[0]?.headers['transfer-encoding'], undefined)
})

test('a stream to a client of HTTP/1.0 is the bytes until the end of the connection', async () => {
  const events =
    'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
  front.upstream.reply = (_asked, outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' }).end(events)
  }
  const body = CHAT_BODY.replace('{', '{"stream":true,')
  const line = 'POST /v1/chat/completions HTTP/1.0'
  const socket = open(front, framedBytes([`Content-Length: ${body.length}`], body, line))
  assert.ok(await socket.closes())
  assert.equal(socket.end, 'closed')
  assert.ok(socket.heard.endsWith(`\r\n\r\n${events}`), socket.heard)
})
