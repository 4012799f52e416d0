/**
 * Counters with few label values begin at 0, because an alert on an increase misses a series that appears with its
 * first value.
 */
import { ERRORS } from '../base/errors.ts'
import type { Snapshot } from '../config/snapshot.ts'
import type { AwayReason } from '../store/redis/link.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { type SpillReason, spillReasons } from '../upstream/attempt/spill.ts'
import type { FailureClass } from '../wire/provider.ts'

const MEASURES = ['errors', 'ttft_p95', 'cost', 'finish_length']

type SeriesSource = Pick<Snapshot, 'section' | 'routes' | 'upstreams'>

/** The types ensure that no value is missing. */
const OUTCOMES = namesOf<FailureClass | 'ok' | 'left' | 'refused'>({
  ...{ ok: 1, left: 1, refused: 1, client: 1, context: 1, credential: 1, missing: 1, quota: 1 },
  ...{ rate_limited: 1, overloaded: 1, server: 1, timeout: 1, connect: 1, reset: 1, tls: 1 },
  ...{ malformed: 1 },
})
const AWAY = namesOf<AwayReason>({
  ...{ timeout: 1, connection: 1, readonly: 1, oom: 1, noperm: 1, open: 1, other: 1 },
})
/** With more upstreams than this, an outcome appears with the first attempt that has it. */
const UPSTREAMS_MAX = 100
const HANDSHAKE = ['client_certificate', 'plain_http', 'timeout', 'other']

/** Called with the first configuration, and with each one after it. */
export function beginSeries(metrics: Metrics, snapshot: SeriesSource): void {
  const { section, routes, upstreams } = snapshot
  beginFixed(metrics, section)
  const outcomes = upstreams.size > UPSTREAMS_MAX ? [] : OUTCOMES
  for (const name of upstreams.keys()) beginUpstream(metrics, name, outcomes)
  for (const { name, section: route } of routes.values()) {
    for (const reason of spilling(route)) metrics.overflow.at(name, reason)
    const hasObjective = (route.slo ?? section.slo) !== undefined
    if (hasObjective) metrics.sloBreaches.at(name)
    for (const good of ['true', 'false']) {
      metrics.sloRequests.at(name, 'errors', good)
      if (hasObjective) metrics.sloRequests.at(name, 'ttft', good)
    }
    for (const why of route.rollout === undefined ? [] : MEASURES)
      metrics.rolloutBacks.at(name, why)
  }
  for (const { name } of section.auth.jwt) {
    for (const result of ['success', 'failure']) metrics.jwksFetches.at(name, result)
  }
}

function beginFixed(metrics: Metrics, { gateway, rate_limits }: Snapshot['section']): void {
  for (const result of ['success', 'failure']) metrics.reloads.at(result)
  for (const by of ['client', 'upstream']) metrics.streamAborted.at(by)
  for (const reason of ['queue_full', 'undelivered']) metrics.alertsDropped.at(reason)
  for (const reason of ['tags', 'model', 'key', 'store']) metrics.usageFolded.at(reason)
  for (const code of Object.keys(ERRORS)) metrics.refused.at(code)
  if (gateway.tls !== undefined) {
    for (const reason of HANDSHAKE) metrics.handshakeFailures.at(reason)
  }
  if (rate_limits?.backend === 'redis') {
    for (const reason of AWAY) metrics.storeFailures.at(reason)
  }
}

function beginUpstream(metrics: Metrics, name: string, outcomes: readonly string[]): void {
  for (const outcome of outcomes) metrics.attempts.at(name, outcome)
  for (const family of [metrics.retries, metrics.resends, metrics.brokenEvents]) family.at(name)
}

/** A route without a fallback never spills. */
function spilling(route: Snapshot['section']['routes'][number]): Iterable<SpillReason> {
  return (route.fallback ?? []).length === 0 ? [] : spillReasons(route.overflow)
}

function namesOf<Name extends string>(names: Readonly<Record<Name, 1>>): readonly string[] {
  return Object.keys(names)
}
