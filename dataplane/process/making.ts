/** The parts of a gateway that live as long as its process. */
import { randomBytes } from 'node:crypto'
import { InfraCost } from '../accounts/infra-cost.ts'
import { embeddingsReading } from '../apis/openai-embeddings/reading.ts'
import { type Clock, Deadlines, schedule, systemClock } from '../base/clock.ts'
import { Roster } from '../base/roster.ts'
import { VERSION } from '../base/version.ts'
import { Bodies, processMemory } from '../body/bodies.ts'
import { readText } from '../config/document/source.ts'
import type { Snapshot } from '../config/snapshot.ts'
import { secureContextOf } from '../connection/secure-context.ts'
import { activeOf } from '../gateway/active.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { openServices } from '../gateway/services.ts'
import { showBudgetsAtScrapes } from '../limits/gauges.ts'
import { KnownRefusals } from '../limits/known-refusals.ts'
import { Leases } from '../limits/leases.ts'
import { Shadows } from '../rollout/shadows.ts'
import { HistoryBook } from '../store/history/book.ts'
import { openStore } from '../store/open.ts'
import type { OpenStore } from '../store/opened.ts'
import { UsageBook } from '../store/usage-book.ts'
import { Changes } from '../telemetry/changes.ts'
import { showCertificateAtScrapes } from '../telemetry/listener-gauges.ts'
import { createLog, standardOutput } from '../telemetry/log.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics.ts'
import { LogTap } from '../telemetry/otlp/log-tap.ts'
import { Traces } from '../telemetry/traces.ts'
import type { PushedEndpoints } from '../upstream/endpoints/pushed.ts'
import { Targets } from '../upstream/live/targets.ts'
import type { Environment } from '../wire/credential-source.ts'
import type { Home } from '../workers/worker.ts'
import { openAlerts } from './alerting.ts'
import { reportEvents } from './reported-events.ts'
import type { Team } from './team.ts'

interface Surroundings {
  readonly env: Environment
  readonly pushed: PushedEndpoints | undefined
  readonly team: Team
}

type CrewOutput = Pick<Home, 'output' | 'logFormat'>

/** The parts that a process serves with. */
export interface Made {
  readonly gateway: Gateway
  readonly targets: Targets
  readonly opened: OpenStore
  readonly tap: LogTap
  readonly output: CrewOutput
}

/** Throws StateError when `state_dir` cannot be used. */
export async function createGateway(
  snapshot: Snapshot,
  { env, pushed, team }: Surroundings,
): Promise<Made> {
  const clock = systemClock
  const random = Math.random
  const metrics = createMetrics()
  metrics.build.at(VERSION).value = 1
  metrics.reloadedAt.at().value = clock.wall() / 1000
  const history = new HistoryBook(clock)
  const { changes, tap, log, output } = openLog(metrics, { clock, env, history })
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
    replicas: (Number(configuration.spec?.replicas) || 1) * team.of,
    ...(team.store && { common: team.store }),
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
    bodies: new Bodies(processMemory(team.of)),
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
  metrics.usageRows.collect = () => {
    metrics.usageRows.at().value = usage.size
  }
  return { gateway, targets, opened, tap, output }
}

/** The log of the process. `changes` keeps its events, and `tap` passes its records to a collector. */
function openLog({ logLinesDropped }: Metrics, { clock: { wall }, env, history }: LogWorld) {
  const dropped = logLinesDropped.at()
  const output = standardOutput(() => dropped.value++, env.GW_LOG_FORMAT)
  const tap = new LogTap(createLog({ ...output, wallClock: wall }), wall)
  const changes = new Changes(wall, (change) => history.note(change))
  const forCrew = { output: output.write, logFormat: output.format ?? 'json' }
  return { changes, tap, log: changes.heardIn(tap), output: forCrew }
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
