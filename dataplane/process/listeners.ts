/** The listeners of the process: clients, metrics, and the admin API. */

import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Listening, Others } from '../admin/routes.ts'
import { LiveSocketError, SocketError } from '../admin/socket.ts'
import type { Activation } from '../gateway/activation.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { ClientServer } from '../listener/clients.ts'
import { createMetricsServer } from '../listener/server.ts'
import type { Expositions } from '../telemetry/otlp/exposition.ts'
import { type AdminListeners, createAdminListeners } from './admin-listeners.ts'
import { type Fault, ListenError } from './listen-error.ts'

/** Finished answers get this long to be read before their connections are closed. */
const CLOSE_MS = 1000
const LOOPBACK = '127.0.0.1'

export interface Addresses {
  readonly listen_address: string
  readonly listen_port: number
  readonly metrics_port: number
  /** A port of loopback; absent: the admin API is only on its socket. */
  readonly admin_port?: number | undefined
  /** The folder of the admin socket and its token; absent on systems without user numbers. */
  readonly admin_folder?: string | undefined
}

export interface Listeners {
  /**
   * Throws a ListenError with every address on which it cannot listen. `warn` gets the reason for a missing socket or
   * token.
   */
  listen(addresses: Addresses, warn: (message: string) => void): Promise<Listening>
  /** Clients' connections stay open; new ones are refused. */
  stopAccepting(): void
  close(): Promise<void>
}

export interface ListenerOptions {
  readonly renderMetrics: Expositions['render']
  /** Clients' connections of this age are closed after an answer, so that new replicas get traffic; 0: never. */
  readonly connectionAgeMs: number
  /** A pod has no admin socket. */
  readonly isPod: boolean
  readonly others: Others | undefined
  /** Several processes listen on the port of clients. */
  readonly sharesPort: boolean
  /** It has no listeners of operators: the first process asks it. */
  readonly isWorker: boolean
}

export function createListeners(
  gateway: Gateway,
  activation: Activation,
  options: ListenerOptions,
): Listeners {
  const { renderMetrics, connectionAgeMs, isPod, others, sharesPort, isWorker } = options
  let listening: Listening | undefined
  const clients = new ClientServer(gateway, connectionAgeMs)
  let closed: Promise<void> | undefined
  const metrics = createMetricsServer(renderMetrics)
  const administered = { gateway, activation, listening: () => listening, others }
  const admin = createAdminListeners(administered, isPod)
  return {
    async listen(addresses, warn) {
      const { listen_address: host, listen_port, metrics_port, admin_port } = addresses
      const ofOperators = [
        ...(admin_port === undefined
          ? []
          : [placed('admin_port', admin.onLoopback(), { host: LOOPBACK, port: admin_port })]),
        placed('metrics_port', metrics, { host, port: metrics_port }),
      ]
      const ports = [
        ...(isWorker ? [] : ofOperators),
        // Last, so that no client calls a gateway that does not start.
        {
          field: 'listen_port' as const,
          server: clients,
          async listen() {
            const at = { host, port: listen_port }
            // Else two gateways could share the port by mistake.
            if (sharesPort && !isWorker) await takeAlone(at)
            await listenOn(clients, { ...at, reusePort: sharesPort })
          },
        },
      ]
      await bindAll(ports)
      const socket =
        isPod || isWorker ? undefined : await openSocket(admin, addresses, portOf(clients), warn)
      listening = {
        clients: urlOf(clients, clients.isSecure),
        metrics: isWorker ? '' : urlOf(metrics.server),
        admin: [
          ...(socket === undefined ? [] : [`unix:${socket}`]),
          ...ports.filter(({ field }) => field === 'admin_port').map(({ server }) => urlOf(server)),
        ],
      }
      return listening
    },
    stopAccepting,
    async close() {
      const forced = setTimeout(() => clients.closeAllConnections(), CLOSE_MS)
      metrics.server.closeAllConnections()
      await Promise.allSettled([stopAccepting(), metrics.close(), admin.close()])
      clearTimeout(forced)
    },
  }
  /** Resolves once every connection has ended. */
  function stopAccepting(): Promise<void> {
    clients.closeIdleConnections()
    closed ??= new Promise((resolve) => clients.close(() => resolve()))
    return closed
  }
}

interface Placed {
  readonly field: Fault['field']
  readonly server: Server
  listen(): Promise<unknown>
}

interface ListenAddress {
  readonly host: string
  readonly port: number
}

function placed(field: Fault['field'], app: FastifyInstance, at: ListenAddress): Placed {
  return { field, server: app.server, listen: () => app.listen(at) }
}

/** Rejects if another program listens there. */
async function takeAlone(at: ListenAddress): Promise<void> {
  const server = createServer()
  await listenOn(server, at)
  server.close()
  await once(server, 'close')
}

async function listenOn(
  server: Server,
  at: ListenAddress & { readonly reusePort?: boolean },
): Promise<void> {
  server.listen(at)
  await once(server, 'listening')
}

/** Tries every port before it reports the taken ones, so that you can free them all at once. */
async function bindAll(ports: readonly Placed[]): Promise<void> {
  const faults: Fault[] = []
  for (const { field, listen } of ports) {
    try {
      await listen()
    } catch (error) {
      faults.push({ field, error: error as NodeJS.ErrnoException })
    }
  }
  if (faults.length > 0) throw new ListenError(faults)
}

/** Clients are served even without a socket; a socket on which another gateway answers is a mistake of the start. */
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
        : 'The admin API answers only /status, because no file can hold its token'
    const advice = 'Set XDG_RUNTIME_DIR to a folder that only this user may write to.'
    warn(`${lost}: ${error.message}. ${advice}`)
    return undefined
  }
}

// A server that listens on a port has an address of this type.
function addressOf(server: Server): AddressInfo {
  return server.address() as AddressInfo
}

function portOf(server: Server): number {
  return addressOf(server).port
}

function urlOf(server: Server, isSecure = false): string {
  const { address, family, port } = addressOf(server)
  return `${isSecure ? 'https' : 'http'}://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
