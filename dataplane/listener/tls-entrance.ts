/** Decrypts the TLS connections of clients. A renewed certificate applies to the next handshake; streams continue. */
import { constants } from 'node:crypto'
import type { Server, Socket } from 'node:net'
import { createServer, type TLSSocket } from 'node:tls'
import {
  type ClientAuth,
  clientAuthOf,
  type ListenerTls,
  secureOptionsOf,
} from '../config/listener-certificate.ts'
import type { Gateway } from '../gateway/gateway.ts'

const HANDSHAKE_MS = 10_000

type Taker = (socket: Socket) => void

export class TlsEntrance {
  readonly #gateway: Gateway
  readonly #open: Taker
  /** Whether clients must show certificates is fixed at the start, because probes of pods depend on it. */
  readonly #clientAuth: ClientAuth
  /** Connections before the end of their handshake, by the client's address and port. */
  readonly #shaking = new Map<string, Socket>()
  #served: ListenerTls
  #server: Server

  /** `open` gets each connection after its handshake. */
  constructor(gateway: Gateway, tls: ListenerTls, open: Taker) {
    this.#gateway = gateway
    this.#open = open
    this.#served = tls
    this.#clientAuth = clientAuthOf(tls)
    this.#server = this.#serverOf(tls)
  }

  take(raw: Socket): void {
    const { tls = this.#served } = this.#gateway.active.snapshot.section.gateway
    if (tls !== this.#served) this.#follow(tls)
    const client = addressOf(raw)
    this.#shaking.set(client, raw)
    raw.once('close', () => {
      // The client may have connected again from the same port.
      if (this.#shaking.get(client) === raw) this.#shaking.delete(client)
    })
    this.#server.emit('connection', raw)
  }

  /** Ends the connections before the end of their handshake. */
  close(): void {
    for (const raw of this.#shaking.values()) raw.destroy()
  }

  /** Every configuration has a new object; clients' sessions survive if the pair is the same. */
  #follow(tls: ListenerTls): void {
    const isSame = (['cert', 'key', 'client_ca', 'min_version'] as const).every(
      (field) => tls[field] === this.#served[field],
    )
    if (clientAuthOf(tls) !== this.#clientAuth) return
    this.#served = tls
    // Old tickets are invalid here, so that a client of an old authority cannot resume a session.
    if (!isSame) this.#server = this.#serverOf(tls)
  }

  /** This server does not listen; it gets accepted connections. */
  #serverOf(tls: ListenerTls): Server {
    const server = createServer({
      ...secureOptionsOf(tls),
      ALPNProtocols: ['http/1.1'],
      allowHalfOpen: true,
      handshakeTimeout: HANDSHAKE_MS,
      // Node counts the renegotiations of TLS 1.2, but continues with them.
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
      requestCert: this.#clientAuth !== 'none',
      rejectUnauthorized: this.#clientAuth === 'require',
    })
    server.on('secureConnection', (socket) => this.#secured(socket))
    server.on('tlsClientError', (error, socket) => this.#failed(error, socket))
    return server
  }

  #secured(socket: TLSSocket): void {
    this.#shaking.delete(addressOf(socket))
    // With client_auth: request, a client may have no certificate, but not an invalid one.
    const isBad =
      this.#clientAuth === 'request' &&
      !socket.authorized &&
      socket.getPeerX509Certificate() !== undefined
    if (isBad) {
      this.#count('client_certificate')
      socket.destroy()
      return
    }
    this.#open(socket)
  }

  #failed(error: NodeJS.ErrnoException, socket: TLSSocket): void {
    this.#count(reasonOf(error, socket))
    socket.destroy()
  }

  #count(reason: string): void {
    this.#gateway.metrics.handshakeFailures.at(reason).value++
  }
}

function addressOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}

function reasonOf({ code }: NodeJS.ErrnoException, { authorizationError }: TLSSocket): string {
  const isUnauthorized = authorizationError != null
  if (isUnauthorized || /PEER_DID_NOT_RETURN|CERTIFICATE/.test(code ?? '')) {
    return 'client_certificate'
  }
  if (code === 'ERR_SSL_HTTP_REQUEST') return 'plain_http'
  return code === 'ERR_TLS_HANDSHAKE_TIMEOUT' ? 'timeout' : 'other'
}
