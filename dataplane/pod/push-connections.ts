/** Connections of the push port. Any client of the port may open some, and none of them may block the operator. */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'

const CONNECTIONS_MAX = 64

export interface Connections {
  /** While `work` runs, the connection is not closed for another one: its request is proven. */
  keepWhile<T>(socket: Socket, work: Promise<T>): Promise<T>
}

/**
 * A connection above the limit closes another: the oldest without a proven request, from the address with the most of
 * these.
 */
export function boundConnections(server: Server, most = CONNECTIONS_MAX): Connections {
  const open = new Set<Socket>()
  const proven = new Set<Socket>()
  server.on('connection', (socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    if (open.size > most) (leastNeeded(open, proven) ?? socket).destroy()
  })
  return {
    async keepWhile(socket, work) {
      proven.add(socket)
      try {
        return await work
      } finally {
        proven.delete(socket)
      }
    },
  }
}

function leastNeeded(open: ReadonlySet<Socket>, proven: ReadonlySet<Socket>): Socket | undefined {
  const byAddress = new Map<string, Socket[]>()
  // A set keeps the order of arrival.
  for (const socket of open) {
    if (proven.has(socket)) continue
    const address = socket.remoteAddress ?? ''
    const others = byAddress.get(address)
    if (others === undefined) byAddress.set(address, [socket])
    else others.push(socket)
  }
  let most: readonly Socket[] = []
  for (const sockets of byAddress.values()) if (sockets.length > most.length) most = sockets
  return most[0]
}
