/** Holds one request while no upstream of its route is eligible but one may start. */
import type { Deadline } from '../../base/clock.ts'
import { GatewayError } from '../../base/errors.ts'
import type { Presence } from '../../call/presence.ts'
import type { Journey } from '../attempt/journey.ts'
import type { Runner, Witness } from '../attempt/parts.ts'
import type { Ending, Next } from '../attempt/plan.ts'
import { primariesOf } from '../attempt/spill.ts'
import type { Target } from '../live/targets.ts'
import type { Waiter } from './waiter.ts'

/** Retry-After of these refusals, because the load time of a model is unknown. */
const RETRY_SECONDS = 10

interface HeldRequest {
  readonly presence: Presence
  /** Start of the waits' times, on the monotonic clock. */
  readonly receivedAt: number
  readonly witness: Pick<Witness, 'waited'>
}

export class Hold {
  readonly #journey: Journey
  readonly #asked: HeldRequest
  readonly #totalAt: number
  readonly #runner: Pick<Runner, 'clock' | 'deadlines'>
  /** When this request gives up; set as it first waits. */
  #until: number | undefined
  /** The error of a request that waited too long, or could not wait. */
  refusal: GatewayError | undefined

  /** `totalAt`: the monotonic deadline of the request. */
  constructor(
    journey: Journey,
    asked: HeldRequest,
    totalAt: number,
    runner: Pick<Runner, 'clock' | 'deadlines'>,
  ) {
    this.#journey = journey
    this.#asked = asked
    this.#totalAt = totalAt
    this.#runner = runner
  }

  /** The wait before the request is planned again; undefined: follow the plan. */
  before(next: Next<Target>): Promise<void> | undefined {
    if (this.refusal !== undefined) return undefined
    const awaited = awaitedBy(this.#journey, next, this.#until !== undefined)
    return awaited && this.#wait(awaited.target, awaited.only)
  }

  /** Ends when any upstream, or `only`, is eligible, at the deadline, or when the client leaves. */
  async #wait(target: Target, only: Target | undefined): Promise<void> {
    const { clock, deadlines } = this.#runner
    const { presence, receivedAt, witness } = this.#asked
    const { coldStart } = target.state
    const beganAt = clock.now()
    const waitMs = (coldStart.settings?.max_wait_seconds ?? 0) * 1000
    this.#until ??= Math.min(beganAt + waitMs, this.#totalAt)
    const tell = (outcome: string) => {
      const [started_ms, ended_ms] = [beganAt - receivedAt, clock.now() - receivedAt]
      witness.waited({ upstream: target.name, started_ms, ended_ms, outcome })
    }
    const waiter = coldStart.enter(() => this.#journey.isOpen(only))
    if (waiter === undefined) {
      this.refusal = crowded(target)
      tell('no_room')
      return
    }
    const expiry = new Expiry(waiter, this.#until)
    deadlines.add(expiry)
    presence.begin({ leave: () => waiter.leave('left') })
    const outcome = await waiter.over
    deadlines.remove(expiry)
    presence.done()
    tell(outcome)
    if (outcome === 'gave_up') this.refusal = tooLong(target, clock.now() - beganAt)
    this.#journey.again()
  }
}

interface Awaited {
  readonly target: Target
  /** No other event ends this wait. */
  readonly only: Target | undefined
}

/** The upstream for which a request waits before its next attempt; undefined if it need not wait. */
export function awaitedBy(
  journey: Journey,
  next: Next<Target>,
  hasWaited = false,
): Awaited | undefined {
  const preferred = preferredBy(journey)
  if (preferred !== undefined) return { target: preferred, only: preferred }
  const target = next.kind === 'none' ? lastResort(journey, next.why, hasWaited) : undefined
  return target && { target, only: undefined }
}

/** The primary, if the request should wait for it before it uses a fallback. */
function preferredBy(journey: Journey): Target | undefined {
  // A strategy among several chooses another member, and needs no wait.
  const [primary, ...others] = journey.spill === undefined ? [] : primariesOf(journey.spill)
  if (others.length > 0) return undefined
  const { settings, isCold } = primary?.state.coldStart ?? {}
  if (settings?.prefer_wait !== true || !isCold || primary === undefined) return undefined
  return journey.mayAwait(primary) ? primary : undefined
}

function lastResort(journey: Journey, why: Ending, hasWaited: boolean): Target | undefined {
  const { attempts, targets } = journey
  if (why === 'client') return undefined
  // The bound on attempts applies if any attempt was sent.
  if (why === 'attempts_spent' && !attempts.every((one) => one.isUnreached)) return undefined
  return targets.find((target) => {
    const { settings, isCold } = target.state.coldStart
    if (settings === undefined || !journey.mayAwait(target)) return false
    // An upstream that started may be full of requests that waited longer.
    return isCold || (hasWaited && why === 'saturated' && target.state.fair === undefined)
  })
}

class Expiry implements Deadline {
  seat = -1
  readonly due: number
  readonly #waiter: Waiter

  constructor(waiter: Waiter, due: number) {
    this.#waiter = waiter
    this.due = due
  }

  expire(): void {
    this.#waiter.leave('gave_up')
  }
}

/** The error if the limit of waiting requests is reached. */
export function crowded({ name, state }: Target): GatewayError {
  return unserved(
    `Upstream "${name}" has no endpoint, and ${state.coldStart.waiting} requests wait for one already.`,
  )
}

function tooLong({ name }: Target, ms: number): GatewayError {
  return unserved(
    `Upstream "${name}" has no endpoint; the request has waited ${Math.round(ms / 1000)} s for one.`,
  )
}

function unserved(message: string): GatewayError {
  return new GatewayError('ERR_GW_NO_HEALTHY_UPSTREAM', message, {
    retryAfterSeconds: RETRY_SECONDS,
  })
}
