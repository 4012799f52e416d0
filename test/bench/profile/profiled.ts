/** A gateway under the profiler of Node, with its upstream and a Redis, while it is used. */
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { freePort } from '../../helpers/free-port.ts'
import { type StartedGateway, startGateway, VARIANTS } from '../gateway.ts'
import { startRedis } from '../redis.ts'
import { startUpstream } from '../rig.ts'
import { compilePrograms } from '../tools.ts'
import type { Profile } from './read.ts'

/** Microseconds between two samples: finer than a call takes, and coarse enough that sampling costs little. */
export const INTERVAL_US = 200
export const ROOT = resolve(import.meta.dirname, '../../..')

const CONNECTIONS = 64

export interface Profiled {
  readonly pid: number
  readonly metricsPort: number
  readonly configFile: string
  /** Goes with the gateway. */
  readonly directory: string
  readonly load: {
    readonly program: string
    readonly port: number
    readonly connections: number
  }
}

/** A column of the benchmark by its name; ends the process if there is no such column. */
export function columnNamed(variant: string): (typeof VARIANTS)[string] {
  const settings = VARIANTS[variant]
  if (settings !== undefined) return settings
  console.error(`There is no column "${variant}"; there are: ${Object.keys(VARIANTS).join('; ')}.`)
  process.exit(64)
}

/** Returns the result of `use`, and the profile since the start of the gateway. */
export async function profiled<T>(
  settings: (typeof VARIANTS)[string],
  use: (gateway: Profiled) => Promise<T>,
): Promise<T & { readonly profile: Profile }> {
  const folder = mkdtempSync(join(tmpdir(), 'gw-profiles-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const flags = ['--cpu-prof', `--cpu-prof-dir=${folder}`, `--cpu-prof-interval=${INTERVAL_US}`]
  return await withGateway(settings, flags, async (gateway, child) => {
    const used = await use(gateway)
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
    const [file = ''] = readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'))
    return { ...used, profile: JSON.parse(readFileSync(join(folder, file), 'utf8')) }
  })
}

/** A gateway with these flags of Node, while it is used. */
export async function withGateway<T>(
  settings: (typeof VARIANTS)[string],
  flags: readonly string[],
  use: (gateway: Profiled, child: StartedGateway['child']) => Promise<T>,
): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'gw-profile-'))
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  const programs = compilePrograms(join(import.meta.dirname, '..'))
  const [port, upstreamPort, metricsPort] = [await freePort(), await freePort(), await freePort()]
  const behind = { eventsPerStream: 10, eventIntervalMs: 0, idleStreams: false, directory }
  const upstream = await startUpstream(
    { ...behind, upstreamProgram: programs.upstream },
    upstreamPort,
  )
  const redis = await startRedis(directory)
  const gateway = await startGateway({
    ...{ name: 'profile', main: join(ROOT, 'dataplane/main.ts'), root: ROOT },
    directory: join(directory, 'gateway'),
    // With its own flag, it need not restart itself, which a signal of the profiler would end.
    flags: ['--max-semi-space-size=4', ...flags],
    ...{ upstreamPort, port, metricsPort, adminPort: await freePort() },
    settings: settings(redis),
  })
  try {
    const parts = {
      ...{ pid: gateway.pid, metricsPort, directory },
      configFile: join(directory, 'gateway/gateway.yaml'),
      load: { program: programs.load, port, connections: CONNECTIONS },
    }
    return await use(parts, gateway.child)
  } finally {
    await Promise.all([gateway.stop(), upstream.stop(), redis.stop()])
  }
}
