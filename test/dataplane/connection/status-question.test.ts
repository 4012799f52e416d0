/** A probe on a separate connection: its request, the status that it reads, and that nothing of it remains. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { transportTo } from '../../../dataplane/connection/client.ts'
import { failureOf } from '../../../dataplane/connection/connection-failures.ts'
import { askStatus } from '../../../dataplane/connection/status-question.ts'
import { aSnapshotOf } from '../request/stages/snapshots.ts'

const LATE_MS = 60_000

async function listening(t: TestContext, server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  // It listens on an address and a port, so it has both.
  return (server.address() as AddressInfo).port
}

/** A server that answers every connection with these pieces, and the received bytes. */
async function aServer(t: TestContext, pieces: readonly string[]) {
  const sockets: Socket[] = []
  const closed: Promise<unknown>[] = []
  const heads: string[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    closed.push(new Promise((resolve) => socket.once('close', resolve)))
    socket.on('error', () => undefined)
    socket.once('data', async (chunk) => {
      heads.push(chunk.toString('latin1'))
      for (const piece of pieces) {
        socket.write(piece, 'latin1')
        await new Promise(setImmediate)
      }
    })
  })
  return { port: await listening(t, server), heads, closed, sockets }
}

function ask(port: number, { path = '/health', timeoutMs = LATE_MS, more = {} } = {}) {
  const upstream = {
    origin: `http://127.0.0.1:${port}`,
    timeoutMs,
    section: { connect_timeout_seconds: 2 },
  }
  return askStatus(transportTo(upstream, aSnapshotOf(more).section), path, timeoutMs)
}

const STATUSES: readonly (readonly [what: string, pieces: readonly string[], status: number])[] = [
  ['a body of a length', ['HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'], 200],
  ['no body', ['HTTP/1.1 204 No Content\r\n\r\n'], 204],
  [
    'chunks',
    ['HTTP/1.1 503 No\r\ntransfer-encoding: chunked\r\n\r\n', '2\r\nno\r\n', '0\r\n\r\n'],
    503,
  ],
  ['a head in pieces', ['HTTP/1.', '1 20', '0 OK\r\ncontent-le', 'ngth: 0\r\n\r\n'], 200],
  [
    'interim answers',
    ['HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'],
    200,
  ],
]

for (const [what, pieces, status] of STATUSES) {
  test(`the status of an answer with ${what} is read, and its connection ends`, async (t) => {
    const { port, closed, heads } = await aServer(t, pieces)
    assert.equal(await ask(port), status)
    await Promise.all(closed)
    const lines = heads[0]?.split('\r\n') ?? []
    assert.deepEqual(
      [lines[0], lines[1], lines[2]],
      ['GET /health HTTP/1.1', `host: 127.0.0.1:${port}`, 'connection: close'],
    )
  })
}

const REFUSED: readonly (readonly [what: string, pieces: readonly string[], reason: RegExp])[] = [
  ['that is not HTTP', ['SSH-2.0-OpenSSH_9.2\r\n'], /HPE_INVALID_RESPONSE/],
  ['whose head never ends', [`HTTP/1.1 200 OK\r\na: ${'x'.repeat(70_000)}`], /Headers Overflow/],
]

for (const [what, pieces, reason] of REFUSED) {
  test(`an answer ${what} fails the probe, and its connection ends`, async (t) => {
    const { port, closed } = await aServer(t, pieces)
    const error = await ask(port).catch((one: Error) => one)
    assert.ok(error instanceof Error)
    assert.match(failureOf(error).message, reason)
    await Promise.all(closed)
  })
}

test('a body without an end is not read to the end', async (t) => {
  const pieces = Array.from({ length: 20 }, () => 'x'.repeat(8192))
  const { port, closed } = await aServer(t, ['HTTP/1.1 200 OK\r\n\r\n', ...pieces])
  assert.equal(await ask(port), 200)
  await Promise.all(closed)
})

test('a server that hangs up, a silent one and a missing one fail the probe', async (t) => {
  const server = createServer((socket) => socket.destroy())
  const port = await listening(t, server)
  await assert.rejects(ask(port))
  const silent = await aServer(t, [])
  await assert.rejects(ask(silent.port, { timeoutMs: 20 }), /no answer in time/)
  await Promise.all(silent.closed)
  server.close()
  await once(server, 'close')
  const error = await ask(port).catch((one: Error) => one)
  assert.ok(error instanceof Error)
  assert.equal(failureOf(error).isUnreached, true)
})

test('an invalid path is refused before any connection', async (t) => {
  const { port, sockets } = await aServer(t, [])
  await assert.rejects(ask(port, { path: '/a\r\nx: y' }), /invalid request path/)
  assert.equal(sockets.length, 0)
})

test('a proxy that forwards gets the whole URL, and its refusal is not an answer of the upstream', async (t) => {
  const proxy = await aServer(t, ['HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n'])
  const more = { http_proxy: `http://u:p@127.0.0.1:${proxy.port}` }
  const upstream = {
    origin: 'http://model.test:8000',
    timeoutMs: LATE_MS,
    section: { connect_timeout_seconds: 2 },
  }
  const asked = askStatus(transportTo(upstream, aSnapshotOf(more).section), '/health', LATE_MS)
  await assert.rejects(asked, /egress proxy refused/)
  const [head = ''] = proxy.heads
  assert.match(
    head,
    /^GET http:\/\/model\.test:8000\/health HTTP\/1\.1\r\nhost: model\.test:8000\r\n/,
  )
  assert.match(head, /proxy-authorization: Basic dTpw\r\n/)
})
