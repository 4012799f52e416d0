/** The listeners of the process: clients, metrics, and the admin API. */
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { type AdminListeners, createAdminListeners } from '../admin/listeners.ts'
import type { Listening } from '../admin/routes.ts'
import { LiveSocketError, SocketError } from '../admin/socket.ts'
import type { Gateway } from '../gateway.ts'
import { createMetricsServer, createServer } from '../listener/server.ts'
import type { Activation } from './activation.ts'
import { type Fault, ListenError } from './listen-error.ts'

/** Finished answers get this long to be read before their connections are closed. */
const CLOSE_MS = 1000
const LOOPBACK = '127.0.0.1'

export interface Addresses {
  readonly listen_address: string
  readonly listen_port: number
  readonly metrics_port: number
  /** A port of loopback; absent: the admin API is on its socket alone. */
  readonly admin_port?: number | undefined
  /** Where the admin socket and its token are made; absent on systems that number no users. */
  readonly admin_folder?: string | undefined
}

export interface Listeners {
  /** Throws a ListenError with everything that cannot be listened on. `warn` hears why there is no socket or token. */
  listen(addresses: Addresses, warn: (message: string) => void): Promise<Listening>
  /** Clients' connections stay; no new ones are taken. */
  stopAccepting(): void
  close(): Promise<void>
}

export interface ListenerOptions {
  renderMetrics(): Promise<string>
  /** Clients' connections of this age are closed behind an answer, so that new replicas get traffic; 0: never. */
  readonly connectionAgeMs: number
  /** A pod has no admin socket. */
  readonly isPod: boolean
}

export function createListeners(
  gateway: Gateway,
  activation: Activation,
  { renderMetrics, connectionAgeMs, isPod }: ListenerOptions,
): Listeners {
  let listening: Listening | undefined
  const clients = createServer(gateway, connectionAgeMs)
  const metrics = createMetricsServer(renderMetrics)
  const administered = { gateway, activation, listening: () => listening }
  const admin = createAdminListeners(administered, isPod)
  return {
    async listen(addresses, warn) {
      const { listen_address: host, listen_port, metrics_port, admin_port } = addresses
      const ports = [
        ...(admin_port === undefined
          ? []
          : [placed('admin_port', admin.onLoopback(), { host: LOOPBACK, port: admin_port })]),
        placed('metrics_port', metrics, { host, port: metrics_port }),
        // Last, so that no client calls a gateway that is not going to run.
        placed('listen_port', clients, { host, port: listen_port }),
      ]
      await bindAll(ports)
      const socket = isPod ? undefined : await openSocket(admin, addresses, portOf(clients), warn)
      listening = {
        clients: urlOf(clients),
        metrics: urlOf(metrics),
        admin: [
          ...(socket === undefined ? [] : [`unix:${socket}`]),
          ...ports.filter(({ field }) => field === 'admin_port').map(({ server }) => urlOf(server)),
        ],
      }
      return listening
    },
    stopAccepting() {
      clients.server.close()
      clients.server.closeIdleConnections()
    },
    async close() {
      const forced = setTimeout(() => clients.server.closeAllConnections(), CLOSE_MS)
      clients.server.closeIdleConnections()
      metrics.server.closeAllConnections()
      await Promise.allSettled([clients.close(), metrics.close(), admin.close()])
      clearTimeout(forced)
    },
  }
}

interface Placed {
  readonly field: Fault['field']
  readonly server: FastifyInstance
  readonly at: { readonly host: string; readonly port: number }
}

function placed(field: Fault['field'], server: FastifyInstance, at: Placed['at']): Placed {
  return { field, server, at }
}

/** Tries every port before it says which are taken, so that one look is enough to free them all. */
async function bindAll(ports: readonly Placed[]): Promise<void> {
  const faults: Fault[] = []
  for (const { field, server, at } of ports) {
    try {
      await server.listen(at)
    } catch (error) {
      faults.push({ field, error: error as NodeJS.ErrnoException })
    }
  }
  if (faults.length > 0) throw new ListenError(faults)
}

/** Without a socket clients are served all the same; one that another gateway answers on is a mistake of the start. */
async function openSocket(
  admin: AdminListeners,
  { admin_folder, admin_port }: Addresses,
  listenPort: number,
  warn: (message: string) => void,
): Promise<string | undefined> {
  try {
    return await admin.onSocket(admin_folder, listenPort)
  } catch (error) {
    if (error instanceof LiveSocketError) throw new ListenError([{ field: 'socket', error }])
    if (!(error instanceof SocketError)) throw error
    const lost =
      admin_port === undefined
        ? 'The admin API is not offered'
        : 'The admin API answers nothing but /status, because its token can be written nowhere'
    const advice = 'Set XDG_RUNTIME_DIR to a folder to which only this user may write.'
    warn(`${lost}: ${error.message}. ${advice}`)
    return undefined
  }
}

// A server that listens on a port has an address of this kind.
function addressOf({ server }: FastifyInstance): AddressInfo {
  return server.address() as AddressInfo
}

function portOf(server: FastifyInstance): number {
  return addressOf(server).port
}

function urlOf(server: FastifyInstance): string {
  const { address, family, port } = addressOf(server)
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
