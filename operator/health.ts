/** `/healthz`, `/readyz` and `/metrics` of the operator, on a separate port. */
import { createServer, type Server } from 'node:http'
import type { Registry } from 'prom-client'

export interface HealthOptions {
  readonly isAlive: () => boolean
  /** Why it is not ready; absent while it is. */
  readonly unready: () => string | undefined
  readonly registry: Registry
}

/** Resolves when it listens. */
export async function serveHealth(
  { isAlive, unready, registry }: HealthOptions,
  listen: { readonly port: number; readonly host: string },
): Promise<Server> {
  const server = createServer(async (request, response) => {
    const path = request.url?.split('?')[0]
    const answer = (fault: string | undefined) => {
      response.writeHead(fault === undefined ? 200 : 503, { 'content-type': 'text/plain' })
      response.end(`${fault ?? 'ok'}\n`)
    }
    if (path === '/healthz') return answer(isAlive() ? undefined : 'not yet')
    if (path === '/readyz') return answer(unready())
    if (path !== '/metrics') return response.writeHead(404).end()
    response.writeHead(200, { 'content-type': registry.contentType })
    return response.end(await registry.metrics())
  })
  server.headersTimeout = 10_000
  server.requestTimeout = 10_000
  server.maxConnections = 256
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(listen.port, listen.host, resolve)
  })
  return server
}
