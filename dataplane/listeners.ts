/** The three listeners of the process: clients, metrics, admin. */
import type { Activation } from './activation.ts'
import type { Gateway } from './gateway.ts'
import { createAdminServer, createMetricsServer, createServer } from './server.ts'

/** Finished answers get this long to be read before their connections are closed. */
const CLOSE_MS = 1000

export interface Addresses {
  readonly listen_address: string
  readonly listen_port: number
  readonly metrics_port: number
  readonly admin_port: number
}

export interface Listeners {
  listen(addresses: Addresses): Promise<void>
  /** Clients' connections stay; no new ones are taken. */
  stopAccepting(): void
  close(): Promise<void>
}

export interface ListenerOptions {
  renderMetrics(): Promise<string>
  /** Clients' connections of this age are closed behind an answer, so that new replicas get traffic; 0: never. */
  readonly connectionAgeMs: number
}

export function createListeners(
  gateway: Gateway,
  activation: Activation,
  { renderMetrics, connectionAgeMs }: ListenerOptions,
): Listeners {
  const clients = createServer(gateway, connectionAgeMs)
  const metrics = createMetricsServer(renderMetrics)
  const administration = createAdminServer({ gateway, activation })
  return {
    async listen({ listen_address: host, listen_port, metrics_port, admin_port }) {
      await administration.listen({ host: '127.0.0.1', port: admin_port })
      await metrics.listen({ host, port: metrics_port })
      await clients.listen({ host, port: listen_port })
    },
    stopAccepting() {
      clients.server.close()
      clients.server.closeIdleConnections()
    },
    async close() {
      const forced = setTimeout(() => clients.server.closeAllConnections(), CLOSE_MS)
      clients.server.closeIdleConnections()
      metrics.server.closeAllConnections()
      administration.server.closeAllConnections()
      await Promise.allSettled([clients.close(), metrics.close(), administration.close()])
      clearTimeout(forced)
    },
  }
}
