/** Configuration to listeners, and back down on SIGTERM: the only composition root. */
import { randomBytes } from 'node:crypto'
import { Activation } from './activation.ts'
import { Deadlines, systemClock } from './clock.ts'
import type { Loaded } from './config/load.ts'
import { renderProblem } from './config/problems.ts'
import { compile, type Snapshot } from './config/snapshot.ts'
import { readConfiguration, readText, watchFiles } from './config/source.ts'
import { tlsFilesOf } from './config/tls-files.ts'
import { drain, drainSeconds, terminated } from './drain.ts'
import type { Gateway, Visit } from './gateway.ts'
import { createListeners } from './listeners.ts'
import { Roster } from './roster.ts'
import { createLog, standardOutput } from './telemetry/log.ts'
import { createMetrics, createRegistry } from './telemetry/metrics.ts'
import { Traces } from './telemetry/traces.ts'
import { Targets } from './upstream/targets.ts'
import { VERSION } from './version.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Runs the gateway of a file until a signal ends it. Resolves with the exit code. */
export async function run(file: string, env: Environment): Promise<number> {
  const loaded = load(file, env)
  if (loaded?.configuration === undefined) return 1
  const { gateway, targets } = createGateway(compile(loaded.configuration))
  const activation = new Activation(gateway, targets, loaded)
  const registry = createRegistry(gateway.metrics)
  const listeners = createListeners(gateway, activation, () => registry.metrics())
  const addresses = addressesOf(gateway.active.snapshot, env)
  try {
    await listeners.listen(addresses)
  } catch (error) {
    complain(whyNotListening(error as NodeJS.ErrnoException))
    await listeners.close()
    return 1
  }
  gateway.deadlines.start()
  gateway.log.event('info', 'start', `gw ${VERSION} serves ${file}.`, { ...addresses })
  const reload = () => void activation.replace(() => readConfiguration(file, env))
  const unwatch = watchFiles([file, ...filesBeside(loaded)], reload)
  process.on('SIGHUP', reload)
  await terminated()
  unwatch()
  await drain(gateway, listeners, drainSeconds(gateway, env))
  await targets.close()
  gateway.log.event('info', 'stop', 'All requests are settled.')
  gateway.log.flush()
  return 0
}

/** Files that the configuration names and that change on their own: keys and certificates. */
function filesBeside({ keysFile, configuration }: Loaded): string[] {
  const certificates = configuration === undefined ? [] : tlsFilesOf(configuration.gw)
  return keysFile === undefined ? certificates : [keysFile, ...certificates]
}

/** The checked configuration, or undefined with everything said on standard error. */
function load(file: string, env: Environment): Loaded | undefined {
  try {
    const loaded = readConfiguration(file, env)
    for (const problem of loaded.problems) process.stderr.write(`${renderProblem(problem)}\n`)
    if (loaded.configuration === undefined) complain(`${file} was refused; nothing was started`)
    return loaded
  } catch (error) {
    complain(`cannot read ${file}: ${(error as Error).message}`)
    return undefined
  }
}

function createGateway(snapshot: Snapshot): { gateway: Gateway; targets: Targets } {
  const clock = systemClock
  const metrics = createMetrics()
  const dropped = metrics.logLinesDropped.at()
  metrics.build.at(VERSION).value = 1
  metrics.reloadedAt.at().value = clock.wall() / 1000
  // Tags every id with this process, so that one knows which replica to ask for the trace.
  const tag = randomBytes(6).toString('hex')
  let requests = 0
  const log = createLog({ ...standardOutput(() => dropped.value++), wallClock: clock.wall })
  const targets = new Targets({ clock, random: Math.random, metrics, log, readText })
  const gateway = {
    active: { snapshot, lanes: targets.activate(snapshot) },
    clock,
    deadlines: new Deadlines(clock),
    random: Math.random,
    newRequestId: () => `${tag}-${(++requests).toString(36)}`,
    metrics,
    log,
    traces: new Traces(snapshot.section.telemetry.trace_ring),
    visits: new Roster<Visit>(),
    draining: false,
  }
  return { gateway, targets }
}

function addressesOf({ section }: Snapshot, env: Environment) {
  const { listen_address, listen_port, metrics_port, admin_port } = section.gateway
  return {
    listen_address,
    listen_port,
    metrics_port,
    admin_port: Number(env.GW_ADMIN_PORT ?? admin_port),
  }
}

function whyNotListening(
  error: NodeJS.ErrnoException & { address?: string; port?: number },
): string {
  const place = `${error.address ?? ''}:${error.port ?? ''}`
  if (error.code === 'EADDRINUSE')
    return `${place} is in use; stop what listens there or choose another port`
  if (error.code === 'EACCES')
    return `${place} may not be bound by this user; choose a port above 1023`
  return `cannot listen: ${error.message}`
}

function complain(message: string): void {
  process.stderr.write(`error: ${message}\n`)
}
