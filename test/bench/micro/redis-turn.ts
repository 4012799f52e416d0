/** Calls to a Redis, sixteen in a turn of the event loop: written together at its end, or each at once. */
import { Redis } from 'ioredis'
import { startRedis } from '../../helpers/redis-server.ts'
import { openOnSocket } from '../../helpers/store/socket-client.ts'
import { compare, type Work } from './runner.ts'

const TOGETHER = 16
const SCRIPT = 'return { 1, 2, 3, 4, 5, 6, 7, 8 }'
const KEYS = ['gw:v1:{t}:state', 'gw:v1:{t}:leases', 'gw:v1:{t}:graves']
const ARGUMENTS = Array.from({ length: 20 }, (_, index) => index * 1_000)

type Call = (sha: string) => Promise<unknown>

/** The options for Redis on a socket. */
function calling(open: (socket: string) => Promise<Call>): Work {
  let ready: Promise<{ call: Call; sha: string }> | undefined
  return async (times) => {
    ready ??= started(open)
    const { call, sha } = await ready
    for (let done = 0; done < times; done += TOGETHER) {
      await Promise.all(Array.from({ length: TOGETHER }, () => call(sha)))
    }
  }
}

async function started(open: (socket: string) => Promise<Call>) {
  const server = await startRedis()
  process.once('exit', () => server.signal('SIGKILL'))
  const sha = (await server.ask('SCRIPT', 'LOAD', SCRIPT)).trim().split(/\s+/).at(-1) ?? ''
  return { call: await open(server.socket), sha }
}

async function openHolding(socket: string): Promise<Call> {
  const client = await openOnSocket(socket)
  return (sha) => client.runCached(sha, KEYS, ARGUMENTS)
}

async function openPlain(socket: string): Promise<Call> {
  const client = new Redis({ path: socket, protocol: 2, lazyConnect: true })
  await client.connect()
  return (sha) => client.evalsha(sha, KEYS.length, ...KEYS, ...ARGUMENTS)
}

await compare(import.meta.url, 40_000, {
  'at the end of the turn': calling(openHolding),
  'at once': calling(openPlain),
})
process.exit()
