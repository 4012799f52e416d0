/** Settlements that the shared store has not taken yet: kept, bounded, and delivered once it is back. */
import type { Amount, Settlement, Settling } from '../../accounts/store.ts'

/** About 30 MB. Further settlements are summed up by tenant, so that no usage is lost. */
const WAITING_MAX = 100_000

/** Deliveries under way at once: a store that has just come back is not to be flooded. */
const DELIVERIES = 16

interface Late {
  readonly settling: Settling
  /** Called once it is delivered; absent if no caller waits. */
  readonly resolve: ((settlement: Settlement) => void) | undefined
}

export interface LateSettlementsOptions {
  /** Rejects while the store is away. It may have been applied all the same: the store takes each id once. */
  readonly deliver: (settling: Settling) => Promise<Settlement>
  readonly isAway: () => boolean
  /** An id that no request has. */
  readonly newId: () => string
  /** How many wait. */
  readonly onSize: (size: number) => void
}

export class LateSettlements {
  readonly #options: LateSettlementsOptions
  readonly #waiting = new Map<string, Late>()
  /** By day, tenant and the other budgets that are charged. */
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

  /** Frees what an admission without an answer may hold. */
  undo(settling: Settling): void {
    this.#add({ settling, resolve: undefined })
  }

  /**
   * The same for a request that the store has never heard of: where too many wait, it is added to others of its tenant
   * and day, since only its usage matters.
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

  /** Sends what waits, oldest first, until nothing does or the store is away again. Never rejects. */
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
    // A request ends once; an undoing of its admission before that says nothing that its end does not.
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

  /** From here on a sum may have been sent, so it keeps its id and grows no more. */
  #moveSums(): void {
    if (this.#waiting.size >= WAITING_MAX) return
    for (const settling of this.#sums.values()) this.#add({ settling, resolve: undefined })
    this.#sums.clear()
  }
}

function plus(one: Amount, other: Amount = { tokens: 0, nanos: 0 }): Amount {
  return { tokens: one.tokens + other.tokens, nanos: one.nanos + other.nanos }
}
