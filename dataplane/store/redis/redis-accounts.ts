/**
 * A replica's view of one tenant of the shared store, or of a group or key with a budget: the names of its keys, and
 * the replica's totals in each window.
 */

import type { BudgetScope } from '../../accounts/store.ts'
import { dayOf, monthOf, type Window } from '../../accounts/windows.ts'
import { accountRoot } from '../roots.ts'

/**
 * The store may fold the field of a replica that last wrote an hour ago. A replica that wrote within the last 20
 * minutes can rely on its field for half an hour.
 */
const FOLDED_AFTER_MS = 30 * 60_000

const DAY_MS = 86_400_000

/** Figures of each window in a reply. */
export const FIGURES = 5

/** One window of a tenant as this process knows it. */
export class AccountWindow {
  readonly window: Window
  readonly key: string
  /** The amount that this process settled in the window, sent or not. */
  total = 0
  /**
   * The last reply: the birth of the hash, the sum, the part of ended replicas, the part of this process. Both sums
   * exclude the charges of expired leases, which a late settlement may take back.
   */
  #born = 0
  #sum = 0
  #base = 0
  #mine = 0
  #writtenAt = 0

  constructor(window: Window, key: string) {
    this.window = window
    this.key = key
  }

  get name(): string {
    return this.window.key
  }

  /** Whether this process has anything to restore in a store that lost its data. */
  get isKnown(): boolean {
    return this.total > 0 || this.#born > 0
  }

  /**
   * Whether this process may add to the window. It must know the birth of the window first, because only the birth
   * shows a flush after an addition without an answer.
   */
  get isMet(): boolean {
    return this.total === 0 || this.#born > 0
  }

  /**
   * Notes the five figures of a reply from index `at`; `isFresh`: the store wrote this process's part again, even if it
   * is the same.
   */
  hear(reply: readonly number[], at: number, now: number, isFresh = false): void {
    const [all = 0, base = 0, mine = 0, born = 0, expired = 0] = reply.slice(at, at + FIGURES)
    const sum = all - expired
    // The field of this process was folded: it is missing, but the sum includes it. Counting continues from its last value.
    const isFolded = mine < 0 && this.#mine > 0 && born === this.#born && sum >= this.#sum
    if (!isFolded) {
      const part = Math.max(0, mine)
      if (isFresh || part !== this.#mine) this.#writtenAt = now
      this.#mine = part
    }
    this.#sum = sum
    this.#base = base - expired
    this.#born = born
  }

  /** Arguments by which a script detects that the window lost data. */
  seen(now: number): readonly [born: number, mine: number] {
    const mayBeFolded = now - this.#writtenAt > FOLDED_AFTER_MS
    return [this.#born, mayBeFolded ? -this.#mine : this.#mine]
  }

  /** Arguments to restore a window that lost everything. */
  remembered(now: number): readonly number[] {
    const known = this.#sum + Math.max(0, this.total - this.#mine)
    return [this.total, ...this.seen(now), Math.min(known, Number.MAX_SAFE_INTEGER), this.#base]
  }
}

export class Account {
  readonly tenant: string
  readonly keys: readonly string[]
  /** The running repair of a store that lost data, shared by all calls that need it. */
  healing: Promise<void> | undefined
  readonly #root: string
  readonly #windows = new Map<string, AccountWindow>()

  constructor(tenant: string, keyPrefix: string, scope?: BudgetScope) {
    this.tenant = tenant
    this.#root = accountRoot(keyPrefix, tenant, scope)
    this.keys = [`${this.#root}:state`, `${this.#root}:leases`, `${this.#root}:graves`]
  }

  windowFor(window: Window): AccountWindow {
    const known = this.#windows.get(window.key)
    if (known !== undefined) return known
    const made = new AccountWindow(window, `${this.#root}:${window.kind}:${window.key}`)
    this.#windows.set(window.key, made)
    return made
  }

  /** The window with the name of a reply: `2026-11-21` or `2026-11`. */
  windowNamed(name: string): AccountWindow {
    const moment = Date.parse(`${name}T00:00:00Z`.replace(/^(\d{4}-\d\d)T/, '$1-01T'))
    return this.windowFor(name.length === 10 ? dayOf(moment) : monthOf(moment))
  }

  get windows(): readonly AccountWindow[] {
    return [...this.#windows.values()]
  }

  /** Drops windows that ended two days ago, because no request can still end in them. */
  forget(wall: number): void {
    for (const [name, { window }] of this.#windows) {
      if (window.resetsAt + 2 * DAY_MS < wall) this.#windows.delete(name)
    }
  }
}
