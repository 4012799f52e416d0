/** The processes of a measurement: the upstream, nginx, the gateways in front of it, and the store of one. */
import { join } from 'node:path'
import { freePort } from '../helpers/free-port.ts'
import { startGateway, VARIANTS } from './gateway.ts'
import { startNginx } from './nginx.ts'
import { LOAD_CORE, type Process, startProcess, untilReady } from './processes.ts'
import { type BenchRedis, startRedis } from './redis.ts'

export interface RigOptions {
  /** The repository, whose Node runs the gateway. */
  readonly root: string
  /** The gateway's entry file, or undefined to measure nginx alone. */
  readonly gatewayMain: string | undefined
  readonly upstreamProgram: string
  /** A separate folder for configurations and logs; must exist. */
  readonly directory: string
  readonly eventsPerStream: number
  readonly eventIntervalMs: number
  /** Streams go silent after the first event and stay open. */
  readonly idleStreams: boolean
  readonly connectionsMax: number
  /** The gateway's columns, by name; all of them if none is given. */
  readonly columns?: readonly string[]
}

/** One column of the table. */
export interface Target {
  readonly name: string
  readonly port: number
  readonly streamPort: number
  /** The process whose time and memory count; the upstream alone has none to measure. */
  readonly pid: number | undefined
  readonly startMs?: number
  /** The store, whose time counts separately. */
  readonly store?: BenchRedis | undefined
}

export interface Rig {
  readonly targets: readonly Target[]
  stop(): Promise<void>
}

export async function startRig(options: RigOptions): Promise<Rig> {
  const processes: Process[] = []
  const stop = async () => {
    for (const started of processes.reverse()) await started.stop()
  }
  try {
    return { targets: await startTargets(options, processes), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Every started process is pushed to `processes` at once, so that it is stopped in any case. */
async function startTargets(options: RigOptions, processes: Process[]): Promise<Target[]> {
  const upstreamPort = await freePort()
  processes.push(await startUpstream(options, upstreamPort))
  const targets: Target[] = [
    { name: 'direct', port: upstreamPort, streamPort: upstreamPort, pid: undefined },
  ]
  const [port, streamPort] = [await freePort(), await freePort()]
  const nginx = await startNginx({
    directory: join(options.directory, 'nginx'),
    port,
    streamPort,
    upstreamPort,
    connectionsMax: options.connectionsMax,
  })
  processes.push(nginx)
  targets.push({ name: 'nginx', port, streamPort, pid: nginx.workerPid })
  if (options.gatewayMain === undefined) return targets
  const redis = await startRedis(options.directory)
  processes.push(redis)
  const { columns = [] } = options
  for (const [name, settings] of Object.entries(VARIANTS)) {
    if (columns.length > 0 && !columns.includes(name)) continue
    const gatewayPort = await freePort()
    const gateway = await startGateway({
      name,
      main: options.gatewayMain,
      root: options.root,
      directory: join(options.directory, name),
      upstreamPort,
      port: gatewayPort,
      metricsPort: await freePort(),
      adminPort: await freePort(),
      settings: settings(redis),
    })
    processes.push(gateway)
    const store = name.includes('Redis') ? redis : undefined
    const { pid, startMs } = gateway
    targets.push({ name, port: gatewayPort, streamPort: gatewayPort, pid, startMs, store })
  }
  return targets
}

export async function startUpstream(
  options: Omit<RigOptions, 'root' | 'gatewayMain' | 'connectionsMax'>,
  port: number,
): Promise<Process> {
  const started = startProcess({
    name: 'upstream',
    core: LOAD_CORE,
    program: options.upstreamProgram,
    arguments: [
      String(port),
      String(options.eventsPerStream),
      String(options.eventIntervalMs),
      ...(options.idleStreams ? ['idle'] : []),
    ],
    outputFile: join(options.directory, 'upstream.log'),
  })
  await untilReady(started, `http://127.0.0.1:${port}/health`)
  return started
}
