/** Decides whose fault a failed request is, so that a refusal by a limit does not look like an outage. */
import type { ErrorCode } from '../../base/errors.ts'
import type { AttemptTrace, Trace } from '../../telemetry/trace/fields.ts'
import type { Blame } from './counts.ts'

const BY_CODE: Partial<Record<ErrorCode, Blame>> = {
  ERR_GW_RATE_LIMIT_LOCAL: 'limit',
  ERR_GW_BUDGET_EXCEEDED: 'limit',
  ERR_GW_INTERNAL: 'gateway',
  ERR_GW_LIMITER_UNAVAILABLE: 'gateway',
  ERR_GW_OVERLOADED: 'gateway',
  ERR_GW_UPSTREAM_RATE_LIMIT: 'upstream',
  ERR_GW_STREAM_ABORTED: 'upstream',
}

/** Outcomes of attempts that are not failures of the upstream. */
const NEUTRAL = new Set(['ok', 'left', 'refused', 'running', 'client', 'context'])

/** undefined if it succeeded. `left`: the client disconnected before its answer was complete. */
export function faultOf({ status, code }: Pick<Trace, 'status' | 'code'>, left: boolean) {
  if (left || status === 0) return 'left'
  if (status < 400) return undefined
  const known = BY_CODE[code as ErrorCode]
  if (known !== undefined) return known
  return status < 499 ? 'client' : 'upstream'
}

/** `fault`: of the whole request, for its last attempt. */
export function faultOfAttempt(
  { outcome }: Pick<AttemptTrace, 'outcome'>,
  fault: Blame | undefined,
): Blame | undefined {
  if (!NEUTRAL.has(outcome)) return 'upstream'
  // A limit or a mistake of the gateway that ends a request is not the upstream's.
  return fault === 'limit' || fault === 'gateway' ? undefined : fault
}
