/**
 * The store that replicas share: every verb is one script call on the keys of one tenant. The meaning is that of the memory
 * store; the clock is the server's. Every verb rejects with StoreAway while there is no answer, and may be repeated then.
 */

import type { Clock } from '../../base/clock.ts'
import { dayOf, monthOf } from '../../budgets/windows.ts'
import { NOTHING, sane } from '../amounts.ts'
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
import { Owns } from './redis-owns.ts'
import { admission, figuresOf, type Windows, windowsIn } from './redis-replies.ts'
import { ADMIT, READ } from './scripts/admit.ts'
import { EXTEND } from './scripts/renew.ts'

export interface RedisStoreOptions {
  /** What all keys begin with. */
  readonly keyPrefix: string
  /** Of this process: no other has it, nor had. */
  readonly replica: string
  readonly clock: Clock
  /** Time for the scripts in milliseconds since the epoch, where it is not to be the server's. */
  readonly storeTime?: (() => number) | undefined
}

const NO_CAP = -1

export class RedisStore implements Store {
  readonly #keyPrefix: string
  readonly #clock: Clock
  readonly #calls: Calls
  readonly #accounts = new Map<string, Account>()
  readonly #owns: Owns

  constructor(link: Link, options: RedisStoreOptions) {
    this.#keyPrefix = options.keyPrefix
    this.#clock = options.clock
    this.#calls = new Calls(link, options)
    this.#owns = new Owns(this.#calls, options.clock, this.#accounts)
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
    let asked: Asked
    try {
      asked = await this.#ask(ADMIT, { account, rules }, own)
    } catch (error) {
      if (error instanceof StoreAway && error.maybeApplied) this.#owns.doubt(account, id)
      throw error
    }
    const { reply, present } = asked
    const result = admission(reply, rules, present)
    if (result.outcome === 'refused') return result
    const reserved = result.outcome === 'downgraded' ? cheaper : estimate
    this.#owns.add({
      id,
      account,
      day: account.share(present.day),
      month: account.share(present.month),
      by: (reply[0] ?? 1) - 1,
      rated: rules.tokensPerMinute === undefined ? -1 : reserved.tokens,
      reserved,
      used: NOTHING,
      heardAt: sentAt,
      isLost: false,
      wasPutBack: false,
      settled: undefined,
    })
    return result
  }

  /**
   * A request that was admitted without the store, at a moment of the wall clock, is counted here from now on: the next
   * renewal gives it a lease.
   */
  adopt({ tenant, id, estimate }: AdmitRequest, admittedAt: number): void {
    const account = this.#account(tenant)
    this.#owns.add({
      id,
      account,
      day: account.share(dayOf(admittedAt)),
      month: account.share(monthOf(admittedAt)),
      by: 0,
      rated: -1,
      reserved: sane(estimate),
      used: NOTHING,
      heardAt: Number.NEGATIVE_INFINITY,
      isLost: false,
      wasPutBack: true,
      settled: undefined,
    })
  }

  async extend({ id, budget, estimate }: Extension): Promise<boolean> {
    const own = this.#owns.get(id)
    if (own === undefined || own.settled !== undefined) return false
    const { tokens, nanos } = sane(estimate)
    const caps = [budget?.tokensPerDay ?? NO_CAP, budget?.nanosPerMonth ?? NO_CAP]
    const [, , grew] = await this.#calls.run({
      script: EXTEND,
      account: own.account,
      isBounded: true,
      shares: () => [own.day, own.month],
      args: () => [id, tokens, nanos, ...caps],
    })
    if (grew !== 1) return false
    own.reserved = {
      tokens: Math.max(own.reserved.tokens, tokens),
      nanos: Math.max(own.reserved.nanos, nanos),
    }
    return true
  }

  renew(beats: readonly Beat[]): Promise<readonly string[]> {
    return this.#owns.renew(beats)
  }

  settle(settling: Settling): Promise<Settlement> {
    return this.#owns.settle(settling, this.#account(settling.tenant))
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

  async #ask(script: typeof READ, { account, rules }: About, own: Arguments): Promise<Asked> {
    let at: Windows = this.#calls.present
    const reply = await this.#calls.run({
      script,
      account,
      isBounded: true,
      shares: ({ day, month }) => [account.share(day), account.share(month)],
      args: ({ day, month }) => {
        at = { day, month }
        return [...this.#rulesNow(account, rules, at), ...own]
      },
    })
    const [day, month] = windowsIn(rules)
    const now = this.#clock.now()
    if (day !== undefined) account.share(at.day).hear(reply, day, now)
    if (month !== undefined) account.share(at.month).hear(reply, month, now)
    return { reply, present: at }
  }

  #rulesNow(account: Account, rules: Rules, { day, month }: Windows): Arguments {
    const { requestsPerMinute, burst, concurrentRequests, tokensPerMinute, budget } = rules
    const now = this.#clock.now()
    return [
      ...[day.startsAt, day.resetsAt, month.resetsAt],
      ...[requestsPerMinute, burst, concurrentRequests, tokensPerMinute ?? NO_CAP],
      ...[budget?.tokensPerDay ?? NO_CAP, budget?.nanosPerMonth ?? NO_CAP],
      ...account.share(day).seen(now),
      ...account.share(month).seen(now),
    ]
  }
}

type Arguments = readonly (string | number)[]

interface About {
  readonly account: Account
  readonly rules: Rules
}

interface Asked {
  readonly reply: readonly number[]
  readonly present: Windows
}
