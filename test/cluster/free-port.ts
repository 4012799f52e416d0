/** Ports for programs that cannot choose one themselves. */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

const given = new Set<number>()

/** Below the range of outgoing connections, so that none of them takes the port in between; never the same one twice. */
export async function freePort(): Promise<number> {
  const port = randomInt(12_000, 32_000)
  if (given.has(port)) return freePort()
  const server = createServer().listen(port, '127.0.0.1')
  const isFree = await once(server, 'listening').catch(() => false)
  if (!isFree) return freePort()
  given.add(port)
  await new Promise((resolve) => server.close(resolve))
  return port
}
