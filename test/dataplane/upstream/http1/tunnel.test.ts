/** A tunnel through a proxy: however the answer of the proxy arrives, it is accepted or the connection is closed. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { openTunnel } from '../../../../dataplane/connection/tunnel.ts'

const OPENED = 'HTTP/1.1 200 Connection established\r\nvia: a\r\n\r\n'
const servers: Server[] = []

after(() => {
  for (const server of servers) server.close()
})

type Proxy = (socket: Socket, head: string) => void

interface Opened {
  readonly error: (Error & { code?: string }) | null
  readonly socket: Socket
}

/** The result of a tunnel through a proxy that acts like this after the request. */
async function open(proxy: Proxy, timeoutMs = 60_000): Promise<Opened> {
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => {})
    socket.once('data', (head) => proxy(socket, head.toString('latin1')))
  }).listen(0, '127.0.0.1')
  servers.push(server)
  await once(server, 'listening')
  // A server that listens on a port has an address of this type.
  const { port } = server.address() as AddressInfo
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  const options = { authority: 'model.example:443', authorization: 'Basic YQ==', timeoutMs }
  const calls: Opened['error'][] = []
  await new Promise<void>((resolve) => {
    openTunnel(socket, options, (error) => {
      calls.push(error)
      resolve()
    })
  })
  const [error = null] = calls
  if (error !== null && !socket.closed) await once(socket, 'close')
  assert.equal(calls.length, 1)
  return { error, socket }
}

test("the proxy gets the upstream's name, with its credential", async () => {
  let asked = ''
  const { socket } = await open((client, head) => {
    asked = head
    client.write(OPENED)
  })
  assert.equal(
    asked,
    'CONNECT model.example:443 HTTP/1.1\r\nhost: model.example:443\r\nproxy-authorization: Basic YQ==\r\n\r\n',
  )
  socket.destroy()
})

test('later bytes belong to the upstream, wherever the answer of the proxy is cut', async () => {
  for (let at = 1; at <= OPENED.length; at++) {
    const { error, socket } = await open((client) => {
      client.write(OPENED.slice(0, at), () => setImmediate(() => client.write(OPENED.slice(at))))
      client.on('data', (bytes) => client.write(bytes))
    })
    assert.equal(error, null, `cut at ${at}`)
    socket.write('for the upstream')
    socket.resume()
    assert.equal(String((await once(socket, 'data'))[0]), 'for the upstream')
    socket.destroy()
  }
})

test('an interim answer is not a tunnel yet', async () => {
  const { error, socket } = await open((client) =>
    client.write(`HTTP/1.1 103 Hints\r\n\r\n${OPENED}`),
  )
  assert.equal(error, null)
  socket.destroy()
})

const REFUSED: Readonly<Record<string, readonly [proxy: Proxy, code: string, message: RegExp]>> = {
  'another status': [
    (client) => client.write('HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n'),
    'UND_ERR_ABORTED',
    /\(407\)/,
  ],
  'a redirection': [
    (client) => client.write('HTTP/1.1 302 No\r\nlocation: /\r\n\r\n'),
    'UND_ERR_ABORTED',
    /\(302\)/,
  ],
  'something else than HTTP': [
    (client) => client.write('SSH-2.0-OpenSSH\r\n'),
    'HPE_INVALID_RESPONSE',
    /HTTP/,
  ],
  'bytes ahead of the upstream': [
    (client) => client.write(`${OPENED}x`),
    'HPE_INVALID_RESPONSE',
    /ahead/,
  ],
  'a head without end': [
    (client) => client.write(`${OPENED.slice(0, -2)}a: ${'b'.repeat(70_000)}`),
    'UND_ERR_HEADERS_OVERFLOW',
    /Overflow/,
  ],
  'an end': [(client) => client.end(), 'UND_ERR_PRX_CONN', /closed/],
  'an end within its answer': [
    (client) => client.end(OPENED.slice(0, -1)),
    'UND_ERR_PRX_CONN',
    /closed/,
  ],
  'a reset': [(client) => client.resetAndDestroy(), 'ECONNRESET', /ECONNRESET/],
}

for (const [what, [proxy, code, message]] of Object.entries(REFUSED)) {
  test(`${what} is not a tunnel, and the connection is closed`, async () => {
    const { error, socket } = await open(proxy)
    assert.equal(error?.code, code)
    assert.match(error?.message ?? '', message)
    assert.ok(socket.destroyed)
  })
}

test('a proxy that does not answer in time is abandoned', async () => {
  const { error, socket } = await open(() => undefined, 1)
  assert.equal(error?.code, 'UND_ERR_HEADERS_TIMEOUT')
  assert.ok(socket.destroyed)
})
