/** The admin API at the place where the tool finds it: on a Unix socket, on a port of loopback, or on both. */
import { rmSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { socketIn, tokenIn } from '../admin/place.ts'
import type { AdminAccess, Administered } from '../admin/routes.ts'
import {
  clearSocket,
  closeToOthers,
  newToken,
  prepareFolder,
  SocketError,
  sweepSockets,
  writeToken,
} from '../admin/socket.ts'
import { Feed } from '../console/feed.ts'
import { sampleOf } from '../console/sample.ts'
import { createAdminServer } from '../listener/server.ts'

export interface AdminListeners {
  /** A server for a port of loopback; its caller listens with it. */
  onLoopback(): FastifyInstance
  /** The client port names the socket, because a process has one of them. Throws SocketError and LiveSocketError. */
  onSocket(folder: string | undefined, listenPort: number): Promise<string>
  close(): Promise<void>
}

/** A pod asks for no token: it allows no changes, and the right to port-forward is the permission. */
export function createAdminListeners(administered: Administered, isPod: boolean): AdminListeners {
  const token = isPod ? undefined : newToken()
  const servers: FastifyInstance[] = []
  let hasLoopback = false
  let tokenFile: string | undefined
  const feed = new Feed({
    sample: () => sampleOf(administered),
    isEnding: () => administered.gateway.draining,
  })
  const { consoleViewers } = administered.gateway.metrics
  consoleViewers.collect = () => {
    consoleViewers.at().value = feed.viewers
  }
  const open = (door: AdminAccess) => {
    const server = createAdminServer(administered, door, feed)
    servers.push(server)
    return server
  }
  return {
    onLoopback() {
      hasLoopback = true
      return open({ isSocket: false, token, tokenFile: () => tokenFile })
    },
    async onSocket(folder, listenPort) {
      if (folder === undefined) throw new SocketError('this system numbers no users')
      const path = socketIn(folder, listenPort)
      prepareFolder(folder)
      await clearSocket(path)
      try {
        await open({ isSocket: true }).listen({ path })
        closeToOthers(path)
      } catch (error) {
        throw new SocketError((error as Error).message, { cause: error })
      }
      if (token !== undefined && hasLoopback) {
        tokenFile = tokenIn(folder, listenPort)
        writeToken(tokenFile, token)
      }
      // The gateway already serves clients, and other sockets may take time.
      await sweepSockets(folder)
      return path
    },
    async close() {
      feed.end()
      for (const { server } of servers) server.closeAllConnections()
      await Promise.allSettled(servers.map((server) => server.close()))
      if (tokenFile !== undefined) rmSync(tokenFile, { force: true })
    },
  }
}
