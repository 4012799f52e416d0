/** An API server that produces rare behaviour on demand, over real sockets. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ApiClient, type ApiOptions } from '../../operator/kube/api.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'

export type Answer = (request: IncomingMessage, response: ServerResponse) => void

export interface ScriptedApi {
  readonly origin: string
  /** The delay of every page of a list, in milliseconds. */
  readonly lists: number[]
  readonly watches: { readonly at: number; readonly version: string }[]
  /** The objects in lists, and the lists' version. */
  objects: KubeObject[]
  version: string
  /** Answers the next watches, one each; later watches stay open and silent. */
  readonly script: Answer[]
  /** Answers all requests while it is set. */
  outage: Answer | undefined
  client(options?: Partial<ApiOptions>): ApiClient
  /** Sends to every open watch. */
  send(type: string, object: object): void
  stop(): Promise<void>
}

export async function startScriptedApi(): Promise<ScriptedApi> {
  const open = new Set<ServerResponse>()
  const clients: ApiClient[] = []
  const server: Server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://api')
    if (api.outage !== undefined) return api.outage(request, response)
    if (url.searchParams.get('watch') === 'true') {
      const version = url.searchParams.get('resourceVersion') ?? ''
      api.watches.push({ at: performance.now(), version })
      const next = api.script.shift()
      if (next !== undefined) return next(request, response)
      const seconds = Number(url.searchParams.get('timeoutSeconds'))
      stayOpen(response, open, seconds)
      return undefined
    }
    api.lists.push(performance.now())
    const from = Number(url.searchParams.get('continue') ?? 0)
    const to = from + Number(url.searchParams.get('limit') ?? api.objects.length)
    const next = to < api.objects.length ? { continue: String(to) } : {}
    const metadata = { resourceVersion: api.version, ...next }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ kind: 'List', metadata, items: api.objects.slice(from, to) }))
    return undefined
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A server that listens on an address and port has both.
  const { port } = server.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  const api: ScriptedApi = {
    origin,
    lists: [],
    watches: [],
    objects: [],
    version: '100',
    script: [],
    outage: undefined,
    client(options = {}) {
      const cluster = { server: origin, namespace: 'test', credentials: async () => ({ tls: {} }) }
      const client = new ApiClient({ cluster, deadlineMs: 60_000, ...options })
      clients.push(client)
      return client
    },
    send(type, object) {
      for (const response of open) response.write(lineOf(type, object))
    },
    async stop() {
      await Promise.all(clients.map((client) => client.close()))
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return api
}

function stayOpen(response: ServerResponse, open: Set<ServerResponse>, seconds: number): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.flushHeaders()
  open.add(response)
  const timer = setTimeout(() => response.end(), seconds * 1000)
  response.on('close', () => {
    clearTimeout(timer)
    open.delete(response)
  })
}

export function lineOf(type: string, object: object): string {
  return `${JSON.stringify({ type, object })}\n`
}

/** A watch that sends these lines and then stays silent, or ends. */
export function says(lines: string, isEnd = false): Answer {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.flushHeaders()
    if (lines !== '') response.write(lines)
    if (isEnd) response.end()
  }
}

export function refuses(status: number, reason: string, headers = {}): Answer {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify({ kind: 'Status', code: status, reason, message: reason }))
  }
}

export function anObject(name: string, resourceVersion: string, fields = {}): KubeObject {
  const metadata = { name, namespace: 'ns', uid: `uid-${name}`, resourceVersion }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, ...fields }
}
