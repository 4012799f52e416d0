/** Every metric of the operator. If other controllers have an established name, the metric uses it. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { LEASE_NAME } from './kube/names.ts'
import { WATCH_ENDS } from './kube/watch/reflector.ts'
import type { Tally } from './tally.ts'

export interface Telemetry {
  readonly registry: Registry
  readonly reconciles: Counter<'controller' | 'result'>
  readonly reconcileSeconds: Histogram<'controller'>
  readonly queueDepth: Gauge<'name'>
  readonly activeWorkers: Gauge<'controller'>
  readonly requests: Counter<'code' | 'method'>
  readonly leader: Gauge<'name'>
  readonly pushes: Counter<'document' | 'result'>
  readonly pushSeconds: Histogram<'document'>
  /** Called whenever metrics are read: the source of the numbers of gateways and of their pods. */
  tallyBy(source: () => Tally): void
  readonly statusUpdates: Counter
  readonly spans: Counter<'result'>
  readonly applies: Counter<'kind' | 'result'>
  readonly lists: Counter<'resource'>
  readonly watchEnds: Counter<'resource' | 'reason'>
  readonly missed: Counter<'resource'>
  readonly webhookRequests: Counter<'webhook' | 'code'>
  readonly webhookSeconds: Histogram<'webhook'>
  readonly webhookCertificateEnds: Gauge
  readonly admissions: Counter<'kind' | 'result'>
}

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

function makersFor(registry: Registry) {
  const registers = [registry]
  return {
    counter: <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
      new Counter({ name, help, labelNames, registers }),
    gauge: <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
      new Gauge({ name, help, labelNames, registers }),
    histogram: <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
      new Histogram({ name, help, labelNames, registers, buckets: SECONDS }),
  }
}

export function createTelemetry(): Telemetry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const makers = makersFor(registry)
  const { counter, gauge, histogram } = makers
  const telemetry: Telemetry = {
    registry,
    reconciles: counter(
      'controller_runtime_reconcile_total',
      'Reconciles by result.',
      'controller',
      'result',
    ),
    reconcileSeconds: histogram(
      'controller_runtime_reconcile_time_seconds',
      'How long a reconcile took.',
      'controller',
    ),
    queueDepth: gauge('workqueue_depth', 'Keys that wait to be reconciled.', 'name'),
    activeWorkers: gauge(
      'controller_runtime_active_workers',
      'Reconciles under way.',
      'controller',
    ),
    requests: counter(
      'rest_client_requests_total',
      'Requests to the API server by status code and verb.',
      'code',
      'method',
    ),
    leader: gauge('leader_election_master_status', '1 while this process leads.', 'name'),
    pushes: counter(
      'gw_config_push_total',
      'Documents sent to pods, by result.',
      'document',
      'result',
    ),
    pushSeconds: histogram(
      'gw_config_push_duration_seconds',
      'Time from sending a document to the answer of the pod.',
      'document',
    ),
    tallyBy: makeTallied(registry),
    statusUpdates: counter('gw_status_update_total', 'Statuses written.'),
    spans: counter(
      'gw_operator_spans_total',
      'Spans for a collector by result: delivered, or dropped for a reason.',
      'result',
    ),
    applies: counter('gw_resource_apply_total', 'Objects applied and deleted.', 'kind', 'result'),
    lists: counter(
      'gw_watch_lists_total',
      'Whole lists requested from the API server.',
      'resource',
    ),
    watchEnds: counter(
      'gw_watch_restarts_total',
      'Watches that ended, by reason.',
      'resource',
      'reason',
    ),
    missed: counter(
      'gw_watch_missed_events_total',
      'Changes that a watch missed and only a later list revealed; the first list does not count.',
      'resource',
    ),
    ...ofWebhook(makers),
  }
  beginAtZero(telemetry)
  return telemetry
}

/** Metrics of the admission webhook, empty without one. */
function ofWebhook({ counter, gauge, histogram }: ReturnType<typeof makersFor>) {
  return {
    webhookRequests: counter(
      'controller_runtime_webhook_requests_total',
      'Requests to the admission webhook by status code.',
      'webhook',
      'code',
    ),
    webhookSeconds: histogram(
      'controller_runtime_webhook_latency_seconds',
      'Time from a request to the admission webhook to its answer.',
      'webhook',
    ),
    webhookCertificateEnds: gauge(
      'gw_webhook_certificate_end_timestamp_seconds',
      'When the certificate of the admission webhook expires; 0 while it has none.',
    ),
    admissions: counter(
      'gw_admission_reviews_total',
      'Objects that the admission webhook has checked, by result.',
      'kind',
      'result',
    ),
  }
}

const APPLIED = {
  kind: [
    ...['Deployment', 'Service', 'ServiceAccount', 'PodDisruptionBudget', 'NetworkPolicy'],
    ...['HorizontalPodAutoscaler', 'HTTPRoute'],
  ],
  result: ['applied', 'deleted', 'conflict'],
}
const OF_PUSHES = {
  document: ['config', 'keys', 'endpoints'],
  result: ['pending', 'acknowledged', 'rejected', 'unreachable'],
}

/** Creates every series at once: a missing one looks lost, and an increase misses one that begins with its first value. */
function beginAtZero(telemetry: Telemetry) {
  const { reconciles, queueDepth, activeWorkers, leader, statusUpdates, pushes, applies } =
    telemetry
  for (const controller of ['gateway', 'key', 'policy', 'pool']) {
    for (const result of ['success', 'error']) reconciles.inc({ controller, result }, 0)
    queueDepth.set({ name: controller }, 0)
    activeWorkers.set({ controller }, 0)
  }
  for (const document of OF_PUSHES.document) {
    for (const result of OF_PUSHES.result) pushes.inc({ document, result }, 0)
  }
  for (const kind of APPLIED.kind) {
    for (const result of APPLIED.result) applies.inc({ kind, result }, 0)
  }
  leader.set({ name: LEASE_NAME }, 0)
  statusUpdates.inc(0)
}

/** The same for what is watched. */
export function beginWatches({ lists, missed, watchEnds }: Telemetry, watched: readonly string[]) {
  for (const resource of watched) {
    lists.inc({ resource }, 0)
    missed.inc({ resource }, 0)
    for (const reason of WATCH_ENDS) watchEnds.inc({ resource, reason }, 0)
  }
}

/** Gauges that are counted when they are read. Returns a function that sets the source. */
function makeTallied(registry: Registry): Telemetry['tallyBy'] {
  let source: () => Tally = () => ({ gateways: {}, pods: {}, each: [] })
  const registers = [registry]
  const tallied = (name: string, help: string, label: string, part: 'gateways' | 'pods') =>
    new Gauge({
      name,
      help,
      labelNames: [label],
      registers,
      collect() {
        this.reset()
        for (const [value, count] of Object.entries(source()[part])) {
          this.set({ [label]: value }, count)
        }
      },
    })
  tallied('gw_gateways', 'Gateways by readiness.', 'ready', 'gateways')
  tallied('gw_config_pods', 'Pods by the state of their configuration.', 'state', 'pods')
  new Gauge({
    name: 'gw_gateway_ready',
    help: '1 for a gateway that is Ready, 0 for one that is not.',
    labelNames: ['gateway'],
    registers,
    collect() {
      this.reset()
      for (const { gateway, isReady } of source().each) this.set({ gateway }, isReady ? 1 : 0)
    },
  })
  new Gauge({
    name: 'gw_gateway_degraded',
    help: '1 for a gateway that is Degraded for a reason.',
    labelNames: ['gateway', 'reason'],
    registers,
    collect() {
      this.reset()
      for (const { gateway, degraded } of source().each) {
        if (degraded !== undefined) this.set({ gateway, reason: degraded }, 1)
      }
    },
  })
  new Gauge({
    name: 'gw_gateway_pods',
    help: 'Pods of a gateway that do not enforce its newest configuration, by state; absent if it has none.',
    labelNames: ['gateway', 'state'],
    registers,
    collect() {
      this.reset()
      for (const { gateway, behind } of source().each) {
        for (const [state, count] of Object.entries(behind)) this.set({ gateway, state }, count)
      }
    },
  })
  return (next) => {
    source = next
  }
}
