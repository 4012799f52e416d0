/** A TCP proxy that simulates network faults: swallow, reset, delay, refuse. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export type Fault = 'none' | 'swallow' | 'reset' | 'refuse'

export interface FaultProxy {
  readonly port: number
  /** The fault of every connection, including open ones. */
  fault: Fault
  /** Added to every packet of the answer. */
  delayMs: number
  /** Forwards the requests and swallows the answers, this many times. */
  losses: number
  /** The number of accepted connections. */
  readonly connections: number
  /** Closes all open connections. */
  cut(): void
  close(): Promise<void>
}

/** In front of a unix socket, or of a port on loopback. */
export async function startFaultProxy(target: string | number): Promise<FaultProxy> {
  const open = new Set<Socket>()
  const state = { fault: 'none' as Fault, delayMs: 0, losses: 0, connections: 0 }
  const server = createServer((client) => {
    state.connections++
    if (state.fault === 'refuse' || state.fault === 'reset') {
      client.resetAndDestroy()
      return
    }
    const behind = typeof target === 'string' ? connect(target) : connect(target, '127.0.0.1')
    pair(client, behind, open)
    client.on('data', (data: Buffer) => {
      if (state.fault !== 'swallow') behind.write(data)
    })
    behind.on('data', (data: Buffer) => {
      if (state.losses > 0) {
        state.losses--
        return
      }
      const deliver = () => {
        if (state.fault !== 'swallow' && !client.destroyed) client.write(data)
      }
      if (state.delayMs > 0) setTimeout(deliver, state.delayMs)
      else deliver()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A server that listens on a port has an address of this kind.
  const { port } = server.address() as AddressInfo
  const cut = () => {
    for (const socket of open) {
      // A unix socket cannot be reset; the TCP side of the connection is reset.
      if (socket.remoteAddress === undefined) socket.destroy()
      else socket.resetAndDestroy()
    }
  }
  return {
    port,
    get fault() {
      return state.fault
    },
    set fault(fault) {
      state.fault = fault
      if (fault === 'reset' || fault === 'refuse') cut()
    },
    get delayMs() {
      return state.delayMs
    },
    set delayMs(delayMs) {
      state.delayMs = delayMs
    },
    get losses() {
      return state.losses
    },
    set losses(losses) {
      state.losses = losses
    },
    get connections() {
      return state.connections
    },
    cut,
    async close() {
      server.close()
      for (const socket of open) socket.destroy()
      await once(server, 'close')
    },
  }
}

function pair(client: Socket, behind: Socket, open: Set<Socket>): void {
  for (const socket of [client, behind]) {
    open.add(socket)
    socket.on('error', () => undefined)
  }
  client.on('close', () => {
    open.delete(client)
    behind.destroy()
  })
  behind.on('close', () => {
    open.delete(behind)
    client.destroy()
  })
}
