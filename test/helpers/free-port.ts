/** Ports for programs that cannot choose one themselves. */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

/** Below the range of outgoing connections, so that none of them takes the port in between. */
const PORTS = { first: 12_000, blocks: 200, inBlock: 100 }
let block: Promise<number> | undefined
let given = 0

/** A port without a listener, which no other test gets before it has one. */
export async function freePort(): Promise<number> {
  block ??= takeBlock()
  const first = await block
  given = 1 + (given % (PORTS.inBlock - 1))
  const port = first + given
  const server = await listening(port)
  if (server === undefined) return freePort()
  server.close()
  await once(server, 'close')
  return port
}

/** Ports for only this process. It listens on the first of them while it lives, which reserves the range. */
async function takeBlock(): Promise<number> {
  const first = PORTS.first + PORTS.inBlock * randomInt(PORTS.blocks)
  const server = await listening(first)
  if (server === undefined) return takeBlock()
  server.unref()
  return first
}

async function listening(port: number): Promise<Server | undefined> {
  const server = createServer().listen(port, '127.0.0.1')
  return await once(server, 'listening').then(
    () => server,
    () => undefined,
  )
}
