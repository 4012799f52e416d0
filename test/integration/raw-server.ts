/** Servers that record all received bytes and answer each request with bytes of the test. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TLSSocket, type TlsOptions } from 'node:tls'
import { ANSWER } from './egress-gateway.ts'

export interface RawServer {
  readonly port: number
  /** The application data that arrived, joined. */
  received(): string
  /** The number of connections, with or without data. */
  readonly connections: () => number
  /** Names in the handshakes of TLS clients. */
  readonly names: string[]
  close(): Promise<void>
}

const CLIENT_HELLO = 22

/** Called once for each request, when its head has arrived. */
export type Reply = (socket: Socket) => void

export const replyWell: Reply = (socket) => {
  socket.write(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${ANSWER.length}\r\n\r\n${ANSWER}`,
  )
}

export function startTlsServer(options: TlsOptions, reply: Reply = replyWell): Promise<RawServer> {
  const server = createTlsServer(options)
  // Many tests expect a handshake that fails.
  server.on('tlsClientError', () => {})
  return listen(server, 'secureConnection', reply)
}

export function startTcpServer(reply: Reply = replyWell): Promise<RawServer> {
  return listen(createServer(), 'connection', reply)
}

async function listen(server: Server, event: string, reply: Reply): Promise<RawServer> {
  const sockets = new Set<Socket>()
  const names: string[] = []
  let received = ''
  let connections = 0
  server.on('connection', (socket: Socket) => {
    connections++
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  })
  server.on(event, (socket: Socket & Partial<TLSSocket>) => {
    if (socket.servername) names.push(socket.servername)
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
      // A server without TLS answers a ClientHello as any other data.
      if (chunk.includes('POST ') || chunk[0] === CLIENT_HELLO) reply(socket)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    // A server that listens on a port has an address of this kind.
    port: (server.address() as AddressInfo).port,
    received: () => received,
    connections: () => connections,
    names,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
