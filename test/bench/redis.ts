/** The shared store of some columns: a Redis that keeps nothing, on the core of the load like the upstream. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { Certificates } from '../helpers/certificates.ts'
import { freePort } from '../helpers/free-port.ts'
import { LOAD_CORE, type Process, startProcess, untilAccepting } from './processes.ts'

/** Its certificate comes from its own authority. */
export interface BenchRedis extends Process {
  readonly urls: Readonly<Record<'tcp' | 'tls' | 'socket', string>>
  readonly caFile: string
  /** Microseconds that its scripts have taken so far, by its own account. */
  scriptUs(): Promise<number>
}

export async function startRedis(directory: string): Promise<BenchRedis> {
  const [port, tlsPort] = [await freePort(), await freePort()]
  const socket = join(directory, 'redis.sock')
  const certificates = new Certificates()
  process.once('exit', () => certificates.remove())
  const { certFile, keyFile } = certificates.make()
  const started = startProcess({
    name: 'redis',
    core: LOAD_CORE,
    program: 'redis-server',
    arguments: [
      ...['--port', String(port), '--bind', '127.0.0.1', '--unixsocket', socket],
      ...['--tls-port', String(tlsPort), '--tls-cert-file', certFile, '--tls-key-file', keyFile],
      ...['--tls-ca-cert-file', certFile, '--tls-auth-clients', 'no'],
      ...['--save', '', '--dir', directory],
    ],
    outputFile: join(directory, 'redis.log'),
  })
  await untilAccepting(started, port)
  const urls = {
    tcp: `redis://127.0.0.1:${port}`,
    tls: `rediss://127.0.0.1:${tlsPort}`,
    socket: `unix://${socket}`,
  }
  return { ...started, urls, caFile: certFile, scriptUs: () => scriptUs(socket) }
}

async function scriptUs(socket: string): Promise<number> {
  const client = new Redis(socket)
  try {
    const text = await client.info('commandstats')
    const times = text.matchAll(/^cmdstat_eval(?:sha)?:calls=\d+,usec=(\d+)/gm)
    return [...times].reduce((sum, [, us]) => sum + Number(us), 0)
  } finally {
    client.disconnect()
  }
}

export function describeRedis(): string {
  const version = execFileSync('redis-server', ['--version'], { encoding: 'utf8' })
  return `Redis ${/v=(\S+)/.exec(version)?.[1] ?? 'of unknown version'}`
}
