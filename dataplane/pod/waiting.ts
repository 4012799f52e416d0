/** Answers clients and probes until the pod has a configuration: alive, and not ready. */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer as createNetServer, type Server as NetServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { envelope } from '../apis/openai/wire.ts'
import { makeAuthority, makeLeaf } from '../base/certificates/certificate.ts'
import { GatewayError } from '../base/errors.ts'
import { createServer } from '../base/node-http.ts'

const REFUSAL = new GatewayError(
  'ERR_GW_OVERLOADED',
  'This gateway has no configuration yet; send the request again.',
)
const FIRST_BYTE_MS = 5000
/** The first byte of a TLS handshake, and never of an HTTP request. */
const HANDSHAKE = 0x16
const DAY_MS = 86_400_000

export interface WaitingServer {
  readonly server: NetServer
  closeAllConnections(): void
}

/** Only the configuration says whether clients and probes use TLS, so both are answered. */
export function createWaitingServer(): WaitingServer {
  const plain = createServer({ requestTimeout: 5000, headersTimeout: 5000 }, answer)
  const sockets = new Set<Socket>()
  let secure: NetServer | undefined
  const server = createNetServer((socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket)).on('error', () => socket.destroy())
    socket.setTimeout(FIRST_BYTE_MS, () => socket.destroy())
    socket.once('readable', () => {
      const first: Buffer | null = socket.read(1)
      if (first === null) return
      socket.unshift(first)
      if (first[0] !== HANDSHAKE) plain.emit('connection', socket)
      else {
        secure ??= secured(plain)
        secure.emit('connection', socket)
      }
    })
  })
  return {
    server,
    closeAllConnections() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** With a certificate that no client trusts: the kubelet's probes do not check it. */
function secured(plain: Server): NetServer {
  const now = Date.now()
  const validity = { from: now - DAY_MS, until: now + DAY_MS }
  const { certificate, key } = makeLeaf(['localhost'], validity, makeAuthority(validity))
  const options = { cert: certificate, key, ALPNProtocols: ['http/1.1'] }
  const server = createTlsServer(options, (socket) => plain.emit('connection', socket))
  return server.on('tlsClientError', (_error, socket) => socket.destroy())
}

function answer(incoming: IncomingMessage, outgoing: ServerResponse): void {
  const isAlive = incoming.url?.split('?', 1)[0] === '/healthz'
  const id = `${randomBytes(6).toString('hex')}-1`
  const text = isAlive ? '{"status":"ok"}' : envelope(REFUSAL, id)
  outgoing.writeHead(isAlive ? 200 : REFUSAL.status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'x-request-id': id,
    'x-gw-route': 'none',
    'x-gw-upstream': 'none',
    'retry-after': '1',
    // The gateway takes over the port as soon as there is a configuration.
    connection: 'close',
  })
  outgoing.end(text)
  incoming.resume()
}
