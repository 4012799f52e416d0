/** The shared store of one column: a Redis that keeps nothing, on the core of the load like the upstream. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { LOAD_CORE, type Process, startProcess, untilAccepting } from './processes.ts'

export async function startRedis(directory: string, port: number): Promise<Process> {
  const started = startProcess({
    name: 'redis',
    core: LOAD_CORE,
    program: 'redis-server',
    arguments: ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', directory],
    outputFile: join(directory, 'redis.log'),
  })
  await untilAccepting(started, port)
  return started
}

export function describeRedis(): string {
  const version = execFileSync('redis-server', ['--version'], { encoding: 'utf8' })
  return `Redis ${/v=(\S+)/.exec(version)?.[1] ?? 'of unknown version'}`
}
