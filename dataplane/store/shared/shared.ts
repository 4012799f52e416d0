/**
 * The store that replicas share. While it is away, a local share of each limit decides, or requests are refused. No usage is
 * lost meanwhile, and none is charged twice.
 */

import type {
  AdmitRequest,
  AdmitResult,
  Amount,
  Beat,
  Extension,
  Figures,
  Rules,
  Settlement,
  Settling,
  Soon,
  Store,
} from '../../accounts/store.ts'
import { GatewayError } from '../../base/errors.ts'
import { StoreAway } from '../redis/link.ts'
import { LateSettlements } from './late-settlements.ts'
import type { LocalShare } from './local-share.ts'

/** Its verbs reject with StoreAway. */
export interface Adopting extends Store {
  /** From now on it counts a request that was admitted without it, at a moment of the wall clock. */
  adopt(request: AdmitRequest, admittedAt: number): void
}

export interface SharedOptions {
  readonly store: Adopting
  readonly local: LocalShare
  readonly failOpen: boolean
  /** Whether it is known to be away, so that no call is made. */
  readonly isAway: () => boolean
  readonly newId: () => string
  /** A request was admitted: by the store, or by the local share. */
  readonly onAdmitted: (isLocal: boolean) => void
  /** A request was refused because the store is away. */
  readonly onUnavailable: (tenant: string) => void
  readonly onWaiting: (settlements: number) => void
}

interface LocallyAdmitted {
  readonly request: AdmitRequest
  /** Milliseconds since the epoch. */
  readonly admittedAt: number
}

const NONE: Amount = { tokens: 0, nanos: 0 }
const NO_IDS: readonly string[] = []

export class SharedStore implements Store {
  readonly isShared = true
  readonly #options: SharedOptions
  readonly #late: LateSettlements
  /** Running requests that the local share admitted: the store has never heard of them. */
  readonly #ours = new Map<string, LocallyAdmitted>()
  readonly #wallClock: () => number
  /** The store is back, and does not know yet all that was used here without it. */
  #isCatchingUp = false
  /** Settlements that were sent and not answered. */
  #sent = 0
  #onNoneSent: () => void = () => undefined

  constructor(options: SharedOptions, wallClock: () => number) {
    this.#options = options
    this.#wallClock = wallClock
    this.#late = new LateSettlements({
      deliver: async (settling) => await options.store.settle(settling),
      isAway: options.isAway,
      newId: options.newId,
      onSize: options.onWaiting,
    })
  }

  admit(request: AdmitRequest): Soon<AdmitResult> {
    const { store, local, failOpen } = this.#options
    if (this.#isAlone) return this.#admitAlone(request)
    // Where nothing is admitted without the store, an outage leaves nothing to make up for.
    const refused = failOpen ? local.restrain(request) : undefined
    if (refused !== undefined) return refused
    const made = store.admit(request)
    if (!(made instanceof Promise)) return this.#followed(request, made)
    return made.then(
      (result) => this.#followed(request, result),
      (error: unknown) => {
        if (!(error instanceof StoreAway)) throw error
        return this.#admitAlone(request, error.maybeApplied)
      },
    )
  }

  async extend(extension: Extension): Promise<boolean> {
    const { isAway, store, local } = this.#options
    if (isAway()) return local.extend(extension)
    try {
      const isRaised = await store.extend(extension)
      if (isRaised) local.raised(extension)
      return isRaised
    } catch {
      return local.extend(extension)
    }
  }

  async renew(beats: readonly Beat[]): Promise<readonly string[]> {
    const { isAway, store, local } = this.#options
    local.renew(beats)
    if (isAway()) return NO_IDS
    try {
      return await store.renew(beats)
    } catch {
      return NO_IDS
    }
  }

  settle(settling: Settling): Promise<Settlement> {
    const { isAway, store, local } = this.#options
    local.settle(settling)
    const ours = this.#ours.get(settling.id)
    if (ours !== undefined) {
      this.#ours.delete(settling.id)
      return this.#late.addUnknown({ ...settling, admittedAt: ours.admittedAt })
    }
    return isAway() ? this.#late.add(settling) : this.#send(store, settling)
  }

  /** Figures younger than `ageMsMax` are good enough, and need no call. */
  async read(tenant: string, rules: Rules, ageMsMax = 0): Promise<Figures> {
    const { store, local, failOpen } = this.#options
    const known = ageMsMax > 0 ? local.lastKnown(tenant, ageMsMax) : undefined
    if (!this.#isAlone) {
      if (known !== undefined) return known
      try {
        const figures = await store.read(tenant, rules)
        local.learn(tenant, figures)
        return figures
      } catch {
        // As if it had been known to be away.
      }
    }
    if (failOpen) return local.read(tenant, rules)
    const last = local.lastKnown(tenant, Number.POSITIVE_INFINITY) ?? local.read(tenant, rules)
    return { ...last, isOld: true }
  }

  /** The store is away. */
  left(): void {
    this.#options.local.begin()
  }

  /** The store is back: what runs is counted there from now on. */
  returned(): void {
    this.#options.local.end()
    for (const { request, admittedAt } of this.#ours.values()) {
      this.#options.store.adopt(request, admittedAt)
    }
    this.#ours.clear()
    void this.#catchUp()
  }

  /** Sends the settlements that wait. */
  deliver(): void {
    if (this.#late.size > 0) void this.#counted(this.#late.deliver())
  }

  /** Resolves once all settlements are delivered, or after `mostMs`, with how many are left. */
  async flush(mostMs: number): Promise<number> {
    this.deliver()
    await new Promise<void>((resolve) => {
      const timeout = setTimeout(resolve, mostMs)
      this.#onNoneSent = () => {
        clearTimeout(timeout)
        resolve()
      }
      if (this.#sent === 0) this.#onNoneSent()
    })
    return this.#late.size
  }

  /** A store that is back knows too little at first: budgets would be spent twice. Closed, leases that last stand for it. */
  get #isAlone(): boolean {
    const { isAway, failOpen, local } = this.#options
    if (isAway()) return true
    return (this.#isCatchingUp || local.hasJustEnded) && (failOpen || local.outlastedLeases)
  }

  async #catchUp(): Promise<void> {
    this.#isCatchingUp = this.#late.size > 0
    await this.#counted(this.#late.deliver())
    this.#isCatchingUp = false
  }

  #followed(request: AdmitRequest, result: AdmitResult): AdmitResult {
    this.#options.local.follow(request, result)
    if (result.outcome !== 'refused') this.#options.onAdmitted(false)
    return result
  }

  /** Throws ERR_GW_LIMITER_UNAVAILABLE unless there is a local share. */
  #admitAlone(request: AdmitRequest, mayHold = false): AdmitResult {
    const { failOpen, local, onAdmitted, onUnavailable, isAway, store } = this.#options
    if (!failOpen) {
      if (mayHold) this.#undo(request)
      onUnavailable(request.tenant)
      throw unavailable()
    }
    const result = local.admit(request)
    if (result.outcome === 'refused') {
      if (mayHold) this.#undo(request)
      return result
    }
    const admittedAt = this.#wallClock()
    if (isAway()) this.#ours.set(request.id, { request, admittedAt })
    else store.adopt(request, admittedAt)
    onAdmitted(true)
    return result
  }

  /** The store may have admitted it, though no answer came: its slot and hold are given back once the store answers. */
  #undo({ tenant, id, rules: { scoped } }: AdmitRequest): void {
    this.#late.undo({ tenant, id, used: NONE, budget: undefined, scoped })
  }

  #send(store: Store, settling: Settling): Promise<Settlement> {
    return this.#counted(Promise.resolve(store.settle(settling))).catch((error: unknown) => {
      if (!(error instanceof StoreAway)) throw error
      return this.#late.add(settling)
    })
  }

  #counted<T>(promise: Promise<T>): Promise<T> {
    this.#sent++
    const done = () => {
      this.#sent--
      if (this.#sent === 0) this.#onNoneSent()
    }
    promise.then(done, done)
    return promise
  }
}

/** Never 429: the tenant has exceeded nothing. */
export function unavailable(): GatewayError {
  return new GatewayError(
    'ERR_GW_LIMITER_UNAVAILABLE',
    'The store that counts limits and budgets does not answer. Try again in a moment.',
    { retryAfterSeconds: 1 },
  )
}
