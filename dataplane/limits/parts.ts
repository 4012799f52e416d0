/** The parts of a gateway that limits read and change. */
import type { InfraCost } from '../accounts/infra-cost.ts'
import type { Store } from '../accounts/store.ts'
import type { Clock } from '../base/clock.ts'
import type { Snapshot } from '../config/snapshot.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { AlertWebhook } from './alerts/webhook.ts'
import type { KnownRefusals } from './known-refusals.ts'
import type { Leases } from './leases.ts'

export interface LimitParts {
  readonly active: { readonly snapshot: Snapshot }
  readonly store: Store
  readonly clock: Clock
  readonly leases: Leases
  /** Refusals of the store that last until a moment. */
  readonly refusals: KnownRefusals
  readonly infra: InfraCost
  readonly metrics: Metrics
  readonly log: Log
  readonly webhook: AlertWebhook
}
