/**
 * A registry of OCI artifacts in memory: the part of the distribution protocol that `helm push` and `helm pull` use.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Manifest {
  readonly type: string
  readonly bytes: Buffer
}

export interface OciRegistry {
  /** `host:port`. */
  readonly host: string
  /** By name and tag, such as `charts/gw:1.0.0`. */
  manifest(reference: string): Manifest | undefined
  close(): Promise<void>
}

export async function startOciRegistry(): Promise<OciRegistry> {
  const blobs = new Map<string, Buffer>()
  const manifests = new Map<string, Manifest>()
  const server = createServer((incoming, outgoing) => void serve(incoming, outgoing))

  async function serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://registry')
    const bytes = Buffer.concat(await Array.fromAsync<Buffer>(incoming))
    const [, name = '', kind, rest = ''] =
      /^\/v2\/(.+?)\/(blobs|manifests)\/(.+)$/.exec(pathname) ?? []
    const isRead = incoming.method === 'GET' || incoming.method === 'HEAD'
    if (kind === undefined) outgoing.writeHead(200).end()
    else if (kind === 'blobs' && incoming.method === 'POST')
      outgoing.writeHead(202, { location: `/v2/${name}/blobs/uploads/1` }).end()
    else if (kind === 'blobs' && incoming.method === 'PUT') {
      blobs.set(searchParams.get('digest') ?? '', bytes)
      outgoing.writeHead(201).end()
    } else if (kind === 'manifests' && incoming.method === 'PUT') {
      const manifest = { type: incoming.headers['content-type'] ?? '', bytes }
      for (const key of [rest, digestOf(bytes)]) manifests.set(`${name}:${key}`, manifest)
      outgoing.writeHead(201, { 'docker-content-digest': digestOf(bytes) }).end()
    } else if (isRead && kind === 'blobs') answer(outgoing, blobs.get(rest))
    else answer(outgoing, manifests.get(`${name}:${rest}`)?.bytes, manifests.get(`${name}:${rest}`))
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    manifest: (reference) => manifests.get(reference),
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

function answer(outgoing: ServerResponse, bytes: Buffer | undefined, manifest?: Manifest): void {
  if (bytes === undefined) {
    outgoing.writeHead(404).end()
    return
  }
  const headers = {
    'content-type': manifest?.type ?? 'application/octet-stream',
    'content-length': bytes.length,
    'docker-content-digest': digestOf(bytes),
  }
  // Node omits the body of an answer to HEAD.
  outgoing.writeHead(200, headers).end(bytes)
}

function digestOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}
