/** Configuration to listeners, and shutdown on SIGTERM: the only composition root. */

import { randomBytes } from 'node:crypto'
import { flushCompileCache } from 'node:module'
import { InfraCost } from '../accounts/infra-cost.ts'
import type { Listening } from '../admin/routes.ts'
import { embeddingsReading } from '../apis/openai-embeddings/reading.ts'
import { type Clock, Deadlines, schedule, systemClock } from '../base/clock.ts'
import { Roster } from '../base/roster.ts'
import { VERSION } from '../base/version.ts'
import { Bodies, processMemory } from '../body/bodies.ts'
import type { Loaded } from '../config/apart/loaded.ts'
import { readText } from '../config/document/source.ts'
import { renderProblem } from '../config/judgement/problems.ts'
import { compile, type Snapshot } from '../config/snapshot.ts'
import { secureContextOf } from '../connection/secure-context.ts'
import { Activation } from '../gateway/activation.ts'
import { activeOf } from '../gateway/active.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { openServices } from '../gateway/services.ts'
import { faultOfRuntime } from '../json/parse.ts'
import { showBudgetsAtScrapes } from '../limits/gauges.ts'
import { KnownRefusals } from '../limits/known-refusals.ts'
import { Leases } from '../limits/leases.ts'
import { Shadows } from '../rollout/shadows.ts'
import { HistoryBook } from '../store/history/book.ts'
import { StateError } from '../store/memory/database.ts'
import { openStore } from '../store/open.ts'
import type { OpenStore } from '../store/opened.ts'
import { UsageBook } from '../store/usage-book.ts'
import { Changes } from '../telemetry/changes.ts'
import { showCertificateAtScrapes } from '../telemetry/listener-gauges.ts'
import { createLog, standardOutput } from '../telemetry/log.ts'
import { createMetrics, createRegistry, type Metrics } from '../telemetry/metrics.ts'
import { Expositions } from '../telemetry/otlp/exposition.ts'
import { LogTap } from '../telemetry/otlp/log-tap.ts'
import { Signals } from '../telemetry/otlp/signals.ts'
import { Traces } from '../telemetry/traces.ts'
import type { PushedEndpoints } from '../upstream/endpoints/pushed.ts'
import { Targets } from '../upstream/live/targets.ts'
import { Verifier } from '../verification/verifier.ts'
import type { Environment } from '../wire/credential-source.ts'
import { addressesOf, factsOf, startSentence } from './addresses.ts'
import { openAlerts } from './alerting.ts'
import { drain, drainSeconds } from './drain.ts'
import { environmentFault } from './environment.ts'
import { ListenError } from './listen-error.ts'
import { createListeners } from './listeners.ts'
import { reloadOnChange } from './reload.ts'
import { reportEvents } from './reported-events.ts'

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
  const loaded = await load({ file, reading })
  if (loaded === undefined) return 1
  const follow = (gateway: Gateway, activation: Activation) =>
    reloadOnChange(file, env, activation, (message) =>
      gateway.log.event('warn', 'config_watch', message),
    )
  return await serve({ name: file, loaded, follow }, env, ending)
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
  /** Called once the gateway serves. Returns a function that ends what it started. */
  follow(gateway: Gateway, activation: Activation): () => void
}

/** Serves until a signal ends it. Resolves with the exit code. */
export async function serve(
  { name, loaded, isPod = false, follow, pushedEndpoints: pushed }: Source,
  env: Environment,
  ending: Promise<void>,
): Promise<number> {
  if (loaded.configuration === undefined) return 1
  const snapshot = compile(loaded.configuration, loaded.delivered)
  const made = await unlessUnusable(createGateway(snapshot, env, pushed))
  if (made === undefined) return 1
  const { gateway, targets, opened, tap } = made
  const registry = createRegistry(gateway.metrics)
  const expositions = new Expositions(registry)
  const signals = new Signals({ registry, tap, startedAt: gateway.clock.wall() })
  const activation = new Activation(gateway, targets, loaded, signals)
  const listeners = createListeners(gateway, activation, {
    renderMetrics: (accept) => expositions.render(accept),
    connectionAgeMs: Number(env.GW_CONNECTION_AGE_SECONDS || 0) * 1000,
    isPod,
  })
  const addresses = addressesOf(gateway.active.snapshot, env, isPod)
  const warn = (message: string) => gateway.log.event('warn', 'admin_socket', message)
  await opened.start()
  let listening: Listening
  try {
    listening = await listeners.listen(addresses, warn)
  } catch (error) {
    if (!(error instanceof ListenError)) throw error
    complain(error.message)
    await listeners.close()
    await opened.close()
    return 1
  }
  const verifier = new Verifier(gateway, { schedule })
  gateway.verifier = verifier
  gateway.deadlines.add(verifier)
  gateway.deadlines.start()
  flushCompileCache()
  gateway.log.event('info', 'start', startSentence(name, listening), {
    ...factsOf(addresses, listening),
  })
  const fault = faultOfRuntime()
  if (fault !== undefined) gateway.log.event('warn', 'runtime', fault)
  process.on('uncaughtExceptionMonitor', ({ stack }) => {
    gateway.log.event('error', 'crash', 'A mistake of the gateway ends the process.', { stack })
    gateway.log.flush()
  })
  const unfollow = follow(gateway, activation)
  await ending
  unfollow()
  await drain(gateway, listeners, drainSeconds(gateway, env))
  gateway.shadows.close()
  gateway.retrievals.close()
  await targets.close()
  await opened.close()
  gateway.log.event('info', 'stop', 'All requests are settled.')
  gateway.log.flush()
  return 0
}

/** The checked configuration, or undefined after all problems were printed on standard error. */
async function load({ file, reading }: Read): Promise<Loaded | undefined> {
  try {
    const loaded = await reading
    for (const problem of loaded.problems) process.stderr.write(`${renderProblem(problem)}\n`)
    if (loaded.configuration === undefined) complain(`${file} was refused; nothing was started`)
    return loaded
  } catch (error) {
    complain(`cannot read ${file}: ${(error as Error).message}`)
    return undefined
  }
}

interface Made {
  readonly gateway: Gateway
  readonly targets: Targets
  readonly opened: OpenStore
  readonly tap: LogTap
}

async function unlessUnusable(creating: Promise<Made>): Promise<Made | undefined> {
  try {
    return await creating
  } catch (error) {
    if (!(error instanceof StateError)) throw error
    complain(error.message)
    return undefined
  }
}

/** Throws StateError when `state_dir` cannot be used. */
async function createGateway(
  snapshot: Snapshot,
  env: Environment,
  pushed: PushedEndpoints | undefined,
): Promise<Made> {
  const clock = systemClock
  const random = Math.random
  const metrics = createMetrics()
  metrics.build.at(VERSION).value = 1
  metrics.reloadedAt.at().value = clock.wall() / 1000
  const history = new HistoryBook(clock)
  const { changes, tap, log } = openLog(metrics, { clock, env, history })
  const deadlines = new Deadlines(clock)
  const { section, configuration } = snapshot
  // A tag of this process: in its request ids, and as its name among the replicas.
  const tag = randomBytes(6).toString('hex')
  const usage = new UsageBook((reason) => metrics.usageFolded.at(reason).value++)
  const opened = await openStore(section, {
    usage,
    history,
    clock,
    deadlines,
    metrics,
    log,
    random,
    replica: tag,
    replicas: Number(configuration.spec?.replicas) || 1,
    secureContext: () => secureContextOf(section.tls),
  })
  const { store } = opened
  const leases = new Leases(store, clock)
  const alerting = openAlerts(snapshot, () => gateway.active.snapshot.section, {
    ...{ clock, random, metrics, log },
    cells: opened.cells,
  })
  const { webhook, objectives, rollouts } = alerting
  for (const one of [leases, webhook, objectives, history, rollouts]) deadlines.add(one)
  const targets = new Targets({ clock, random, metrics, log, readText, env, pushed })
  const gateway: Gateway = {
    active: activeOf(snapshot, targets.activate(snapshot)),
    env,
    clock,
    deadlines,
    random,
    newRequestId: requestIds(tag),
    metrics,
    log,
    changes,
    store,
    storeStatus: opened.status,
    followInStore: opened.follow,
    leases,
    refusals: new KnownRefusals(),
    bodies: new Bodies(processMemory()),
    ...openServices(section, {
      ...{ clock, deadlines, log, metrics, random, schedule, targets },
      reading: embeddingsReading,
    }),
    infra: new InfraCost(clock.wall()),
    usage,
    usageKept: opened.usage,
    history,
    historyKept: opened.history,
    usageEvents: undefined,
    ...alerting,
    shadows: new Shadows(metrics),
    traces: new Traces(snapshot.section.telemetry.trace_ring),
    tracing: undefined,
    visits: new Roster(),
    draining: false,
    calledAt: Number.NEGATIVE_INFINITY,
  }
  reportEvents(gateway)
  showBudgetsAtScrapes(gateway)
  showCertificateAtScrapes(gateway)
  return { gateway, targets, opened, tap }
}

/** The log of the process. `changes` keeps its events, and `tap` passes its records to a collector. */
function openLog({ logLinesDropped }: Metrics, { clock: { wall }, env, history }: LogWorld) {
  const dropped = logLinesDropped.at()
  const output = standardOutput(() => dropped.value++, env.GW_LOG_FORMAT)
  const tap = new LogTap(createLog({ ...output, wallClock: wall }), wall)
  const changes = new Changes(wall, (change) => history.note(change))
  return { changes, tap, log: changes.heardIn(tap) }
}

interface LogWorld {
  readonly clock: Clock
  readonly env: Environment
  readonly history: HistoryBook
}

/** Ids carry the tag of this process, so that you know which replica has the trace. */
function requestIds(tag: string): () => string {
  let requests = 0
  return () => {
    requests++
    return `${tag}-${requests.toString(36)}`
  }
}

export function complain(message: string): void {
  process.stderr.write(`error: ${message}\n`)
}
