/** A server of the site's files on loopback, to read them and for tests. */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
}

export async function serveSite(folder: string, port = 0) {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://site')
    const name = pathname.endsWith('/') ? `${pathname}index.html` : pathname
    const content = await readFile(join(folder, decodeURI(name))).catch(() => undefined)
    const headers = { 'content-type': TYPES[extname(name)] ?? 'application/octet-stream' }
    if (content === undefined) response.writeHead(404).end('There is no such page.\n')
    else response.writeHead(200, headers).end(content)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const { port: taken } = server.address() as AddressInfo
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${taken}/`, close }
}
