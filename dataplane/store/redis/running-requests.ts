/** The running requests of this process in the shared store. The process keeps them, because the store may lose its data. */
import { larger, NOTHING, sane, smaller } from '../../accounts/amounts.ts'
import type {
  Amount,
  Beat,
  BudgetRule,
  Extension,
  Settlement,
  Settling,
} from '../../accounts/store.ts'
import { Present } from '../../accounts/windows.ts'
import type { Clock } from '../../base/clock.ts'
import { NO_CAP } from './asking.ts'
import type { Account, ScopeAccount } from './redis-accounts.ts'
import type { Calls } from './redis-calls.ts'
import {
  type Begun,
  count,
  countedIn,
  type Part,
  partOf,
  type RunningRequest,
  renewal,
} from './request-part.ts'
import { EXTEND, RENEW } from './scripts/renew.ts'
import { Settlements } from './settlements.ts'
import { UnansweredAdmissions } from './unanswered-admissions.ts'

const NO_OTHERS: readonly Part[] = []

/** Most leases in one call, so that a script does not block the server for long. */
const RENEWALS_MAX = 200

/** Tenants whose windows are checked with each beat, in turn, so that lost data is restored soon. */
const CHECKED = 64

/** Most concurrent calls, because this process and the server have other work. */
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
  readonly #settlements: Settlements
  readonly #settling = new Map<string, Promise<Settlement>>()
  /** Whether data was lost, so that the next beat checks every tenant. */
  #isSuspicious = false
  #checkedTo = 0

  constructor(calls: Calls, clock: Clock, accounts: ReadonlyMap<string, Account>) {
    this.#calls = calls
    this.#clock = clock
    this.#accounts = accounts
    this.#unanswered = new UnansweredAdmissions(calls, clock)
    this.#settlements = new Settlements(calls, clock)
    calls.onLost = () => {
      this.#isSuspicious = true
    }
  }

  get(id: string): RunningRequest | undefined {
    return this.#running.get(id)
  }

  add({ others, ...begun }: Begun): RunningRequest {
    const running = {
      ...partOf(begun, undefined),
      others:
        others?.map(({ scope, account, isRated }) => {
          const reserved = countedIn(scope, begun.reserved ?? NOTHING)
          const rated = isRated === true ? reserved.tokens : -1
          return partOf({ ...begun, account, rated, reserved }, scope)
        }) ?? NO_OTHERS,
    }
    this.#running.set(begun.id, running)
    for (const { account } of [running, ...running.others]) account.parts++
    return running
  }

  /** Notes an admission that was sent but got no answer. */
  doubt(accounts: readonly Account[], id: string): void {
    this.#unanswered.add(accounts, id)
  }

  /** Takes back an admission that other accounts have refused; again later if there is no answer. */
  async giveBack(accounts: readonly Account[], id: string): Promise<void> {
    this.#unanswered.add(accounts, id)
    await this.#unanswered.takeBack(id).catch(() => undefined)
  }

  settle(
    settling: Settling,
    account: Account,
    others?: readonly ScopeAccount[],
  ): Promise<Settlement> {
    const { id, admittedAt, used } = settling
    const before = this.#settling.get(id)
    if (before !== undefined) return before.then(() => ALREADY_CHARGED)
    let running = this.#running.get(id)
    if (running === undefined) {
      if (admittedAt === undefined) return this.#unanswered.takeBack(id).then(() => ALREADY_CHARGED)
      // An earlier process or the local share admitted this request.
      running = this.add({ id, account, others, windows: new Present(admittedAt) })
    }
    const settlement = this.#end(running, sane(used), settling)
    this.#settling.set(id, settlement)
    const forget = () => void this.#settling.delete(id)
    settlement.then(forget, forget)
    return settlement
  }

  /** The request holds the amount in all its accounts, or what was counted of it; false if a budget has no room. */
  async extend({
    id,
    budget,
    scoped = [],
    estimate,
    isCount = false,
  }: Extension): Promise<boolean> {
    const running = this.#running.get(id)
    if (running === undefined || running.settled !== undefined) return false
    const wanted = sane(estimate)
    if (isCount) {
      const lowered = [running, ...running.others].map((part) => this.#lower(part, wanted))
      return (await Promise.all(lowered)).every((one) => one)
    }
    const ruleOf = ({ scope: own }: Part) => scoped.find(({ scope }) => scope.id === own?.id)?.rule
    // A hold that grew in only one account is still an upper bound.
    const grown = await Promise.all([
      this.#grow(running, budget, wanted),
      ...running.others.map((part) => this.#grow(part, ruleOf(part), wanted)),
    ])
    return grown.every((one) => one)
  }

  async #grow(part: Part, budget: BudgetRule | undefined, whole: Amount): Promise<boolean> {
    const wanted = countedIn(part.scope, whole)
    const caps = [budget?.tokensPerDay ?? NO_CAP, budget?.nanosPerMonth ?? NO_CAP] as const
    if (!(await this.#changeHold(part, wanted, [...caps, 0]))) return false
    part.reserved = larger(part.reserved, wanted)
    return true
  }

  async #lower(part: Part, whole: Amount): Promise<boolean> {
    const counted = countedIn(part.scope, whole)
    if (!(await this.#changeHold(part, counted, [NO_CAP, NO_CAP, 1]))) return false
    part.reserved = smaller(part.reserved, larger(counted, part.used))
    const rated = Math.min(part.rated, part.reserved.tokens)
    part.account.poured.correct(rated - part.rated, this.#clock.now())
    part.rated = rated
    return true
  }

  async #changeHold(
    { id, account, day, month }: Part,
    { tokens, nanos }: Amount,
    terms: readonly [capOfDay: number, capOfMonth: number, isCount: 0 | 1],
  ): Promise<boolean> {
    const [, , isHeld] = await this.#calls.run({
      script: EXTEND,
      account,
      isBounded: true,
      windows: () => [day, month],
      args: () => [id, tokens, nanos, ...terms],
    })
    return isHeld === 1
  }

  /** Renews leases, restores those that the store lost, and checks that the store still has the reported totals. */
  async renew(beats: readonly Beat[]): Promise<readonly string[]> {
    const lost: string[] = []
    const groups = new Map<Account, Part[]>()
    const enlist = (part: Part, used: Amount) => {
      part.used = larger(part.used, countedIn(part.scope, used))
      const group = groups.get(part.account)
      if (group === undefined) groups.set(part.account, [part])
      else group.push(part)
    }
    for (const { id, used } of beats) {
      const running = this.#running.get(id)
      if (running === undefined || running.settled !== undefined) {
        lost.push(id)
        continue
      }
      const sent = sane(used)
      enlist(running, sent)
      for (const other of running.others) enlist(other, sent)
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

  /** Ends the request in all accounts; each account takes it once, even if it is sent again. */
  async #end(
    running: RunningRequest,
    used: Amount,
    { budget, scoped = [] }: Settling,
  ): Promise<Settlement> {
    const { others, id } = running
    for (const part of [running, ...others]) this.#correct(part, countedIn(part.scope, used))
    count(running, used)
    for (const other of others) count(other, countedIn(other.scope, used))
    this.#unanswered.hasRun(id)
    const ends = [
      this.#settlements.add(running, budget),
      ...others.map((other) =>
        this.#settlements.add(
          other,
          scoped.find(({ scope }) => scope.id === other.scope?.id)?.rule,
        ),
      ),
    ]
    const crossed = (await Promise.all(ends)).flat()
    this.#running.delete(id)
    for (const { account } of [running, ...others]) account.parts--
    return { charged: true, crossed }
  }

  /** The rate of tokens gets the usage of a request instead of its estimate. */
  #correct({ account, rated, settled }: Part, used: Amount): void {
    if (settled !== undefined || rated < 0) return
    account.poured.correct(used.tokens - rated, this.#clock.now())
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

  async #renewGroup(group: readonly Part[], lost: string[]): Promise<void> {
    const sentAt = this.#clock.now()
    const unknown = await this.#renewOnce(group, sentAt, lost)
    // The store lost these leases, because it has no record of their expiry; so they are restored.
    for (const running of unknown) running.heardAt = Number.NEGATIVE_INFINITY
    if (unknown.length > 0) await this.#renewOnce(unknown, sentAt, lost)
  }

  /** Returns the requests that the store does not know. */
  async #renewOnce(group: readonly Part[], sentAt: number, lost: string[]): Promise<Part[]> {
    const account = group[0]?.account
    if (account === undefined) return []
    let sent: readonly Part[] = []
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
    const unknown: Part[] = []
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

  /** Stops at the first failure, because the store is unreachable. */
  async #inTurn(calls: readonly (() => Promise<void>)[]): Promise<void> {
    for (let at = 0; at < calls.length; at += CALLS_MAX) {
      await Promise.all(calls.slice(at, at + CALLS_MAX).map((call) => call()))
    }
  }
}
