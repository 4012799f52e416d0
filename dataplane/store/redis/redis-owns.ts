/** The running requests of this process in the shared store, as it has to know them itself: the store may lose them. */

import type { Clock } from '../../base/clock.ts'
import { dayOf, monthOf } from '../../budgets/windows.ts'
import { larger, NOTHING, sane } from '../amounts.ts'
import type { Amount, Beat, Settlement, Settling } from '../contract.ts'
import type { Account, Share } from './redis-accounts.ts'
import { type Calls, LATE_MS } from './redis-calls.ts'
import { crossings, type Own, renewal } from './redis-own.ts'
import { RENEW } from './scripts/renew.ts'
import { SETTLE } from './scripts/settle.ts'

/** An admission without an answer: the store may hold something for nobody. */
interface Doubt {
  readonly account: Account
  readonly day: Share
  readonly month: Share
  /** After this the admission can no longer arrive, on this process's clock. */
  readonly until: number
  /** The request ran all the same: what it was charged by the rate stays charged. */
  hasRun: boolean
}

/** Ids of one call: a script must not keep the server for long. */
const RENEWALS_MAX = 200

/** Tenants whose windows are checked with each beat, in turn: a store that lost something is told soon. */
const CHECKED = 64

/** Calls under way at once: neither this process nor the server shall be busy with nothing else. */
const CALLS_MAX = 32

const DOUBTS_MAX = 10_000

const ALREADY_CHARGED: Settlement = { charged: false, crossed: [] }

const SETTLE_ONLY = 0
const SETTLE_AND_BURY = 1
const TAKE_BACK = 2

const RENEWED = 1
const EXPIRED = 2

export class Owns {
  readonly #calls: Calls
  readonly #clock: Clock
  readonly #accounts: ReadonlyMap<string, Account>
  readonly #owns = new Map<string, Own>()
  readonly #doubts = new Map<string, Doubt>()
  readonly #settling = new Map<string, Promise<Settlement>>()
  /** Something was lost: every tenant is checked at the next beat. */
  #isSuspicious = false
  #checkedTo = 0

  constructor(calls: Calls, clock: Clock, accounts: ReadonlyMap<string, Account>) {
    this.#calls = calls
    this.#clock = clock
    this.#accounts = accounts
    calls.onLost = () => {
      this.#isSuspicious = true
    }
  }

  get(id: string): Own | undefined {
    return this.#owns.get(id)
  }

  add(own: Own): void {
    this.#owns.set(own.id, own)
  }

  /** The oldest is forgotten where there are too many: its lease expires. */
  doubt(account: Account, id: string): void {
    const { day, month } = this.#calls.present
    const until = this.#clock.now() + 2 * LATE_MS
    this.#doubts.set(id, {
      account,
      day: account.share(day),
      month: account.share(month),
      until,
      hasRun: false,
    })
    if (this.#doubts.size <= DOUBTS_MAX) return
    for (const oldest of this.#doubts.keys()) {
      this.#doubts.delete(oldest)
      return
    }
  }

  settle(settling: Settling, account: Account): Promise<Settlement> {
    const { id, admittedAt, used } = settling
    const running = this.#settling.get(id)
    if (running !== undefined) return running.then(() => ALREADY_CHARGED)
    const own = this.#owns.get(id)
    if (own === undefined && admittedAt === undefined) return this.#release(id)
    const told = this.#end(own ?? this.#unknown(id, account, admittedAt), sane(used), settling)
    this.#settling.set(id, told)
    const forget = () => void this.#settling.delete(id)
    told.then(forget, forget)
    return told
  }

  /** Keeps leases alive, puts back those that the store lost, and checks that it knows what it was told. */
  async renew(beats: readonly Beat[]): Promise<readonly string[]> {
    const lost: string[] = []
    const groups = new Map<Account, Own[]>()
    for (const { id, used } of beats) {
      const own = this.#owns.get(id)
      if (own === undefined || own.settled !== undefined) {
        lost.push(id)
        continue
      }
      own.used = larger(own.used, sane(used))
      const group = groups.get(own.account)
      if (group === undefined) groups.set(own.account, [own])
      else group.push(own)
    }
    const calls: (() => Promise<void>)[] = []
    for (const group of groups.values()) {
      for (let at = 0; at < group.length; at += RENEWALS_MAX) {
        const part = group.slice(at, at + RENEWALS_MAX)
        calls.push(() => this.#renewGroup(part, lost))
      }
    }
    await this.#inTurn(calls)
    await this.#inTurn([...this.#releases(), ...this.#checks()])
    return lost
  }

  /** A request that was admitted without the store, by another life of this process or by its local share. */
  #unknown(id: string, account: Account, admittedAt = this.#calls.storeNow): Own {
    const own: Own = {
      id,
      account,
      day: account.share(dayOf(admittedAt)),
      month: account.share(monthOf(admittedAt)),
      by: 0,
      rated: -1,
      reserved: NOTHING,
      used: NOTHING,
      heardAt: 0,
      isLost: false,
      wasPutBack: false,
      settled: undefined,
    }
    this.#owns.set(id, own)
    return own
  }

  /** The totals grow once; telling them twice changes nothing. */
  async #end(own: Own, used: Amount, { budget }: Settling): Promise<Settlement> {
    if (own.settled === undefined) {
      own.day.total = Math.min(Number.MAX_SAFE_INTEGER, own.day.total + used.tokens)
      own.month.total = Math.min(Number.MAX_SAFE_INTEGER, own.month.total + used.nanos)
      own.settled = used
    }
    const doubt = this.#doubts.get(own.id)
    if (doubt !== undefined) doubt.hasRun = true
    const now = this.#clock.now()
    const thresholds = budget?.alertThresholds ?? []
    const window = (share: Share, cap: number | undefined) => [
      ...[1, share.total, ...share.seen(now)],
      thresholds.length === 0 ? -1 : (cap ?? -1),
    ]
    const reply = await this.#calls.run({
      script: SETTLE,
      account: own.account,
      isBounded: false,
      shares: () => [own.day, own.month],
      args: () => [
        own.id,
        own.settled?.tokens ?? 0,
        own.wasPutBack ? SETTLE_AND_BURY : SETTLE_ONLY,
        ...window(own.day, budget?.tokensPerDay),
        ...window(own.month, budget?.nanosPerMonth),
        ...thresholds.map(String),
      ],
    })
    own.day.hear(reply, 3, this.#clock.now())
    own.month.hear(reply, 7, this.#clock.now())
    this.#owns.delete(own.id)
    return { charged: true, crossed: crossings(own, budget, reply) }
  }

  /** Of a request that never was; nothing is charged. */
  async #release(id: string): Promise<Settlement> {
    const doubt = this.#doubts.get(id)
    if (doubt !== undefined) await this.#takeBack(id, doubt)
    return ALREADY_CHARGED
  }

  async #takeBack(id: string, doubt: Doubt): Promise<void> {
    const isFinal = this.#clock.now() > doubt.until
    const nothing = [0, 0, 0, 0, -1]
    const [, , found] = await this.#calls.run({
      script: SETTLE,
      account: doubt.account,
      isBounded: false,
      shares: () => [doubt.day, doubt.month],
      args: () => [id, 0, doubt.hasRun ? SETTLE_ONLY : TAKE_BACK, ...nothing, ...nothing],
    })
    if (isFinal || found !== 0) this.#doubts.delete(id)
  }

  #releases(): (() => Promise<void>)[] {
    const now = this.#clock.now()
    return [...this.#doubts]
      .filter(([id, { until }]) => now > until && !this.#owns.has(id))
      .map(
        ([id, doubt]) =>
          () =>
            this.#takeBack(id, doubt),
      )
  }

  #checks(): (() => Promise<void>)[] {
    const all = [...this.#accounts.values()]
    const wall = this.#calls.storeNow
    const count = this.#isSuspicious ? all.length : Math.min(CHECKED, all.length)
    this.#isSuspicious = false
    const chosen = Array.from(
      { length: count },
      (_, index) => all[(this.#checkedTo + index) % all.length],
    )
    this.#checkedTo = all.length === 0 ? 0 : (this.#checkedTo + count) % all.length
    return chosen.flatMap((account) => {
      if (account === undefined) return []
      account.forget(wall)
      return [() => this.#calls.heal(account)]
    })
  }

  async #renewGroup(group: readonly Own[], lost: string[]): Promise<void> {
    const sentAt = this.#clock.now()
    const unknown = await this.#renewOnce(group, sentAt, lost)
    // The store has forgotten them without having seen them expire: it lost them, so they are put back.
    for (const own of unknown) own.heardAt = Number.NEGATIVE_INFINITY
    if (unknown.length > 0) await this.#renewOnce(unknown, sentAt, lost)
  }

  /** Returns those that the store does not know. */
  async #renewOnce(group: readonly Own[], sentAt: number, lost: string[]): Promise<Own[]> {
    const account = group[0]?.account
    if (account === undefined) return []
    let sent: readonly Own[] = []
    const reply = await this.#calls.run({
      script: RENEW,
      account,
      isBounded: true,
      shares: () => [...new Set(group.flatMap(({ day, month }) => [day, month]))],
      args: () => {
        sent = group.filter(({ settled }) => settled === undefined)
        return sent.flatMap((own) => renewal(own, sentAt))
      },
    })
    const unknown: Own[] = []
    for (const [index, own] of sent.entries()) {
      const answer = reply[2 + index]
      if (answer === RENEWED) own.heardAt = sentAt
      else if (answer === EXPIRED || own.wasPutBack) {
        own.isLost = true
        lost.push(own.id)
      } else unknown.push(own)
    }
    return unknown
  }

  /** The first that fails ends it: the store is away. */
  async #inTurn(calls: readonly (() => Promise<void>)[]): Promise<void> {
    for (let at = 0; at < calls.length; at += CALLS_MAX) {
      await Promise.all(calls.slice(at, at + CALLS_MAX).map((call) => call()))
    }
  }
}
