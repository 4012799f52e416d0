/** A request on its way to upstreams, and the terms of its admission. */
import type { Caller } from '../../../call/call.ts'
import type { Presence } from '../../../call/presence.ts'
import type { AttemptQuotas } from '../../../limits/attempt-quotas.ts'
import type { Continued } from '../../../telemetry/correlation.ts'
import type { Witness } from '../../../upstream/attempt/parts.ts'
import type { Client } from '../../../upstream/endpoints/affinity-key.ts'
import type { AnswerCost, Dialect } from '../../../wire/dialect.ts'
import type { ModelRequest } from '../../../wire/inner-form.ts'
import type { Inspector } from '../../../wire/inspection.ts'
import type { Admission } from '../admit.ts'

export interface AttemptedRequest {
  readonly request: ModelRequest
  /** The client's wire. */
  readonly dialect: Dialect
  /** Reads each answer before the client does. */
  readonly inspector: Inspector | undefined
  readonly ids: Continued
  /** Start of the times of attempts, on the monotonic clock. */
  readonly receivedAt: number
  readonly presence: Presence
  readonly witness: Witness
  /** The cost so far; present if the stream states it. */
  readonly cost?: (() => AnswerCost) | undefined
  /** Score of the prompt's difficulty; undefined unless the route needs it. */
  readonly difficulty: number | undefined
  /** Session of the request, which decides its endpoint; absent: only the body decides. */
  readonly client?: Client
  readonly caller?: Caller
  /** Absent if no upstream has a quota. */
  readonly quotas?: AttemptQuotas | undefined
}

export type AttemptAdmission = Pick<
  Admission,
  'route' | 'lane' | 'fits' | 'yields' | 'totalAt' | 'maxTokens' | 'meter'
>
