/**
 * The store that replicas share: every verb is one script call on the keys of one tenant. The meaning is that of the memory
 * store; the clock is the server's. Every verb rejects with StoreAway while there is no answer, and may be repeated then.
 */

import type { Clock } from '../../base/clock.ts'
import { Present } from '../../budgets/windows.ts'
import { sane } from '../amounts.ts'
import type {
  AdmitRequest,
  AdmitResult,
  Beat,
  Extension,
  Figures,
  Rules,
  Settlement,
  Settling,
  Store,
} from '../contract.ts'
import { type Link, StoreAway } from './link.ts'
import { Account } from './redis-accounts.ts'
import { Calls } from './redis-calls.ts'
import { admission, figuresOf, type Windows, windowsIn } from './redis-replies.ts'
import { RunningRequests } from './running-requests.ts'
import { ADMIT, READ } from './scripts/admit.ts'
import { EXTEND } from './scripts/renew.ts'

export interface RedisStoreOptions {
  /** The beginning of all keys. */
  readonly keyPrefix: string
  /** Names this process: no other process has the name, nor had it. */
  readonly replica: string
  readonly clock: Clock
}

const NO_CAP = -1

export class RedisStore implements Store {
  readonly #keyPrefix: string
  readonly #clock: Clock
  readonly #calls: Calls
  readonly #accounts = new Map<string, Account>()
  readonly #running: RunningRequests

  constructor(link: Link, options: RedisStoreOptions) {
    this.#keyPrefix = options.keyPrefix
    this.#clock = options.clock
    this.#calls = new Calls(link, options)
    this.#running = new RunningRequests(this.#calls, options.clock, this.#accounts)
  }

  /** The store's clock, which goes on while it is away; the process's own until it has answered once. */
  get wall(): number {
    return this.#calls.storeNow
  }

  async admit(request: AdmitRequest): Promise<AdmitResult> {
    const { tenant, id, rules, downgradeEstimate } = request
    const account = this.#account(tenant)
    const estimate = sane(request.estimate)
    const mayDowngrade = rules.budget?.onExceeded === 'downgrade' && downgradeEstimate !== undefined
    const cheaper = mayDowngrade ? sane(downgradeEstimate) : { tokens: NO_CAP, nanos: NO_CAP }
    const own = [id, estimate.tokens, estimate.nanos, cheaper.tokens, cheaper.nanos]
    const sentAt = this.#clock.now()
    let answer: Answered
    try {
      answer = await this.#ask(ADMIT, { account, rules }, own)
    } catch (error) {
      if (error instanceof StoreAway && error.maybeApplied) this.#running.doubt(account, id)
      throw error
    }
    const { reply, present } = answer
    const result = admission(reply, rules, present)
    if (result.outcome === 'refused') return result
    const reserved = result.outcome === 'downgraded' ? cheaper : estimate
    this.#running.add({
      id,
      account,
      windows: present,
      by: (reply[0] ?? 1) - 1,
      rated: rules.tokensPerMinute === undefined ? -1 : reserved.tokens,
      reserved,
      heardAt: sentAt,
    })
    return result
  }

  /**
   * From now on the store counts a request that was admitted without it, at a moment of the wall clock: the next renewal
   * gives it a lease.
   */
  adopt({ tenant, id, estimate }: AdmitRequest, admittedAt: number): void {
    this.#running.add({
      id,
      account: this.#account(tenant),
      windows: new Present(admittedAt),
      reserved: sane(estimate),
      heardAt: Number.NEGATIVE_INFINITY,
      wasPutBack: true,
    })
  }

  async extend({ id, budget, estimate }: Extension): Promise<boolean> {
    const running = this.#running.get(id)
    if (running === undefined || running.settled !== undefined) return false
    const { tokens, nanos } = sane(estimate)
    const caps = [budget?.tokensPerDay ?? NO_CAP, budget?.nanosPerMonth ?? NO_CAP]
    const [, , grew] = await this.#calls.run({
      script: EXTEND,
      account: running.account,
      isBounded: true,
      windows: () => [running.day, running.month],
      args: () => [id, tokens, nanos, ...caps],
    })
    if (grew !== 1) return false
    running.reserved = {
      tokens: Math.max(running.reserved.tokens, tokens),
      nanos: Math.max(running.reserved.nanos, nanos),
    }
    return true
  }

  renew(beats: readonly Beat[]): Promise<readonly string[]> {
    return this.#running.renew(beats)
  }

  settle(settling: Settling): Promise<Settlement> {
    return this.#running.settle(settling, this.#account(settling.tenant))
  }

  async read(tenant: string, rules: Rules): Promise<Figures> {
    const { reply, present } = await this.#ask(READ, { account: this.#account(tenant), rules }, [])
    return figuresOf(reply, rules, present)
  }

  #account(tenant: string): Account {
    let account = this.#accounts.get(tenant)
    if (account === undefined) {
      account = new Account(tenant, this.#keyPrefix)
      this.#accounts.set(tenant, account)
    }
    return account
  }

  async #ask(script: typeof READ, { account, rules }: Tenancy, own: Arguments): Promise<Answered> {
    let at: Windows = this.#calls.present
    const reply = await this.#calls.run({
      script,
      account,
      isBounded: true,
      windows: ({ day, month }) => [account.windowFor(day), account.windowFor(month)],
      args: ({ day, month }) => {
        at = { day, month }
        return [...this.#rulesNow(account, rules, at), ...own]
      },
    })
    const [day, month] = windowsIn(rules)
    const now = this.#clock.now()
    if (day !== undefined) account.windowFor(at.day).hear(reply, day, now)
    if (month !== undefined) account.windowFor(at.month).hear(reply, month, now)
    return { reply, present: at }
  }

  #rulesNow(account: Account, rules: Rules, { day, month }: Windows): Arguments {
    const { requestsPerMinute, burst, concurrentRequests, tokensPerMinute, budget } = rules
    const now = this.#clock.now()
    return [
      ...[day.startsAt, day.resetsAt, month.resetsAt],
      ...[requestsPerMinute, burst, concurrentRequests, tokensPerMinute ?? NO_CAP],
      ...[budget?.tokensPerDay ?? NO_CAP, budget?.nanosPerMonth ?? NO_CAP],
      ...account.windowFor(day).seen(now),
      ...account.windowFor(month).seen(now),
    ]
  }
}

type Arguments = readonly (string | number)[]

interface Tenancy {
  readonly account: Account
  readonly rules: Rules
}

interface Answered {
  readonly reply: readonly number[]
  readonly present: Windows
}
