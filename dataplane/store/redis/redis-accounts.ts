/** What a replica knows of a tenant in the shared store: the names of its keys, and its own totals in each window. */
import { hash } from 'node:crypto'
import { dayOf, monthOf, type Window } from '../../budgets/windows.ts'

/** Part of every key: versions of the gateway that store something else must not meet. */
const VERSION = 'v1'

/**
 * Fields of replicas that wrote last an hour ago may be folded. Who has written, or was told that he need not since he
 * wrote a third of that ago, can be sure of his for half an hour.
 */
const FOLDED_AFTER_MS = 30 * 60_000

const DAY_MS = 86_400_000

/** Longer names are hashed: a key has a bounded length. */
const NAME_MAX = 100

/** One window of a tenant as this process knows it. */
export class Share {
  readonly window: Window
  readonly key: string
  /** All that this process settled in it, told or not. */
  total = 0
  /** The window as last told: which life of its hash, the sum, the part of no living replica, our part of the sum. */
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

  /** Whether there is anything to tell a store that may have lost it. */
  get isKnown(): boolean {
    return this.total > 0 || this.#born > 0
  }

  /** Takes note of the four figures of a reply at `at`; whether our part was looked after, even if it is the same. */
  hear(reply: readonly number[], at: number, now: number, isFresh = false): void {
    const [sum = 0, base = 0, mine = 0, born = 0] = reply.slice(at, at + 4)
    // Ours is gone and the sum has it: it was folded, and what we are to go on from is what it was.
    const isFolded = mine < 0 && this.#mine > 0 && born === this.#born && sum >= this.#sum
    if (!isFolded) {
      const told = Math.max(0, mine)
      if (isFresh || told !== this.#mine) this.#writtenAt = now
      this.#mine = told
    }
    this.#sum = sum
    this.#base = base
    this.#born = born
  }

  /** What lets a script see whether the window lost what it knew. */
  seen(now: number): readonly [born: number, mine: number] {
    const mayBeFolded = now - this.#writtenAt > FOLDED_AFTER_MS
    return [this.#born, mayBeFolded ? -this.#mine : this.#mine]
  }

  /** What a window that lost everything has to be told. */
  remembered(now: number): readonly number[] {
    const known = this.#sum + Math.max(0, this.total - this.#mine)
    return [this.total, ...this.seen(now), Math.min(known, Number.MAX_SAFE_INTEGER), this.#base]
  }
}

export class Account {
  readonly tenant: string
  readonly keys: readonly string[]
  /** The present reunion with a store that lost something, so that many calls ask for it once. */
  healing: Promise<void> | undefined
  readonly #root: string
  readonly #shares = new Map<string, Share>()

  constructor(tenant: string, keyPrefix: string) {
    this.tenant = tenant
    this.#root = `${keyPrefix}:${VERSION}:{${safeName(tenant)}}`
    this.keys = [`${this.#root}:state`, `${this.#root}:leases`, `${this.#root}:graves`]
  }

  share(window: Window): Share {
    const known = this.#shares.get(window.key)
    if (known !== undefined) return known
    const share = new Share(window, `${this.#root}:${window.kind}:${window.key}`)
    this.#shares.set(window.key, share)
    return share
  }

  /** By the name that a script told: `2026-11-21` or `2026-11`. */
  shareNamed(name: string): Share {
    const moment = Date.parse(`${name}T00:00:00Z`.replace(/^(\d{4}-\d\d)T/, '$1-01T'))
    return this.share(name.length === 10 ? dayOf(moment) : monthOf(moment))
  }

  get shares(): readonly Share[] {
    return [...this.#shares.values()]
  }

  /** Windows that have been over for so long that no request can still end in them. */
  forget(wall: number): void {
    for (const [name, { window }] of this.#shares) {
      if (window.resetsAt + 2 * DAY_MS < wall) this.#shares.delete(name)
    }
  }
}

/** One name for each tenant, without what means something in a key; `{}` would be no hash tag. */
export function safeName(tenant: string): string {
  if (tenant === '') return '%'
  const plain = tenant.replace(
    /[^A-Za-z0-9_.@-]/g,
    (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return plain.length <= NAME_MAX ? plain : `%${hash('sha256', plain)}`
}
