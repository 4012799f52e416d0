/** The parts that live as long as the process. */

import type { InfraCost } from '../accounts/infra-cost.ts'
import type { Store } from '../accounts/store.ts'
import type { Embeddings } from '../auxiliaries/embeddings.ts'
import type { Clock, Deadlines } from '../base/clock.ts'
import type { GatewayError } from '../base/errors.ts'
import type { Member, Roster } from '../base/roster.ts'
import type { Bodies } from '../body/bodies.ts'
import type { Call } from '../call/call.ts'
import type { Guards } from '../guardrails/guards.ts'
import type { Issuers } from '../identity/issuers.ts'
import type { AlertWebhook } from '../limits/alerts/webhook.ts'
import type { KnownRefusals } from '../limits/known-refusals.ts'
import type { Leases } from '../limits/leases.ts'
import type { Retrievals } from '../retrieval/retrievals.ts'
import type { Rollouts } from '../rollout/rollouts.ts'
import type { Shadows } from '../rollout/shadows.ts'
import type { Classifiers } from '../semantic/classifiers.ts'
import type { HistoryBook } from '../store/history/book.ts'
import type { KeptHistory } from '../store/history/kept.ts'
import type { OpenStore } from '../store/opened.ts'
import type { UsageBook } from '../store/usage-book.ts'
import type { KeptUsage } from '../store/usage-row.ts'
import type { Changes } from '../telemetry/changes.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Sending } from '../telemetry/otlp/sending.ts'
import type { Objectives } from '../telemetry/slo.ts'
import type { Trace } from '../telemetry/trace/fields.ts'
import type { Traces } from '../telemetry/traces.ts'
import type { Tracing } from '../telemetry/tracing/tracing.ts'
import type { UsageEvents } from '../usage/events/events.ts'
import type { Environment } from '../wire/credential-source.ts'
import type { Active } from './active.ts'
import type { Verification } from './verdicts.ts'

export interface Gateway {
  active: Active
  readonly env: Environment
  readonly clock: Clock
  readonly deadlines: Deadlines
  /** Uniform in [0, 1). */
  readonly random: () => number
  readonly newRequestId: () => string
  readonly metrics: Metrics
  readonly log: Log
  /** Log events that report a change. */
  readonly changes: Changes
  readonly store: Store
  readonly storeStatus: OpenStore['status']
  readonly followInStore: OpenStore['follow']
  readonly leases: Leases
  /** Refusals of the store that are valid until a known time. */
  readonly refusals: KnownRefusals
  /** The memory that requests hold from the moment their bodies are read. */
  readonly bodies: Bodies
  readonly webhook: AlertWebhook
  readonly guards: Guards
  readonly issuers: Issuers
  readonly embeddings: Embeddings
  readonly retrievals: Retrievals
  readonly classifiers: Classifiers
  readonly infra: InfraCost
  /** The tokens and the cost of tenants, by the hour. */
  readonly usage: UsageBook
  readonly usageKept: KeptUsage
  /** Requests, failures, times, tokens and cost by minute and hour, and events. */
  readonly history: HistoryBook
  readonly historyKept: KeptHistory
  /** Sends an event for each attempt that used tokens; undefined if the configuration names no sink. */
  usageEvents: UsageEvents | undefined
  readonly objectives: Objectives
  readonly rollouts: Rollouts
  readonly shadows: Shadows
  readonly traces: Traces
  /** Sends traces to the collector of the configuration; undefined if that names none. */
  tracing: Tracing | undefined
  /** The exporter of metrics and log records; undefined if the configuration exports neither. */
  sending?: Sending | undefined
  /** All running requests: a drain waits for them and finally ends them. */
  readonly visits: Roster<Underway>
  draining: boolean
  /** The time of the clock when a client last called; probes do not count. */
  calledAt: number
  /** The probes of routes with `verify: true`. */
  verifier?: { report(): Verification | undefined }
  /** Whether a pod has no keys yet; it is not ready then, because it would answer every request with 401. */
  lacksKeys?: boolean
}

/** A request in progress, as a drain and the admin API see it. */
export interface Underway extends Member {
  readonly call: Pick<Call, 'receivedAt'>
  readonly trace: Trace
  /** Closes the connection after the answer. */
  closeBehind(): void
  /** Ends the request with an error, unless its answer is complete. */
  cut(why: (hasBegun: boolean) => GatewayError): void
}
