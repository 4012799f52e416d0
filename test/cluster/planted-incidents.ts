/**
 * Incidents that cause alerts, planted in the real metrics of a gateway and an operator, as
 * Prometheus reads them each minute.
 */

import { loadConfiguration } from '../../dataplane/config/load.ts'
import { compile } from '../../dataplane/config/snapshot.ts'
import { beginSeries } from '../../dataplane/gateway/first-series.ts'
import { beginAlerts } from '../../dataplane/limits/alerts/alert-series.ts'
import { createMetrics, createRegistry, type Metrics } from '../../dataplane/telemetry/metrics.ts'
import { tallyOf } from '../../operator/tally.ts'
import { beginWatches, createTelemetry, type Telemetry } from '../../operator/telemetry.ts'
import { WATCHED_NAMES } from '../../operator/world.ts'

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason?: string
}

export interface Installation {
  readonly metrics: Metrics
  readonly telemetry: Telemetry
  conditions: readonly Condition[]
  podState: string
}

/** Called in each minute of the incident; `minute` counts from 0. */
type Incident = (installation: Installation, minute: number) => void

/** A single incident is planted in the first minute. */
const once =
  (incident: Incident): Incident =>
  (installation, minute) => {
    if (minute === 0) incident(installation, minute)
  }

export const INCIDENTS: Readonly<Record<string, Incident>> = {
  GwOperatorWithoutLeader: ({ telemetry }) => telemetry.leader.set({ name: 'gw-operator' }, 0),
  GwGatewayNotReady: (world) => {
    world.conditions = [{ type: 'Ready', status: 'False', reason: 'NoEndpoints' }]
  },
  GwSecretUnusable: (world) => {
    world.conditions = [
      { type: 'Ready', status: 'True' },
      { type: 'Degraded', status: 'True', reason: 'SecretUnusable' },
    ]
  },
  GwConfigurationRefused: (world) => {
    world.podState = 'Rejected'
  },
  GwPodsUnreachable: (world) => {
    world.podState = 'Unreachable'
  },
  GwReconcileFailing: ({ telemetry }) =>
    telemetry.reconciles.inc({ controller: 'policy', result: 'error' }, 6),
  GwWatchMissedEvents: once(({ telemetry }) => telemetry.missed.inc({ resource: 'pods' }, 1)),
  GwErrorRatio: ({ metrics }) => {
    metrics.requests.at('chat', 'local', '502').value += 20
  },
  GwSloBurn: ({ metrics }) => {
    metrics.sloRequests.at('chat', 'errors', 'true').value += 20
    metrics.sloRequests.at('chat', 'errors', 'false').value += 1
  },
  GwUpstreamUnhealthy: ({ metrics }) => {
    metrics.healthy.at('local').value = 0
  },
  // It is retried each minute and fails each time.
  GwBreakerOpen: ({ metrics }, minute) => {
    const now = minute % 2 === 0 ? 'open' : 'half_open'
    for (const state of ['closed', 'open', 'half_open'])
      metrics.breakerState.at('local', state).value = state === now ? 1 : 0
  },
  GwSharedStoreDown: ({ metrics }) => {
    metrics.storeUp.at('redis').value = 0
  },
  GwSettlementsWaiting: ({ metrics }) => {
    metrics.storeWaiting.at().value = 5000
  },
  GwConfigurationNotTaken: once(({ metrics }) => metrics.reloads.at('failure').value++),
  GwListenerCertificateExpires: ({ metrics }, minute) => {
    metrics.listenerExpiry.at('models.example').value = 86_400 - minute * 60
  },
  GwTimeToFirstTokenObjectiveMissed: ({ metrics }) => {
    metrics.sloBreached.at('chat').value = 1
  },
  GwRouteNotVerified: ({ metrics }) => {
    metrics.routeVerified.at('chat').value = 0
  },
  GwRolloutBack: once(({ metrics }) => metrics.rolloutBacks.at('chat', 'errors').value++),
  GwBudgetThresholdReached: once(({ metrics }) => {
    metrics.budgetAlerts.at('acme', 'day', '0.8').value++
  }),
  GwSharedBudgetThresholdReached: once(({ metrics }) => {
    metrics.scopedBudgetAlerts.at('limit:project', 'month', '0.8').value++
  }),
  // The clock of the rules begins with 1970.
  GwBudgetPace: ({ metrics }) => {
    metrics.budgetTokensLimit.at('acme', 'day').value = 1000
    metrics.budgetTokens.at('acme', 'day').value = 900
    metrics.budgetStart.at('acme', 'day').value = 0
    metrics.budgetEnd.at('acme', 'day').value = 7200
  },
  // Each minute a request passes the upstream over.
  GwUpstreamQuotaFull: ({ metrics }) => {
    metrics.quotaPassedOver.at('local', 'quota', 'rpm').value++
  },
  GwAlertsDropped: once(({ metrics }) => metrics.alertsDropped.at('undelivered').value++),
}

const CONFIGURATION = `
apiVersion: inference.gw/v1
kind: GatewayConfig
gw:
  upstreams: [{ name: local, provider: vllm, endpoint: "http://127.0.0.1:1", model: m, context_window: 8192 }, { name: next, provider: vllm, endpoint: "http://127.0.0.1:2", model: n, context_window: 8192 }]
  routes: [{ name: chat, strategy: single, upstreams: [local], rollout: { to: next } }]
  budgets: [{ tenant: acme, tokens_per_day: 1000000, alert_thresholds: [0.8] }]
  limits: [{ name: project, for: { tenant: acme }, budget: { tokens: 1000, per: month, alerts: [0.8] } }]
  rate_limits: { backend: redis, redis: { url: "redis://127.0.0.1:1" } }
`

export function anInstallation(): Installation {
  const host = { env: {}, readText: () => '' }
  const { configuration, problems } = loadConfiguration(CONFIGURATION, 'gw.yaml', host)
  if (configuration === undefined) throw new Error(JSON.stringify(problems))
  const snapshot = compile(configuration)
  const [metrics, telemetry] = [createMetrics(), createTelemetry()]
  beginSeries(metrics, snapshot)
  beginAlerts(metrics, snapshot)
  beginWatches(telemetry, WATCHED_NAMES)
  telemetry.leader.set({ name: 'gw-operator' }, 1)
  const world: Installation = {
    metrics,
    telemetry,
    conditions: [{ type: 'Ready', status: 'True' }],
    podState: 'Programmed',
  }
  telemetry.tallyBy(() => {
    const { conditions, podState } = world
    const status = { conditions, pods: [{ state: podState }] }
    return tallyOf([{ metadata: { namespace: 'ai', name: 'production' }, status }])
  })
  for (const gauge of [metrics.healthy.at('local'), metrics.storeUp.at('redis')]) gauge.value = 1
  metrics.breakerState.at('local', 'closed').value = 1
  metrics.listenerLifetime.at('models.example').value = 7_776_000
  metrics.listenerExpiry.at('models.example').value = 7_000_000
  return world
}

/**
 * Series of these metrics by name and labels, a value for each minute; `_` before the first value.
 */
export async function readMinutes(
  incident: Incident,
  names: readonly string[],
  { quiet, minutes }: { quiet: number; minutes: number },
): Promise<ReadonlyMap<string, readonly string[]>> {
  const world = anInstallation()
  const registries = [createRegistry(world.metrics), world.telemetry.registry]
  const series = new Map<string, string[]>()
  for (let minute = 0; minute < minutes; minute++) {
    world.metrics.requests.at('chat', 'local', '200').value += 100
    if (minute >= quiet) incident(world, minute - quiet)
    for (const [index, registry] of registries.entries()) {
      for (const metric of names.filter((name) => registry.getSingleMetric(name) !== undefined)) {
        const text = await registry.getSingleMetricAsString(metric)
        for (const [name, value] of samplesIn(text, index === 0)) {
          const values = series.get(name) ?? Array(minute).fill('_')
          series.set(name, [...values, value])
        }
      }
    }
  }
  return series
}

/** With the labels that a scrape adds. */
function* samplesIn(text: string, isOfGateway: boolean): Generator<[string, string]> {
  const added = isOfGateway
    ? 'namespace="ai",gateway="production",pod="a"'
    : 'namespace="gw-system"'
  for (const line of text.split('\n')) {
    const found = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line)
    if (found === null) continue
    const [, name = '', labels, value = ''] = found
    yield [`${name}{${[labels, added].filter(Boolean).join(',')}}`, value]
  }
}
