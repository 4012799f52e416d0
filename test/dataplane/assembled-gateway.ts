/**
 * A gateway of real parts on a clock that the test advances: a store in memory, a log in a list, upstreams that get no
 * requests.
 */

import { InfraCost } from '../../dataplane/accounts/infra-cost.ts'
import type { Store } from '../../dataplane/accounts/store.ts'
import { embeddingsReading } from '../../dataplane/apis/openai-embeddings/reading.ts'
import { Embeddings } from '../../dataplane/auxiliaries/embeddings.ts'
import { Deadlines } from '../../dataplane/base/clock.ts'
import { Roster } from '../../dataplane/base/roster.ts'
import { Bodies } from '../../dataplane/body/bodies.ts'
import { activeOf } from '../../dataplane/gateway/active.ts'
import type { Gateway } from '../../dataplane/gateway/gateway.ts'
import { Guards } from '../../dataplane/guardrails/guards.ts'
import { Issuers } from '../../dataplane/identity/issuers.ts'
import { AlertWebhook } from '../../dataplane/limits/alerts/webhook.ts'
import { KnownRefusals } from '../../dataplane/limits/known-refusals.ts'
import { Leases } from '../../dataplane/limits/leases.ts'
import { Retrievals } from '../../dataplane/retrieval/retrievals.ts'
import { Rollouts } from '../../dataplane/rollout/rollouts.ts'
import { Shadows } from '../../dataplane/rollout/shadows.ts'
import { Classifiers } from '../../dataplane/semantic/classifiers.ts'
import { MemoryCells } from '../../dataplane/store/cells/cells.ts'
import { HistoryBook } from '../../dataplane/store/history/book.ts'
import { MemoryStore } from '../../dataplane/store/memory/memory.ts'
import { UsageBook } from '../../dataplane/store/usage-book.ts'
import { Changes } from '../../dataplane/telemetry/changes.ts'
import { createLog } from '../../dataplane/telemetry/log.ts'
import { createMetrics } from '../../dataplane/telemetry/metrics.ts'
import { Objectives } from '../../dataplane/telemetry/slo.ts'
import { Traces } from '../../dataplane/telemetry/traces.ts'
import { Targets } from '../../dataplane/upstream/live/targets.ts'
import { aClock, type TurnedClock } from '../helpers/clock.ts'
import { aSnapshotOf } from './request/stages/snapshots.ts'

export interface Assembled {
  readonly gateway: Gateway
  readonly targets: Targets
  readonly clock: TurnedClock
  /** The log, line by line. */
  readonly lines: Readonly<Record<string, unknown>>[]
}

/** `gw`: sections of the configuration. `wrap` may wrap the store. */
export function assemble(
  gw: Readonly<Record<string, unknown>> = {},
  wrap: (store: Store) => Store = (store) => store,
): Assembled {
  const clock = aClock()
  const metrics = createMetrics()
  const lines: Assembled['lines'] = []
  const write = (line: string) => void lines.push(JSON.parse(line))
  const log = createLog({ write, flush() {}, wallClock: clock.wall })
  const random = () => 0.5
  const targets = new Targets({ clock, random, metrics, log, readText: () => '', env: {} })
  const snapshot = aSnapshotOf(gw)
  const active = activeOf(snapshot, targets.activate(snapshot))
  for (const lane of active.lanes.values()) for (const { state } of lane.targets) state.retire()
  const store = wrap(new MemoryStore({ clock }))
  let ids = 0
  const deadlines = new Deadlines(clock)
  const embeddings = new Embeddings({
    clock,
    deadlines,
    metrics,
    targets,
    reading: embeddingsReading,
  })
  const cells = new MemoryCells()
  const rollouts = new Rollouts({ clock, random, cells, metrics, log, alert() {} })
  rollouts.follow(snapshot)
  const gateway: Gateway = {
    active,
    env: {},
    clock,
    deadlines,
    random,
    newRequestId: () => `test-${++ids}`,
    metrics,
    log,
    changes: new Changes(clock.wall),
    store,
    storeStatus: () => ({ backend: 'memory' }),
    followInStore: () => undefined,
    leases: new Leases(store, clock),
    refusals: new KnownRefusals(),
    bodies: new Bodies(1_073_741_824),
    webhook: new AlertWebhook({ post: async () => undefined, clock, random, onDrop() {} }),
    guards: new Guards({ clock, metrics }),
    issuers: new Issuers({ clock, random, log, metrics, schedule: () => () => undefined }),
    retrievals: new Retrievals({ clock, metrics, readText: () => '' }),
    embeddings,
    classifiers: new Classifiers({ embeddings, deadlines, clock }),
    infra: new InfraCost(clock.wall()),
    usage: new UsageBook(),
    usageKept: { in: 'memory' },
    history: new HistoryBook(clock),
    historyKept: { in: 'memory' },
    usageEvents: undefined,
    objectives: new Objectives({ clock, metrics, log, alert() {} }),
    rollouts,
    shadows: new Shadows(metrics),
    traces: new Traces(10),
    tracing: undefined,
    visits: new Roster(),
    draining: false,
    calledAt: Number.NEGATIVE_INFINITY,
  }
  return { gateway, targets, clock, lines }
}
