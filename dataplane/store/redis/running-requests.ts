/** The running requests of this process in the shared store. The process has to know them itself: the store may lose them. */

import type { Clock } from '../../base/clock.ts'
import { Present } from '../../budgets/windows.ts'
import { larger, NOTHING, sane } from '../amounts.ts'
import {
  type Amount,
  type Beat,
  type BudgetRule,
  type Crossing,
  LEASE_MS,
  type Settlement,
  type Settling,
} from '../contract.ts'
import type { Account, AccountWindow } from './redis-accounts.ts'
import type { Calls } from './redis-calls.ts'
import type { Windows } from './redis-replies.ts'
import { RENEW } from './scripts/renew.ts'
import { SETTLE, SETTLE_AND_BURY, SETTLE_ONLY } from './scripts/settle.ts'
import { UnansweredAdmissions } from './unanswered-admissions.ts'

/** A request that the store counts, or that it will have to count. */
interface RunningRequest {
  readonly id: string
  readonly account: Account
  readonly day: AccountWindow
  readonly month: AccountWindow
  /** 0, or the budget that downgraded it: 1 tokens, 2 spend. */
  readonly by: number
  /** Tokens charged to the rate by its admission; -1: none. */
  readonly rated: number
  reserved: Amount
  used: Amount
  /** When its lease was last known to live, on this process's clock. */
  heardAt: number
  /** Its lease expired while the store could be asked: another request may have its slot. */
  isLost: boolean
  /** A call to put it back was sent, and might still arrive after its end. */
  wasPutBack: boolean
  /** Its charge, once it has ended; the answer may still be missing. */
  settled: Amount | undefined
}

/** The facts about a request when it begins; the others start as for a request that the store does not know. */
type Begun = Pick<RunningRequest, 'id' | 'account'> &
  Partial<Pick<RunningRequest, 'by' | 'rated' | 'reserved' | 'heardAt' | 'wasPutBack'>> & {
    readonly windows: Windows
  }

/** Leases in one call: a script must not keep the server for long. */
const RENEWALS_MAX = 200

/** Tenants whose windows are checked with each beat, in turn: so a store that lost something gets it back soon. */
const CHECKED = 64

/** Calls under way at once: this process and the server have other work too. */
const CALLS_MAX = 32

const ALREADY_CHARGED: Settlement = { charged: false, crossed: [] }

const RENEWED = 1
const EXPIRED = 2

export class RunningRequests {
  readonly #calls: Calls
  readonly #clock: Clock
  readonly #accounts: ReadonlyMap<string, Account>
  readonly #running = new Map<string, RunningRequest>()
  readonly #unanswered: UnansweredAdmissions
  readonly #settling = new Map<string, Promise<Settlement>>()
  /** Something was lost: every tenant is checked at the next beat. */
  #isSuspicious = false
  #checkedTo = 0

  constructor(calls: Calls, clock: Clock, accounts: ReadonlyMap<string, Account>) {
    this.#calls = calls
    this.#clock = clock
    this.#accounts = accounts
    this.#unanswered = new UnansweredAdmissions(calls, clock)
    calls.onLost = () => {
      this.#isSuspicious = true
    }
  }

  get(id: string): RunningRequest | undefined {
    return this.#running.get(id)
  }

  add({ id, account, windows, ...known }: Begun): RunningRequest {
    const running: RunningRequest = {
      id,
      account,
      day: account.windowFor(windows.day),
      month: account.windowFor(windows.month),
      by: 0,
      rated: -1,
      reserved: NOTHING,
      used: NOTHING,
      heardAt: 0,
      isLost: false,
      wasPutBack: false,
      settled: undefined,
      ...known,
    }
    this.#running.set(id, running)
    return running
  }

  /** An admission was sent and got no answer. */
  doubt(account: Account, id: string): void {
    this.#unanswered.add(account, id)
  }

  settle(settling: Settling, account: Account): Promise<Settlement> {
    const { id, admittedAt, used } = settling
    const before = this.#settling.get(id)
    if (before !== undefined) return before.then(() => ALREADY_CHARGED)
    let running = this.#running.get(id)
    if (running === undefined) {
      if (admittedAt === undefined) return this.#unanswered.takeBack(id).then(() => ALREADY_CHARGED)
      // It was admitted by another life of this process, or by its local share.
      running = this.add({ id, account, windows: new Present(admittedAt) })
    }
    const settlement = this.#end(running, sane(used), settling)
    this.#settling.set(id, settlement)
    const forget = () => void this.#settling.delete(id)
    settlement.then(forget, forget)
    return settlement
  }

  /** Keeps leases alive, puts back those that the store lost, and checks that it still knows what was reported. */
  async renew(beats: readonly Beat[]): Promise<readonly string[]> {
    const lost: string[] = []
    const groups = new Map<Account, RunningRequest[]>()
    for (const { id, used } of beats) {
      const running = this.#running.get(id)
      if (running === undefined || running.settled !== undefined) {
        lost.push(id)
        continue
      }
      running.used = larger(running.used, sane(used))
      const group = groups.get(running.account)
      if (group === undefined) groups.set(running.account, [running])
      else group.push(running)
    }
    const calls: (() => Promise<void>)[] = []
    for (const group of groups.values()) {
      for (let at = 0; at < group.length; at += RENEWALS_MAX) {
        const part = group.slice(at, at + RENEWALS_MAX)
        calls.push(() => this.#renewGroup(part, lost))
      }
    }
    await this.#inTurn(calls)
    const due = this.#unanswered.due().filter((id) => !this.#running.has(id))
    const releases = due.map((id) => () => this.#unanswered.takeBack(id))
    await this.#inTurn([...releases, ...this.#checks()])
    return lost
  }

  /** The totals grow once; sending them twice changes nothing. */
  async #end(running: RunningRequest, used: Amount, { budget }: Settling): Promise<Settlement> {
    if (running.settled === undefined) {
      running.day.total = Math.min(Number.MAX_SAFE_INTEGER, running.day.total + used.tokens)
      running.month.total = Math.min(Number.MAX_SAFE_INTEGER, running.month.total + used.nanos)
      running.settled = used
    }
    this.#unanswered.hasRun(running.id)
    const now = this.#clock.now()
    const thresholds = budget?.alertThresholds ?? []
    const report = (window: AccountWindow, cap: number | undefined) => [
      ...[1, window.total, ...window.seen(now)],
      thresholds.length === 0 ? -1 : (cap ?? -1),
    ]
    const reply = await this.#calls.run({
      script: SETTLE,
      account: running.account,
      isBounded: false,
      windows: () => [running.day, running.month],
      args: () => [
        running.id,
        running.settled?.tokens ?? 0,
        running.wasPutBack ? SETTLE_AND_BURY : SETTLE_ONLY,
        ...report(running.day, budget?.tokensPerDay),
        ...report(running.month, budget?.nanosPerMonth),
        ...thresholds.map(String),
      ],
    })
    running.day.hear(reply, 3, this.#clock.now())
    running.month.hear(reply, 7, this.#clock.now())
    this.#running.delete(running.id)
    return { charged: true, crossed: crossings(running, budget, reply) }
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

  async #renewGroup(group: readonly RunningRequest[], lost: string[]): Promise<void> {
    const sentAt = this.#clock.now()
    const unknown = await this.#renewOnce(group, sentAt, lost)
    // The store forgot these leases without having seen them expire: it lost them, so they are put back.
    for (const running of unknown) running.heardAt = Number.NEGATIVE_INFINITY
    if (unknown.length > 0) await this.#renewOnce(unknown, sentAt, lost)
  }

  /** Returns the requests that the store does not know. */
  async #renewOnce(
    group: readonly RunningRequest[],
    sentAt: number,
    lost: string[],
  ): Promise<RunningRequest[]> {
    const account = group[0]?.account
    if (account === undefined) return []
    let sent: readonly RunningRequest[] = []
    const reply = await this.#calls.run({
      script: RENEW,
      account,
      isBounded: true,
      windows: () => [...new Set(group.flatMap(({ day, month }) => [day, month]))],
      args: () => {
        sent = group.filter(({ settled }) => settled === undefined)
        return sent.flatMap((running) => renewal(running, sentAt))
      },
    })
    const unknown: RunningRequest[] = []
    for (const [index, running] of sent.entries()) {
      const answer = reply[2 + index]
      if (answer === RENEWED) running.heardAt = sentAt
      else if (answer === EXPIRED || running.wasPutBack) {
        running.isLost = true
        lost.push(running.id)
      } else unknown.push(running)
    }
    return unknown
  }

  /** The first failure ends it: the store is away. */
  async #inTurn(calls: readonly (() => Promise<void>)[]): Promise<void> {
    for (let at = 0; at < calls.length; at += CALLS_MAX) {
      await Promise.all(calls.slice(at, at + CALLS_MAX).map((call) => call()))
    }
  }
}

function renewal(running: RunningRequest, now: number): readonly (string | number)[] {
  const { id, day, month, reserved, used, rated, by, isLost } = running
  const back = !isLost && now - running.heardAt >= LEASE_MS
  if (back) running.wasPutBack = true
  return [
    ...[id, back ? 1 : 0, day.name, month.name, reserved.tokens, reserved.nanos],
    ...[used.tokens, used.nanos, rated, by],
  ]
}

function crossings(
  { account, day, month }: RunningRequest,
  budget: BudgetRule | undefined,
  reply: readonly number[],
): Crossing[] {
  const crossed: Crossing[] = []
  for (let at = 11; at + 1 < reply.length; at += 2) {
    const threshold = budget?.alertThresholds[reply[at + 1] ?? 0] ?? 0
    const isDay = reply[at] === 1
    crossed.push({
      tenant: account.tenant,
      kind: isDay ? 'tokens' : 'spend',
      window: isDay ? 'day' : 'month',
      threshold,
      used: reply[isDay ? 3 : 7] ?? 0,
      limit: (isDay ? budget?.tokensPerDay : budget?.nanosPerMonth) ?? 0,
      resetsAt: (isDay ? day : month).window.resetsAt,
    })
  }
  return crossed
}
