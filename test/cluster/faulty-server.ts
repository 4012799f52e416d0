/** A proxy between the operator and a real API server that adds faults on demand. */
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Agent, request as ask } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { ControlPlane } from './control-plane.ts'

/**
 * silent: watches stay open and send nothing, not even their end. expired: every watch learns that its version is too
 * old, in an answer or an event. broken: the server truncates answers, refuses with 429 or 500, or loses replies after
 * it carried out the request.
 */
export type Fault = 'silent' | 'expired' | 'broken'

export interface FaultyServer {
  /** An administrator's kubeconfig that uses this proxy. */
  readonly kubeconfig: string
  fault: Fault | undefined
  /** The times of the lists of each kind, in milliseconds; further pages belong to the same list. */
  readonly lists: ReadonlyMap<string, readonly number[]>
  /** Watches of this kind receive no events until the caller calls the returned function. */
  hold(plural: string): () => void
  /** Requests that got a fault. */
  faults(): number
  stop(): Promise<void>
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly isWatch: boolean
  readonly isWrite: boolean
}

export async function startFaultyServer(cluster: ControlPlane): Promise<FaultyServer> {
  const file = (name: string) => readFile(join(cluster.folder, name))
  const [ca, cert, key] = await Promise.all([file('ca.crt'), file('admin.crt'), file('admin.key')])
  const agent = new Agent({ ca, cert, key, keepAlive: true })
  const lists = new Map<string, number[]>()
  const watches = new Set<Exchange>()
  const silenced = new WeakSet<ServerResponse>()
  let fault: Fault | undefined
  let held: { readonly plural: string; readonly said: (() => void)[] } | undefined
  let count = 0
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', cluster.url)
    const isWatch = url.searchParams.get('watch') === 'true'
    const isWrite = request.method !== 'GET'
    const exchange = { request, response, isWatch, isWrite }
    const isList = url.searchParams.has('limit') && !url.searchParams.has('continue')
    if (isList) lists.set(url.pathname, [...(lists.get(url.pathname) ?? []), performance.now()])
    if (fault !== undefined && spoil(exchange)) return
    if (isWatch) watches.add(exchange)
    response.on('close', () => watches.delete(exchange))
    forward(exchange, url)
  })

  /** Answers with the current fault; false if the request passes. */
  function spoil({ request, response, isWatch, isWrite }: Exchange): boolean {
    // Uses each fault in turn, so every run includes all of them.
    const turn = count++ % 8
    if (fault === 'silent' && isWatch) {
      response.writeHead(200, JSON_TYPE).flushHeaders()
      return true
    }
    if (fault === 'expired' && isWatch) {
      if (turn % 2 === 0) refuse(response, 410, 'Expired')
      else response.writeHead(200, JSON_TYPE).end(EXPIRED)
      return true
    }
    if (fault !== 'broken' || turn > 2) return false
    if (turn === 0) refuse(response, 429, 'TooManyRequests')
    else if (turn === 1) refuse(response, 500, 'InternalError')
    else if (isWrite) return false
    else if (isWatch) response.writeHead(200, JSON_TYPE).end('{"type":"ADDED","object":{"kin')
    else request.socket.destroy()
    return true
  }

  function forward({ request, response, isWatch, isWrite }: Exchange, url: URL): void {
    const { method, headers } = request
    const say = (piece: () => void) => {
      if (isWatch && held !== undefined && url.pathname.endsWith(`/${held.plural}`)) {
        held.said.push(piece)
      } else piece()
    }
    const onward = ask(url, { agent, method, headers: { ...headers, host: url.host } })
    onward.on('response', (answer) => {
      // The server carried out the request, and the client gets no reply.
      if (fault === 'broken' && isWrite && count % 4 === 0) return void request.socket.destroy()
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      if (isWatch) response.flushHeaders()
      answer.on('data', (chunk) => silenced.has(response) || say(() => response.write(chunk)))
      answer.on('end', () => silenced.has(response) || say(() => response.end()))
      answer.on('error', () => response.destroy())
    })
    onward.on('error', () => response.destroy())
    response.on('close', () => onward.destroy())
    request.pipe(onward)
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A server that listens on a port has an address of this type.
  const { port } = server.address() as AddressInfo
  return {
    kubeconfig: await writeKubeconfig(cluster.folder, port),
    get fault() {
      return fault
    },
    set fault(next) {
      fault = next
      for (const { response } of watches) {
        if (next === 'silent') silenced.add(response)
        if (next === 'expired') response.end(EXPIRED)
        if (next === 'broken') response.destroy()
      }
    },
    hold(plural) {
      const said: (() => void)[] = []
      held = { plural, said }
      return () => {
        held = undefined
        for (const piece of said) piece()
      }
    },
    lists,
    faults: () => count,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      agent.destroy()
    },
  }
}

const JSON_TYPE = { 'content-type': 'application/json' }

const EXPIRED = `${JSON.stringify({
  type: 'ERROR',
  object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' },
})}\n`

function refuse(response: ServerResponse, code: number, reason: string): void {
  response.writeHead(code, { ...JSON_TYPE, ...(code === 429 && { 'retry-after': '1' }) })
  response.end(JSON.stringify({ kind: 'Status', code, reason, message: reason }))
}

async function writeKubeconfig(folder: string, port: number): Promise<string> {
  const path = join(folder, `faulty-${port}.kubeconfig`)
  const content = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'faulty', cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: 'ghost', user: {} }],
    contexts: [{ name: 'faulty', context: { cluster: 'faulty', user: 'ghost' } }],
    'current-context': 'faulty',
  }
  await writeFile(path, JSON.stringify(content), { mode: 0o600 })
  return path
}
