/** The gauges of an upstream's health and breaker. */
import type { BreakerState } from '../../connection/breaker.ts'
import type { Metrics } from '../../telemetry/metrics.ts'

const BREAKER_STATES: readonly BreakerState[] = ['closed', 'open', 'half_open']

/** Unknown values have no series. */
export function showHealth(
  { healthy }: Metrics,
  upstream: string,
  isHealthy: boolean | undefined,
): void {
  if (isHealthy === undefined) healthy.retain('upstream', (name) => name !== upstream)
  else healthy.at(upstream).value = isHealthy ? 1 : 0
}

export function showBreaker({ breakerState }: Metrics, upstream: string, state: BreakerState) {
  for (const each of BREAKER_STATES) breakerState.at(upstream, each).value = each === state ? 1 : 0
}
