/** The turn of one request at shared upstreams: it takes a place, or waits for one. */
import { GatewayError } from '../../base/errors.ts'
import type { Presence } from '../../call/presence.ts'
import type { Journey } from '../attempt/journey.ts'
import type { Runner, Witness } from '../attempt/parts.ts'
import type { Next } from '../attempt/plan.ts'
import { isPrimary, leavingOf } from '../attempt/spill.ts'
import type { Target } from '../live/targets.ts'
import type { Applicant, FairQueue } from './fair-queue.ts'
import type { Place } from './place.ts'
import { type Parting, Waiter } from './waiter.ts'

interface QueuedRequest {
  readonly presence: Presence
  /** Start of the waits' times, on the monotonic clock. */
  readonly receivedAt: number
  readonly witness: Pick<Witness, 'waited'>
}

export interface Queued {
  readonly target: Target
  readonly queue: FairQueue
}

export class Turn {
  readonly #journey: Journey
  readonly #asked: QueuedRequest
  readonly #applicant: Applicant
  readonly #totalAt: number
  readonly #runner: Runner
  #held: { readonly target: Target; readonly place: Place<Waiter> } | undefined
  /** All waits of the request together. */
  #waitedMs = 0
  /** The error of a request that waited too long, or found no room to wait. */
  refusal: GatewayError | undefined

  /** `totalAt`: the monotonic deadline of the request. */
  constructor(
    journey: Journey,
    asked: QueuedRequest,
    applicant: Applicant,
    totalAt: number,
    runner: Runner,
  ) {
    this.#journey = journey
    this.#asked = asked
    this.#applicant = applicant
    this.#totalAt = totalAt
    this.#runner = runner
    journey.mayQueue = true
  }

  /** The wait before the request is planned again; undefined: follow the plan. */
  before(next: Next<Target>): Promise<void> | undefined {
    if (next.kind === 'attempt') return this.#secure(next.candidate)
    if (next.why !== 'saturated' || this.refusal !== undefined) return undefined
    const full = queuesOf(this.#journey)
    return full.length === 0 ? undefined : this.#wait(full)
  }

  /** The place of an attempt that begins now; undefined if the upstream is not shared. */
  placeAt(target: Target): Place<Waiter> | undefined {
    const held = this.#held
    if (held?.target !== target) return target.state.fair?.force(this.#applicant)
    this.#held = undefined
    this.#journey.placed = undefined
    return held.place
  }

  /** Releases a place that no attempt has used. */
  close(): void {
    const held = this.#held
    this.#held = undefined
    this.#journey.placed = undefined
    held?.place.release()
  }

  #secure(target: Target): Promise<void> | undefined {
    if (this.#held?.target === target) return undefined
    this.close()
    const { fair: queue } = target.state
    if (queue === undefined) return undefined
    const place = queue.take(this.#applicant)
    if (place === undefined) return this.#wait([{ target, queue }])
    this.#hold(target, place)
    return undefined
  }

  #hold(target: Target, place: Place<Waiter>): void {
    this.#held = { target, place }
    this.#journey.placed = target
  }

  async #wait(full: readonly Queued[]): Promise<void> {
    const { clock, deadlines } = this.#runner
    const { presence } = this.#asked
    const beganAt = clock.now()
    const waitMs = Math.max(...full.map(({ queue }) => queue.settings.max_wait_seconds)) * 1000
    const until = Math.min(beganAt + waitMs - this.#waitedMs, this.#totalAt)
    const waiter = new Waiter(until, this.#applicant.tokensMax)
    for (const { queue } of full) queue.join(waiter, this.#applicant)
    deadlines.add(waiter)
    presence.begin({ leave: () => waiter.leave('left') })
    const parting = await waiter.over
    deadlines.remove(waiter)
    presence.done()
    this.#waitedMs += clock.now() - beganAt
    const { granted } = waiter
    const at = full.find(({ queue }) => queue === granted?.line) ?? (full[0] as Queued)
    if (granted !== undefined) this.#hold(at.target, granted.place)
    this.#tell(at.target.name, parting, beganAt)
    if (parting === 'gave_up' || parting === 'no_room') {
      this.#journey.mayQueue = false
      this.refusal = refusalOf(at, parting, this.#waitedMs, this.#applicant)
    }
    this.#journey.reopen()
  }

  #tell(upstream: string, outcome: Parting, beganAt: number): void {
    const { clock, metrics } = this.#runner
    const { receivedAt, witness } = this.#asked
    const now = clock.now()
    const [started_ms, ended_ms] = [beganAt - receivedAt, now - receivedAt]
    witness.waited({ upstream, for: 'place', started_ms, ended_ms, outcome })
    metrics.fairnessSeconds.at(upstream, outcome).observe((now - beganAt) / 1000)
  }
}

/** The full upstreams to which the request could go if it had a place. */
export function queuesOf(journey: Journey): Queued[] {
  const { spill, targets } = journey
  const stays = spill !== undefined && !leavingOf(journey).allowed
  return targets.flatMap((target) => {
    const { fair: queue } = target.state
    if (queue === undefined || (stays && !isPrimary(spill, target))) return []
    const isUntried = journey.attempts.every(({ candidate }) => candidate !== target)
    const isAwaited = isUntried && journey.mayAwait(target)
    return isAwaited && journey.standing(target) === 'full' ? [{ target, queue }] : []
  })
}

function refusalOf(
  { target, queue }: Queued,
  parting: Parting,
  ms: number,
  applicant: Applicant,
): GatewayError {
  const why =
    parting === 'no_room'
      ? `${queue.waiting} requests wait for a place already, yours with the most for its weight`
      : `the request has waited ${Math.round(ms / 1000)} s for a place`
  return new GatewayError('ERR_GW_QUEUE_SATURATED', `Upstream "${target.name}" is full; ${why}.`, {
    retryAfterSeconds: queue.retryAfterSeconds(applicant),
  })
}
