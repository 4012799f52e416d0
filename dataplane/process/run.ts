/** Configuration to listeners, and shutdown on SIGTERM: the only composition root. */

import { flushCompileCache } from 'node:module'
import type { Listening } from '../admin/routes.ts'
import { schedule } from '../base/clock.ts'
import type { Loaded } from '../config/apart/loaded.ts'
import { renderProblem } from '../config/judgement/problems.ts'
import { compile } from '../config/snapshot.ts'
import { Activation } from '../gateway/activation.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { faultOfRuntime } from '../json/parse.ts'
import { StateError } from '../store/memory/database.ts'
import { createRegistry } from '../telemetry/metrics.ts'
import { Expositions } from '../telemetry/otlp/exposition.ts'
import { Signals } from '../telemetry/otlp/signals.ts'
import { METRICS, readAll, registryOfAll } from '../telemetry/otlp/whole-registry.ts'
import type { PushedEndpoints } from '../upstream/endpoints/pushed.ts'
import { Verifier } from '../verification/verifier.ts'
import type { Environment } from '../wire/credential-source.ts'
import type { Crew } from '../workers/crew.ts'
import { Desk } from '../workers/desk.ts'
import { addressesOf, factsOf, portIn, startSentence, workerSentence } from './addresses.ts'
import { drain, drainSeconds, nextSignal } from './drain.ts'
import { environmentFault } from './environment.ts'
import { ListenError } from './listen-error.ts'
import { createListeners } from './listeners.ts'
import { createGateway, type Made } from './making.ts'
import { reloadOnChange } from './reload.ts'
import { answerAt, crewOf, othersIn, type Team, TeamError, teamOf } from './team.ts'

export interface Read {
  readonly file: string
  /** Its content, read while the modules load. */
  readonly reading: Promise<Loaded>
}

/** Runs the gateway of a file until a signal ends it. Resolves with the exit code. */
export async function run(
  { file, reading }: Read,
  env: Environment,
  ending: Promise<void>,
): Promise<number> {
  const fault = environmentFault(env)
  if (fault !== undefined) {
    complain(fault)
    return 1
  }
  const desk = Desk.open(env)
  const loaded = await load({ file, reading }, desk !== undefined)
  if (loaded === undefined) return 1
  const follow = (gateway: Gateway, activation: Activation) =>
    reloadOnChange(file, env, activation, (message) =>
      gateway.log.event('warn', 'config_watch', message),
    )
  return await serve({ name: file, loaded, follow, ...(desk && { desk }) }, env, ending)
}

/** The source of a gateway's configuration. */
export interface Source {
  readonly name: string
  /** The configuration of the start. */
  readonly loaded: Loaded
  /** Pods are reached from other machines, and their admin API through the API server. */
  readonly isPod?: boolean
  /** The endpoints that an operator sends. */
  readonly pushedEndpoints?: PushedEndpoints
  /** In a worker. */
  readonly desk?: Desk
  /** Called with the workers, if there are some, before they start. */
  readonly lead?: (crew: Crew) => void
  /** Called once the gateway serves. Returns a function that ends what it started. */
  follow(gateway: Gateway, activation: Activation): () => void
}

/** Serves until a signal ends it. Resolves with the exit code. */
export async function serve(
  source: Source,
  env: Environment,
  ending: Promise<void>,
): Promise<number> {
  const { loaded, pushedEndpoints: pushed, desk } = source
  if (loaded.configuration === undefined) return 1
  const snapshot = compile(loaded.configuration, loaded.delivered)
  const team = await unlessUnusable(teamOf(snapshot.section, desk))
  if (team === undefined) return 1
  const made = await unlessUnusable(createGateway(snapshot, { env, pushed, team }))
  const code = made === undefined ? 1 : await serveAs(source, { ...made, env, team, ending })
  await team.close()
  return code
}

interface Serving extends Made {
  readonly env: Environment
  readonly team: Team
  readonly ending: Promise<void>
}

async function serveAs(
  { name, loaded, isPod = false, follow, lead, desk }: Source,
  { gateway, targets, opened, tap, output, env, team, ending }: Serving,
): Promise<number> {
  const ends = gateway.metrics.workerEnds.at()
  const crew = crewOf(team, { env, log: gateway.log, ends, ...output })
  const own = createRegistry(gateway.metrics)
  const registry = crew === undefined ? own : registryOfAll(own, crew)
  const expositions = new Expositions(registry)
  const startedAt = gateway.clock.wall()
  const signals = new Signals({ tap, startedAt, ...(desk === undefined && { registry }) })
  const activation = new Activation(gateway, targets, loaded, signals)
  const listeners = createListeners(gateway, activation, {
    renderMetrics: (accept) => expositions.render(accept),
    connectionAgeMs: Number(env.GW_CONNECTION_AGE_SECONDS || 0) * 1000,
    isPod,
    others: crew && othersIn(crew, activation),
    sharesPort: team.of > 1,
    isWorker: desk !== undefined,
  })
  const addresses = addressesOf(gateway.active.snapshot, env, isPod)
  const warn = (message: string) => gateway.log.event('warn', 'admin_socket', message)
  await opened.start()
  let unfollow: (() => void) | undefined
  let listening: Listening
  try {
    if (desk !== undefined) {
      answerAt(desk, { gateway, activation, listening: () => undefined }, own)
      unfollow = follow(gateway, activation)
      await desk.ready()
    }
    const listen_port = desk?.seat.port ?? addresses.listen_port
    listening = await listeners.listen({ ...addresses, listen_port }, warn)
  } catch (error) {
    if (!(error instanceof ListenError)) throw error
    complain(error.message)
    unfollow?.()
    await listeners.close()
    await opened.close()
    return 1
  }
  if (desk === undefined) verify(gateway)
  gateway.deadlines.start()
  flushCompileCache()
  if (crew !== undefined) {
    lead?.(crew)
    await crew.start({ port: portIn(listening.clients), ...team.shared })
  }
  const sentence = desk === undefined ? startSentence(name, listening) : workerSentence(desk.seat)
  gateway.log.event('info', 'start', sentence, { ...factsOf(addresses, listening) })
  desk?.serving()
  warnOfMistakes(gateway, desk !== undefined)
  unfollow ??= follow(gateway, activation)
  await ending
  unfollow()
  // A terminal and systemd signal each process, the first one also its workers: for these, a second signal means nothing.
  const hurried = desk?.hurried ?? nextSignal()
  void hurried.then(() => crew?.hurry())
  const seconds = drainSeconds(gateway, env)
  await drain(gateway, listeners, { seconds, hurried, workersEnd: crew?.end() })
  gateway.shadows.close()
  gateway.retrievals.close()
  await targets.close()
  await opened.close()
  await desk?.leave(METRICS, await readAll(own))
  gateway.log.event('info', 'stop', 'All requests are settled.')
  gateway.log.flush()
  return 0
}

function verify(gateway: Gateway): void {
  const verifier = new Verifier(gateway, { schedule })
  gateway.verifier = verifier
  gateway.deadlines.add(verifier)
}

/** One process says it for all. */
function warnOfMistakes({ log }: Gateway, isWorker: boolean): void {
  const fault = isWorker ? undefined : faultOfRuntime()
  if (fault !== undefined) log.event('warn', 'runtime', fault)
  process.on('uncaughtExceptionMonitor', ({ stack }) => {
    log.event('error', 'crash', 'A mistake of the gateway ends the process.', { stack })
    log.flush()
  })
}

/** The checked configuration, or undefined after all problems were printed on standard error. */
async function load({ file, reading }: Read, isWorker: boolean): Promise<Loaded | undefined> {
  try {
    const loaded = await reading
    // The first process has printed them.
    for (const problem of isWorker ? [] : loaded.problems)
      process.stderr.write(`${renderProblem(problem)}\n`)
    if (loaded.configuration === undefined) complain(`${file} was refused; nothing was started`)
    return loaded
  } catch (error) {
    complain(`cannot read ${file}: ${(error as Error).message}`)
    return undefined
  }
}

/** Undefined after the reason was printed. */
async function unlessUnusable<Result>(making: Promise<Result>): Promise<Result | undefined> {
  try {
    return await making
  } catch (error) {
    if (!(error instanceof StateError || error instanceof TeamError)) throw error
    complain(error.message)
    return undefined
  }
}

export function complain(message: string): void {
  process.stderr.write(`error: ${message}\n`)
}
