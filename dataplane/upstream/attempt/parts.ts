/** The values that an attempt begins with, and those that it ends with. */
import type { Clock, Deadlines } from '../../base/clock.ts'
import type { Permit } from '../../connection/breaker.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { AttemptTrace, PassedOver, WaitTrace } from '../../telemetry/traces.ts'
import type { MeteredAttempt } from '../../tokens/metered-attempt.ts'
import type { AnyPair } from '../../wire/inspection.ts'
import type { Failure } from '../../wire/provider.ts'
import type { OpenedStream } from '../answer/opened-stream.ts'
import type { Sending } from '../encoding/pool-request.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'

export type Outcome =
  | { readonly kind: 'whole'; readonly body: Buffer | string }
  | { readonly kind: 'stream'; readonly stream: OpenedStream }
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'left' }
  /** An inspector has refused the answer, or a guardrail the request. */
  | { readonly kind: 'refused'; readonly error: Error }

/** Hears of attempts and waits as they begin and end, because the client may have to be answered in between. */
export interface Witness {
  passedOver(upstreams: readonly PassedOver[]): void
  waited(wait: WaitTrace): void
  began(attempt: AttemptTrace): void
  ended(attempt: AttemptTrace): void
}

/** The parts of the gateway that an attempt runs on. */
export interface Runner {
  readonly clock: Clock
  readonly deadlines: Deadlines
  readonly metrics: Metrics
}

export interface AttemptParts extends Sending {
  /** The client's wire and the target's, perhaps with an inspector between them. */
  readonly pair: AnyPair
  /** Leave of the target's breaker; handed back by the attempt, once. */
  readonly permit: Permit
  /** Where it is sent; undefined: to the name of the upstream. */
  readonly endpoint?: Endpoint | undefined
  readonly metered: MeteredAttempt
  readonly gateway: Runner
  /** Monotonic moment at which the request's time is up. */
  readonly totalAt: number
  /** Whether this request has already failed there by what it may have caused itself, and that has counted. */
  readonly hasBlamed: boolean
}
