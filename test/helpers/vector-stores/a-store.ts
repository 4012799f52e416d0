/** One vector store of a configuration, opened next to a gateway; and a server with the test's answers. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { GatewaySection } from '../../../dataplane/schema/index.ts'
import type { VectorStore } from '../../../dataplane/vector-stores/contract.ts'
import { VECTOR_STORES } from '../../../dataplane/vector-stores/index.ts'

export function openStore(store: object, more: object = {}): VectorStore {
  const whole = GatewaySection.parse({
    upstreams: [{ name: 'up', provider: 'openai', model: 'm' }],
    routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
    vector_stores: [{ name: 'docs', collection: 'my docs', tenant_field: 'tenant', ...store }],
    ...more,
  })
  const [section] = whole.vector_stores
  if (section === undefined) throw new Error('There is no store.')
  return VECTOR_STORES[section.provider](section, whole)
}

/** The nearest passages of the tenant acme. */
export async function search(store: VectorStore, signal = new AbortController().signal) {
  return await store.search({ vector: Float32Array.of(1, 0.5), limit: 3, tenant: 'acme' }, signal)
}

export interface AskedServer {
  readonly url: string
  readonly asked: {
    readonly line: string
    readonly headers: IncomingMessage['headers']
    readonly body: string
  }[]
  /** The number of connections. */
  readonly connections: () => number
  answer: (outgoing: ServerResponse, line: string) => void
  close(): Promise<void>
}

export async function startAsked(): Promise<AskedServer> {
  let connections = 0
  const server = createServer(async (incoming, outgoing) => {
    const body = Buffer.concat(await Array.fromAsync<Buffer>(incoming)).toString()
    const line = `${incoming.method} ${incoming.url}`
    self.asked.push({ line, headers: incoming.headers, body })
    outgoing.on('error', () => {})
    self.answer(outgoing, line)
  })
  server.on('connection', () => connections++)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const self: AskedServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: [],
    connections: () => connections,
    answer: (outgoing) => void outgoing.end(),
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
  return self
}

export function json(body: object, status = 200): AskedServer['answer'] {
  return (outgoing) => {
    outgoing.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
}
