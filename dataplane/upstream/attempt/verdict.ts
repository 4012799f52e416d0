/** Which failures count against an upstream at its breaker. */

import type { Permit } from '../../connection/breaker.ts'
import type { Failure, FailureClass } from '../../wire/provider.ts'
import { isOfKey } from '../credentials/keys.ts'
import type { Target } from '../live/targets.ts'
import type { AttemptParts } from './parts.ts'

/**
 * Client mistakes and 429 do not show that the upstream is broken. Neither does a missing API: the client chose it, and
 * the upstream may serve other APIs.
 */
const SPARED: ReadonlySet<FailureClass> = new Set([
  'client',
  'context',
  'missing',
  'rate_limited',
  'quota',
])

/** These statuses mean that a proxy found no server, or that the server is full. */
const OF_THE_UPSTREAM: ReadonlySet<number | undefined> = new Set([502, 503, 504, 529])

/**
 * Whether the failure counts only once a request: the request itself may cause a 500 or a broken answer, and would
 * cause it again.
 */
export function isDoubtful({ class: kind, status, workaround, ofRequest }: Failure): boolean {
  if (SPARED.has(kind) || workaround !== undefined || ofRequest === true) return false
  if (OF_THE_UPSTREAM.has(status)) return false
  return kind === 'server' || kind === 'malformed' || kind === 'credential'
}

/** Whether the connection failed, not the answer on it. */
export function isCut({ class: kind, status, shown }: Failure): boolean {
  if (status !== undefined) return false
  // Only a connection that could not be made has a text for clients.
  if (kind === 'timeout') return shown !== undefined
  return kind === 'connect' || kind === 'reset' || kind === 'tls'
}

/** Whether the failure does not count against the upstream: one endpoint is at fault, or requests wait until a server listens. */
function sparesUpstream(
  failure: Failure,
  parts: Pick<AttemptParts, 'target' | 'endpoint' | 'gateway'>,
  headStatus: number,
): boolean {
  if (blamesEndpoint(failure, parts, headStatus)) return true
  return failure.isUnreached === true && parts.target.state.coldStart.unreached()
}

/** Whether only the endpoint is at fault. It gets no requests for a while; the upstream works while another endpoint does. */
function blamesEndpoint(
  failure: Failure,
  { target, endpoint, gateway }: Pick<AttemptParts, 'target' | 'endpoint' | 'gateway'>,
  headStatus: number,
): boolean {
  const { endpoints } = target.state
  if (endpoint === undefined || endpoints === undefined || !isCut(failure)) return false
  const now = gateway.clock.now()
  // A stream that was cut may have failed because of this request.
  if (headStatus === 0) endpoints.failed(endpoint, now)
  return endpoints.hasGood(now)
}

/** Notes that a key is refused or out of quota. Whether the upstream has another key, which it may accept. */
function sparesKey(
  failure: Failure,
  { key, target }: Pick<AttemptParts, 'key' | 'target'>,
): boolean {
  const { keys } = target.state.credential
  if (key === undefined || keys === undefined || !isOfKey(failure)) return false
  keys.failed(key, failure)
  return keys.hasOther([key])
}

/** The facts, besides the failure, on which the verdict depends. */
export interface Circumstances {
  readonly target: Pick<Target, 'settings'>
  readonly permit: Permit
  /** Whether the breaker has counted an earlier failure of the same request there that the request may have caused. */
  readonly hasBlamed: boolean
  readonly isTimeUp: boolean
  readonly wasSent: boolean
  /** Whether content of the answer had arrived. */
  readonly hasBegun: boolean
}

/** An upstream that was still working at the deadline of the request is not at fault. */
export function verdictOn(failure: Failure, where: Circumstances): 'failure' | 'neutral' {
  // An upstream is not at fault for a request that it never received.
  if (SPARED.has(failure.class) || !where.wasSent) return 'neutral'
  // The upstream needs another form of the request, or does not support it.
  if (failure.workaround !== undefined || failure.ofRequest === true) return 'neutral'
  if (failure.class === 'timeout' && where.isTimeUp) return 'neutral'
  if (isOnlySlow(failure, where)) return 'neutral'
  // One caller's unusual request must not open the breaker for all. A probe must still report its result.
  const isKnown = where.hasBlamed && isDoubtful(failure)
  return isKnown && where.permit.kind === 'closed' ? 'neutral' : 'failure'
}

/** Whether the first content took longer than the default: slow models are not broken. */
function isOnlySlow(failure: Failure, { hasBegun, target }: Circumstances): boolean {
  const isSilence = failure.class === 'timeout' && failure.status === undefined
  // Failed connections have a text for clients.
  if (!isSilence || failure.shown !== undefined || hasBegun) return false
  return target.settings.section.timeout_seconds === undefined
}

/** Reports the attempt's verdict on its upstream; only the first one counts. */
export class Judgement {
  readonly #parts: AttemptParts
  #isMade = false

  constructor(parts: AttemptParts) {
    this.#parts = parts
  }

  make(verdict: 'success' | 'failure' | 'neutral'): void {
    if (this.#isMade) return
    this.#isMade = true
    const { permit, target, gateway } = this.#parts
    if (verdict === 'success') noteSuccess(this.#parts)
    target.state.breaker[verdict](permit, gateway.clock.now())
  }

  /** `headStatus`: 0 before the head of an answer. */
  blame(
    shown: Failure,
    {
      headStatus,
      ...sent
    }: Pick<Circumstances, 'wasSent' | 'hasBegun'> & { readonly headStatus: number },
  ): void {
    const { target, gateway, totalAt } = this.#parts
    if (sparesKey(shown, this.#parts) || sparesUpstream(shown, this.#parts, headStatus)) {
      this.make('neutral')
      return
    }
    const isTimeUp = gateway.clock.now() >= totalAt
    const verdict = verdictOn(shown, { ...this.#parts, ...sent, isTimeUp })
    if (verdict === 'failure' && !this.#isMade) target.state.failedLast = reasonOf(shown)
    this.make(verdict)
  }
}

/** Notes that the endpoint answers and the upstream accepts the credential. */
function noteSuccess({
  target,
  endpoint,
  key,
}: Pick<AttemptParts, 'target' | 'endpoint' | 'key'>): void {
  endpoint?.succeeded()
  if (key !== undefined) target.state.credential.keys?.served(key)
  target.state.credential.refusals.clear()
}

const REASON_LENGTH_MAX = 200

/** A failure in one line: `server 500: broken`. */
function reasonOf({ class: kind, status, message }: Failure): string {
  const what = status === undefined ? kind : `${kind} ${status}`
  return `${what}: ${message.replace(/\s+/g, ' ').trim()}`.slice(0, REASON_LENGTH_MAX)
}
