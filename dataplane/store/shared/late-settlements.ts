/** Stores settlements during an outage of the shared store, within a bound, and delivers them after its return. */
import type { Amount, Settlement, Settling } from '../../accounts/store.ts'

/** About 30 MB. Further settlements are summed up by tenant, so that no usage is lost. */
const WAITING_MAX = 100_000

/** Most concurrent deliveries, so that a returning store is not flooded. */
const DELIVERIES = 16

interface Late {
  readonly settling: Settling
  /** Called after the delivery; absent if no caller waits. */
  readonly resolve: ((settlement: Settlement) => void) | undefined
}

export interface LateSettlementsOptions {
  /** Rejects if the store is unreachable. The settlement may still have been applied, because the store takes each id once. */
  readonly deliver: (settling: Settling) => Promise<Settlement>
  readonly isAway: () => boolean
  /** Makes an id that no request has. */
  readonly newId: () => string
  /** Called with the number of waiting settlements. */
  readonly onSize: (size: number) => void
}

export class LateSettlements {
  readonly #options: LateSettlementsOptions
  readonly #waiting = new Map<string, Late>()
  /** Sums by day, tenant and other charged budgets. */
  readonly #sums = new Map<string, Settling>()
  #delivery: Promise<void> | undefined

  constructor(options: LateSettlementsOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#waiting.size + this.#sums.size
  }

  /** Resolves once the store has taken it. */
  add(settling: Settling): Promise<Settlement> {
    return new Promise((resolve) => this.#add({ settling, resolve }))
  }

  /** Releases the possible holds of an admission without an answer. */
  undo(settling: Settling): void {
    this.#add({ settling, resolve: undefined })
  }

  /**
   * Adds the settlement of a request that the store does not know. If too many wait, it is added to the sum of its
   * tenant and day, because only its usage matters.
   */
  addUnknown(settling: Settling): Promise<Settlement> {
    if (this.#waiting.size < WAITING_MAX) return this.add(settling)
    const day = Math.floor((settling.admittedAt ?? 0) / 86_400_000)
    const scopes = settling.scoped?.map(({ scope }) => scope.id).join('\n') ?? ''
    const key = `${day} ${settling.tenant}\n${scopes}`
    const sum = this.#sums.get(key)
    this.#sums.set(key, {
      ...settling,
      id: sum?.id ?? this.#options.newId(),
      used: plus(settling.used, sum?.used),
    })
    this.#options.onSize(this.size)
    return Promise.resolve({ charged: true, crossed: [] })
  }

  /** Sends waiting settlements, oldest first, until none is left or the store is unreachable again. Never rejects. */
  deliver(): Promise<void> {
    this.#delivery ??= this.#deliverAll().finally(() => {
      this.#delivery = undefined
    })
    return this.#delivery
  }

  async #deliverAll(): Promise<void> {
    while (this.size > 0 && !this.#options.isAway()) {
      this.#moveSums()
      const batch = [...this.#waiting.values().take(DELIVERIES)]
      const taken = await Promise.all(batch.map((late) => this.#deliverOne(late)))
      if (taken.includes(false)) return
    }
  }

  #add(late: Late): void {
    const { id } = late.settling
    // The end of a request replaces an earlier undo of its admission.
    this.#waiting.set(id, late)
    this.#options.onSize(this.size)
  }

  async #deliverOne(late: Late): Promise<boolean> {
    try {
      const settlement = await this.#options.deliver(late.settling)
      if (this.#waiting.get(late.settling.id) === late) this.#waiting.delete(late.settling.id)
      this.#options.onSize(this.size)
      late.resolve?.(settlement)
      return true
    } catch {
      return false
    }
  }

  /** Moves the sums to the queue: a sum may be sent now, so it keeps its id and must not grow. */
  #moveSums(): void {
    if (this.#waiting.size >= WAITING_MAX) return
    for (const settling of this.#sums.values()) this.#add({ settling, resolve: undefined })
    this.#sums.clear()
  }
}

function plus(one: Amount, other: Amount = { tokens: 0, nanos: 0 }): Amount {
  return { tokens: one.tokens + other.tokens, nanos: one.nanos + other.nanos }
}
