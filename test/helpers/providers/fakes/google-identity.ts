/** Google's token services: the metadata server of a machine or pod, and the exchange of foreign tokens. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface FakeIdentity {
  readonly host: string
  /** The requests so far: method and path. */
  readonly asked: string[]
  close(): Promise<void>
}

/** Tokens are `prefix-1`, `prefix-2`, and so on; each expires after an hour. */
export async function startFakeIdentity(prefix: string): Promise<FakeIdentity> {
  const server = createServer((incoming, outgoing) => serve(incoming, outgoing))
  const asked: string[] = []
  let given = 0
  function serve(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const path = incoming.url ?? ''
    asked.push(`${incoming.method} ${path}`)
    incoming.resume()
    outgoing.setHeader('metadata-flavor', 'Google')
    const isToken = /\/service-accounts\/default\/token|^\/v1\/token$/.test(path)
    if (!isToken) {
      outgoing.writeHead(200, { 'content-type': 'application/text' }).end('1')
      return
    }
    outgoing.writeHead(200, { 'content-type': 'application/json' })
    outgoing.end(
      JSON.stringify({
        access_token: `${prefix}-${++given}`,
        issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        token_type: 'Bearer',
        expires_in: 3600,
      }),
    )
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A server that listens on a port has an address of this type.
  const { port } = server.address() as AddressInfo
  return {
    host: `127.0.0.1:${port}`,
    asked,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
