/** The input and the results of an attempt. */
import type { Clock, Deadlines } from '../../base/clock.ts'
import type { Permit } from '../../connection/breaker.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { AttemptTrace } from '../../telemetry/trace/fields.ts'
import type { PassedOver, WaitTrace } from '../../telemetry/trace/parts.ts'
import type { MeteredAttempt } from '../../tokens/metered-attempt.ts'
import type { CostWriter } from '../../wire/dialect.ts'
import type { AnyPair } from '../../wire/inspection.ts'
import type { Failure } from '../../wire/provider.ts'
import type { OpenedStream } from '../answer/opened-stream.ts'
import type { Sending } from '../encoding/pool-request.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'
import type { Shares } from '../groups/newer.ts'

export type Outcome =
  | { readonly kind: 'whole'; readonly body: Buffer | string }
  | { readonly kind: 'stream'; readonly stream: OpenedStream }
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'left' }
  /** The refusal of the answer by an inspector, or of the request by a guardrail. */
  | { readonly kind: 'refused'; readonly error: Error }

/** Observes the start and end of attempts and waits, because the client may need an answer in between. */
export interface Witness {
  passedOver(upstreams: readonly PassedOver[]): void
  waited(wait: WaitTrace): void
  began(attempt: AttemptTrace): void
  ended(attempt: AttemptTrace): void
}

/** The parts of the gateway that an attempt uses. */
export interface Runner {
  readonly clock: Clock
  readonly deadlines: Deadlines
  readonly metrics: Metrics
  /** Absent: every route is served without its rollout. */
  readonly rollouts?: Shares
}

export interface AttemptParts extends Sending {
  /** The client's wire and the target's, with an inspector between them if there is one. */
  readonly pair: AnyPair
  /** Permission of the target's breaker; the attempt returns it once. */
  readonly permit: Permit
  /** The endpoint of the attempt; undefined: the upstream's host name. */
  readonly endpoint?: Endpoint | undefined
  /**
   * Released when the upstream is no longer busy with the attempt; undefined if the upstream is not
   * shared.
   */
  readonly place?: { release(): void } | undefined
  /** The index of the key that the request carries, if the upstream has several. */
  readonly key?: number | undefined
  readonly metered: MeteredAttempt
  /** Present if the stream states its cost. */
  readonly costs?: CostWriter | undefined
  readonly gateway: Runner
  /** Monotonic deadline of the request. */
  readonly totalAt: number
  /** Longest time until the answer begins, if the upstream's own limit is longer. */
  readonly patienceMs?: number | undefined
  /** Whether the breaker has counted an earlier failure of this request there that the request may have caused. */
  readonly hasBlamed: boolean
}

/** The parts of the gateway that planning uses. */
export interface Planner {
  readonly clock: Clock
  readonly metrics: Metrics
  /** Uniform in [0, 1). */
  readonly random: () => number
}
