/**
 * The store that replicas share. During an outage, a local share of each limit decides, or requests are refused. No
 * usage is lost, and none is charged twice.
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
import type { Standings } from '../escrow/standings.ts'
import { StoreAway } from '../redis/link.ts'
import { LateSettlements } from './late-settlements.ts'
import type { LocalShare } from './local-share.ts'

/** A store whose verbs reject with StoreAway. */
export interface Adopting extends Store {
  /** Adds a request that was admitted without the store, at a time of the wall clock. */
  adopt(request: AdmitRequest, admittedAt: number): void
  /** Admits a request without a call, while the store is away too; undefined if it has to be asked. */
  admitHere?(request: AdmitRequest): AdmitResult | undefined
  /** Whether a running request was admitted so; it is settled so, too. */
  hasHere?(id: string): boolean
  /** The figures of a tenant that are known without a call, if they are not older than `ageMsMax`. */
  figuresHere?(tenant: string, rules: Rules, ageMsMax: number): Figures | undefined
  /** Requests that were admitted without a call, and the figures of their accounts. */
  readonly standings?: Standings | undefined
  /** Sends what was settled without a call. */
  close?(): Promise<void>
}

export interface SharedOptions {
  readonly store: Adopting
  readonly local: LocalShare
  readonly failOpen: boolean
  /** Whether the store is known to be unreachable, so that no call is made. */
  readonly isAway: () => boolean
  readonly newId: () => string
  /** Called for each decision; the local share tells its admissions only. */
  readonly onDecided: (by: Decider, isAdmitted: boolean) => void
  /** Called for each refusal during an outage. */
  readonly onUnavailable: (tenant: string) => void
  readonly onWaiting: (settlements: number) => void
}

/** A slice decides without a call. */
export type Decider = 'slice' | 'store' | 'local'

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
  /** Running requests that the local share admitted and the store does not know. */
  readonly #ours = new Map<string, LocallyAdmitted>()
  readonly #wallClock: () => number
  /** Whether the store is back but does not have all local usage yet. */
  #isCatchingUp = false
  /** Settlements that were sent and have no answer. */
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
    const { store, local, failOpen, onDecided } = this.#options
    const isAlone = this.#isAlone
    // Without a local share, an outage leaves no usage to catch up.
    const refused = failOpen && !isAlone ? local.restrain(request) : undefined
    if (refused !== undefined) return refused
    const made = store.admitHere?.(request)
    if (made !== undefined) {
      // At the beginning of an outage the local share gets all that runs.
      if (isAlone || local.remembers) local.follow(request, made)
      onDecided('slice', true)
      return made
    }
    if (isAlone) return this.#admitAlone(request)
    return Promise.resolve(store.admit(request)).then(
      (result) => this.#followed(request, result),
      (error: unknown) => {
        if (!(error instanceof StoreAway)) throw error
        return this.#admitAlone(request, error.maybeApplied && request.ratesOnly !== true)
      },
    )
  }

  async extend(extension: Extension): Promise<boolean> {
    const { isAway, store, local } = this.#options
    if (isAway() && !store.hasHere?.(extension.id)) return local.extend(extension)
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

  settle(settling: Settling): Soon<Settlement> {
    const { isAway, store, local } = this.#options
    if (store.hasHere?.(settling.id)) {
      if (local.remembers) local.settle(settling)
      return store.settle(settling)
    }
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
    if (!this.#isAlone) {
      const known =
        ageMsMax > 0
          ? (store.figuresHere?.(tenant, rules, ageMsMax) ?? local.lastKnown(tenant, ageMsMax))
          : undefined
      if (known !== undefined) return known
      try {
        const figures = await store.read(tenant, rules)
        local.learn(tenant, figures)
        return figures
      } catch {
        // Continues as in a known outage.
      }
    }
    if (failOpen) return local.read(tenant, rules)
    const last = local.lastKnown(tenant, Number.POSITIVE_INFINITY) ?? local.read(tenant, rules)
    return { ...last, isOld: true }
  }

  /** Notes the start of an outage. */
  left(): void {
    const { store, local } = this.#options
    local.begin()
    const { standings } = store
    if (standings !== undefined) local.learnAll(standings)
  }

  /** Notes the end of an outage: running requests are counted in the store again. */
  returned(): void {
    this.#options.local.end()
    for (const { request, admittedAt } of this.#ours.values()) {
      this.#options.store.adopt(request, admittedAt)
    }
    this.#ours.clear()
    void this.#catchUp()
  }

  /** Sends waiting settlements. */
  deliver(): void {
    if (this.#late.size > 0) void this.#counted(this.#late.deliver())
  }

  /** Resolves after all settlements are delivered, or after `mostMs`, with the number of the rest. */
  async flush(mostMs: number): Promise<number> {
    this.deliver()
    const { close } = this.#options.store
    if (close) void this.#counted(close.call(this.#options.store))
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

  /**
   * Whether the local share decides: a returning store lacks usage at first, so budgets would be spent twice. Without
   * fail_open, lasting leases stand for the usage.
   */
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
    this.#options.onDecided('store', result.outcome !== 'refused')
    return result
  }

  /** Throws ERR_GW_LIMITER_UNAVAILABLE unless there is a local share. */
  #admitAlone(request: AdmitRequest, mayHold = false): AdmitResult {
    const { failOpen, local, onDecided, onUnavailable, isAway, store } = this.#options
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
    onDecided('local', true)
    if (request.ratesOnly === true) return result
    const admittedAt = this.#wallClock()
    if (isAway()) this.#ours.set(request.id, { request, admittedAt })
    else store.adopt(request, admittedAt)
    return result
  }

  /**
   * The store may have admitted the request although no answer came; its slot and hold are released after the store
   * answers again.
   */
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

/** Never 429, because the tenant has exceeded no limit. */
export function unavailable(): GatewayError {
  return new GatewayError(
    'ERR_GW_LIMITER_UNAVAILABLE',
    'The store that counts limits and budgets does not answer. Try again in a moment.',
    { retryAfterSeconds: 1 },
  )
}
