/** Which failures speak against an upstream: the breaker counts these. */

import type { Permit } from '../../connection/breaker.ts'
import type { Failure, FailureClass } from '../../wire/provider.ts'
import type { Target } from '../live/targets.ts'
import type { AttemptParts } from './parts.ts'

/**
 * The client's mistakes and 429 say nothing about whether the upstream works. Neither does an API that it lacks: the client
 * chose it, and with another API the upstream may serve all others.
 */
const SPARED: ReadonlySet<FailureClass> = new Set([
  'client',
  'context',
  'missing',
  'rate_limited',
  'quota',
])

/** They say that a proxy found no server, or that the server has no place. */
const OF_THE_UPSTREAM: ReadonlySet<number | undefined> = new Set([502, 503, 504, 529])

/** Whether it counts once a request: a 500 or a broken answer may come from what was asked, and would come again. */
export function isDoubtful({ class: kind, status, concession, ofRequest }: Failure): boolean {
  if (SPARED.has(kind) || concession !== undefined || ofRequest === true) return false
  if (OF_THE_UPSTREAM.has(status)) return false
  return kind === 'server' || kind === 'malformed' || kind === 'credential'
}

/** Whether the connection failed, and not what was said over it. */
export function isCut({ class: kind, status, shown }: Failure): boolean {
  if (status !== undefined) return false
  // A connection that could not be made is worded for clients; an answer that does not come is not.
  if (kind === 'timeout') return shown !== undefined
  return kind === 'connect' || kind === 'reset' || kind === 'tls'
}

/** Whether the failure says nothing against the upstream: one endpoint is at fault, or requests wait until a server listens. */
function sparesUpstream(
  failure: Failure,
  parts: Pick<AttemptParts, 'target' | 'endpoint' | 'gateway'>,
  headStatus: number,
): boolean {
  if (blamesEndpoint(failure, parts, headStatus)) return true
  return failure.isUnreached === true && parts.target.state.coldStart.unreached()
}

/** Whether the endpoint alone is at fault, which is out then: while another one works, the upstream does. */
function blamesEndpoint(
  failure: Failure,
  { target, endpoint, gateway }: Pick<AttemptParts, 'target' | 'endpoint' | 'gateway'>,
  headStatus: number,
): boolean {
  const { endpoints } = target.state
  if (endpoint === undefined || endpoints === undefined || !isCut(failure)) return false
  const now = gateway.clock.now()
  // A stream that broke off may have met its own end.
  if (headStatus === 0) endpoints.failed(endpoint, now)
  return endpoints.hasGood(now)
}

/** The facts on which a verdict depends beside the failure. */
export interface Circumstances {
  readonly target: Pick<Target, 'settings'>
  readonly permit: Permit
  /** Whether the same request has failed there before by what it may have caused, and that has counted. */
  readonly hasBlamed: boolean
  readonly isTimeUp: boolean
  readonly wasSent: boolean
  /** Whether anything useful of the answer had come. */
  readonly hasBegun: boolean
}

/** An upstream that was still at work when the request's time was up has done nothing wrong. */
export function verdictOn(failure: Failure, where: Circumstances): 'failure' | 'neutral' {
  // An upstream is not at fault for what it never got.
  if (SPARED.has(failure.class) || !where.wasSent) return 'neutral'
  // It only wants the request in another form, or cannot do what this one asked for.
  if (failure.concession !== undefined || failure.ofRequest === true) return 'neutral'
  if (failure.class === 'timeout' && where.isTimeUp) return 'neutral'
  if (isOnlySlow(failure, where)) return 'neutral'
  // One caller's odd request must not open it for all. A probe still has to say how it went.
  const isKnown = where.hasBlamed && isDoubtful(failure)
  return isKnown && where.permit.kind === 'closed' ? 'neutral' : 'failure'
}

/** Whether it took longer than the default for its first content: slow models are not broken ones. */
function isOnlySlow(failure: Failure, { hasBegun, target }: Circumstances): boolean {
  const isSilence = failure.class === 'timeout' && failure.status === undefined
  // A connection that could not be made is worded for clients.
  if (!isSilence || failure.shown !== undefined || hasBegun) return false
  return target.settings.section.timeout_seconds === undefined
}

/** The verdict of an attempt on its upstream: the first counts, and no other. */
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
    if (sparesUpstream(shown, this.#parts, headStatus)) {
      this.make('neutral')
      return
    }
    const isTimeUp = gateway.clock.now() >= totalAt
    const verdict = verdictOn(shown, { ...this.#parts, ...sent, isTimeUp })
    if (verdict === 'failure' && !this.#isMade) target.state.failedLast = reasonOf(shown)
    this.make(verdict)
  }
}

/** The endpoint answers again, and the upstream takes the credential. */
function noteSuccess({ target, endpoint }: Pick<AttemptParts, 'target' | 'endpoint'>): void {
  endpoint?.succeeded()
  target.state.credential.refusals.clear()
}

const REASON_LENGTH_MAX = 200

/** A failure in one line: `server 500: broken`. */
function reasonOf({ class: kind, status, message }: Failure): string {
  const what = status === undefined ? kind : `${kind} ${status}`
  return `${what}: ${message.replace(/\s+/g, ' ').trim()}`.slice(0, REASON_LENGTH_MAX)
}
