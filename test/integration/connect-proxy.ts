/**
 * A forward proxy as companies run them: CONNECT tunnels, and plain requests with their full URL.
 */
import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TlsOptions } from 'node:tls'

export interface Proxy {
  readonly port: number
  /** First line and credential of each request, such as `CONNECT host:443`. */
  readonly asked: { readonly line: string; readonly authorization: string | undefined }[]
  /** Returns this status instead of forwarding the request; 0: it never answers. */
  refuse: number | undefined
  /** Closes the connections of all clients. */
  hangUp(): void
  close(): Promise<void>
}

export async function startProxy(tls?: TlsOptions): Promise<Proxy> {
  const server: Server = tls === undefined ? createServer() : createSecureServer(tls)
  const sockets = new Set<Duplex>()
  const asked: Proxy['asked'] = []
  const proxy: Proxy = {
    port: 0,
    asked,
    refuse: undefined,
    hangUp: () => {
      for (const socket of sockets) socket.destroy()
    },
    async close() {
      proxy.hangUp()
      server.close()
      await once(server, 'close')
    },
  }
  function note({ method, url, headers }: IncomingMessage): void {
    asked.push({ line: `${method} ${url}`, authorization: headers['proxy-authorization'] })
  }
  server.on('connection', (socket: Socket) => keep(socket))
  function keep(socket: Socket): Socket {
    sockets.add(socket)
    return socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  }
  server.on('connect', (incoming: IncomingMessage, client: Duplex) => {
    note(incoming)
    client.on('error', () => {})
    if (proxy.refuse === 0) return
    if (proxy.refuse !== undefined) {
      client.end(`HTTP/1.1 ${proxy.refuse} No\r\ncontent-length: 0\r\n\r\n`)
      return
    }
    const { hostname, port } = new URL(`http://${incoming.url}`)
    const upstream = keep(connect(Number(port), hostname.replace(/^\[|\]$/g, '')))
    upstream.on('connect', () => client.write('HTTP/1.1 200 OK\r\n\r\n'))
    upstream.on('error', () => client.end('HTTP/1.1 502 No\r\ncontent-length: 0\r\n\r\n'))
    upstream.pipe(client).pipe(upstream)
  })
  server.on('request', (incoming: IncomingMessage, outgoing: ServerResponse) => {
    note(incoming)
    if (proxy.refuse === 0) return
    if (proxy.refuse !== undefined) {
      outgoing.writeHead(proxy.refuse).end()
      return
    }
    const { 'proxy-authorization': _, ...headers } = incoming.headers
    const onward = request(incoming.url ?? '', { method: incoming.method, headers })
    onward.on('error', () => outgoing.destroy())
    onward.on('response', (answer) => {
      answer.on('error', () => outgoing.destroy())
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    incoming.pipe(onward)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A server that listens on a port has an address of this kind.
  return Object.assign(proxy, { port: (server.address() as AddressInfo).port })
}
