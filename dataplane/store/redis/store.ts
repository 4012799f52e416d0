/**
 * The store that replicas share: every verb is one script call on the keys of one tenant. The meaning is that of the memory
 * store; the clock is the server's. Every verb rejects with StoreAway while there is no answer, and may be repeated then.
 */
import { sane } from '../../accounts/amounts.ts'
import type {
  AdmitRequest,
  AdmitResult,
  Beat,
  Extension,
  Figures,
  Rules,
  Settlement,
  Settling,
  Soon,
  Store,
} from '../../accounts/store.ts'
import { Present } from '../../accounts/windows.ts'
import { schedule as afterTimer, type Clock } from '../../base/clock.ts'
import type { ClaimsOptions } from '../escrow/claims.ts'
import { type Asked, Escrow } from '../escrow/escrow.ts'
import type { Held, Standings } from '../escrow/standings.ts'
import {
  Asking,
  cheaperOf,
  type Decided,
  RATES_ONLY,
  rulesOfScope,
  type Wanted,
  windowsOfScope,
} from './asking.ts'
import { type Link, StoreAway } from './link.ts'
import { type Account, AccountBook } from './redis-accounts.ts'
import { Calls } from './redis-calls.ts'
import { figuresOf, scopedFiguresOf } from './redis-replies.ts'
import { pour } from './request-part.ts'
import { RunningRequests } from './running-requests.ts'
import { READ } from './scripts/admit.ts'

export interface RedisStoreOptions {
  /** Prefix of all keys. */
  readonly keyPrefix: string
  /** Unique name of this process, never used by another one. */
  readonly replica: string
  readonly clock: Clock
  /** Whether accounts are on several nodes, so that one call is about those of one node. */
  readonly isCluster?: boolean
  /** Absent: each request asks the store. */
  readonly slices?: Pick<ClaimsOptions, 'schedule' | 'isTogether' | 'hears'>
}

/** A request that only slices block is tried again after each of these waits. */
const AGAIN_MS = [4, 4, 5, 6, 6]

/** A slow store leaves time for fewer, but for two at least. */
const AGAIN_MAX_MS = 40

/** After these failed, it is not tried for this time in the account: the holder of the slice may have ended. */
const IN_VAIN_MS = 1_000

export class RedisStore implements Store {
  readonly #clock: Clock
  readonly #calls: Calls
  readonly #asking: Asking
  readonly #book: AccountBook
  readonly #running: RunningRequests
  readonly #schedule: typeof afterTimer
  readonly #escrow: Escrow | undefined
  /** Until when a refusal because of slices is remembered, by account. */
  readonly #inVain = new WeakMap<Account, number>()

  constructor(link: Link, options: RedisStoreOptions) {
    this.#book = new AccountBook(options.keyPrefix)
    this.#clock = options.clock
    this.#calls = new Calls(link, options)
    this.#asking = new Asking(this.#calls, options.clock, options.isCluster ?? false)
    this.#running = new RunningRequests(this.#calls, options.clock, this.#book.accounts)
    const { slices, replica, clock } = options
    this.#schedule = slices?.schedule ?? afterTimer
    if (slices) this.#escrow = new Escrow({ calls: this.#calls, clock, replica, ...slices })
  }

  /** The store's clock, which continues during an outage; before the first answer, the clock of the process. */
  get wall(): number {
    return this.#calls.storeNow
  }

  admit(request: AdmitRequest): Soon<AdmitResult> {
    return this.admitHere(request) ?? this.#ask(request)
  }

  /** Admits a request that slices cover, without a call. */
  admitHere(request: AdmitRequest): AdmitResult | undefined {
    if (this.#escrow === undefined) return undefined
    const accounts = this.#book.of(this.#calls.present, request)
    return this.#escrow.admit(request, sane(request.estimate), accounts)
  }

  /** Knowledge of this replica by slices, for the beginning of an outage. */
  get standings(): Standings | undefined {
    return this.#escrow?.standings()
  }

  get held(): Held | undefined {
    return this.#escrow?.held()
  }

  /** Whether the request was admitted without a call, so that it ends without one, too. */
  hasHere(id: string): boolean {
    return this.#escrow?.has(id) ?? false
  }

  /** Another replica needs amounts that slices hold of this account. */
  want(stateKey: string): void {
    this.#escrow?.want(stateKey)
  }

  /** Gives back all slices. */
  async close(): Promise<void> {
    await this.#escrow?.close()
  }

  async #ask(request: AdmitRequest): Promise<AdmitResult> {
    const { id, rules, ratesOnly = false } = request
    const estimate = ratesOnly ? RATES_ONLY : sane(request.estimate)
    const asked = this.#book.of(this.#calls.present, request)
    const { account, others } = asked
    this.#escrow?.isAsked({ ...request, estimate }, asked)
    const wanted = { id, estimate, cheaper: cheaperOf(request) }
    const sentAt = this.#clock.now()
    let answer: Decided
    try {
      answer = await this.#decide(asked, rules, wanted)
      if (answer.isHeldBack) answer = await this.#decideAgain(asked, rules, wanted, answer)
    } catch (error) {
      // A lost answer leaves one charge of the rate, which leaks like any other.
      if (error instanceof StoreAway && error.maybeApplied && !ratesOnly)
        this.#running.doubt([account, ...(others ?? []).map((one) => one.account)], id)
      throw error
    }
    const { result, present, by } = answer
    if (result.outcome === 'refused') return result
    if (ratesOnly) {
      account.poured.add(rules, 1, 0, this.#clock.now())
      return result
    }
    const reserved = result.outcome === 'downgraded' ? wanted.cheaper : estimate
    const running = this.#running.add({
      id,
      account,
      others,
      windows: present,
      by,
      rated: rules.tokensPerMinute === undefined ? -1 : reserved.tokens,
      reserved,
      heardAt: sentAt,
    })
    pour(running, rules, this.#clock.now())
    return result
  }

  async #decide({ account, others }: Asked, rules: Rules, wanted: Wanted): Promise<Decided> {
    if (others === undefined) return await this.#asking.admitAlone({ account, rules }, wanted)
    const decided = await this.#asking.admitOverAll({ account, rules, others }, wanted)
    const { toGiveBack } = decided
    if (toGiveBack.length > 0) await this.#running.giveBack(toGiveBack, wanted.id)
    return decided
  }

  /** Holders of slices hear that they are wanted, and give back what is idle within milliseconds. */
  async #decideAgain(asked: Asked, rules: Rules, wanted: Wanted, first: Decided): Promise<Decided> {
    const { account } = asked
    this.#escrow?.wantIn(asked)
    if (this.#clock.now() < (this.#inVain.get(account) ?? Number.NEGATIVE_INFINITY)) return first
    let answer = first
    const until = this.#clock.now() + AGAIN_MAX_MS
    for (const [tries, ms] of AGAIN_MS.entries()) {
      if (tries > 1 && this.#clock.now() + ms > until) break
      await new Promise<void>((resolve) => void this.#schedule(ms, resolve))
      answer = await this.#decide(asked, rules, wanted)
      if (!answer.isHeldBack) return answer
    }
    this.#inVain.set(account, this.#clock.now() + IN_VAIN_MS)
    return answer
  }

  /** Adds a request that was admitted without the store, at a time of the wall clock; the next renewal creates its lease. */
  adopt({ tenant, id, estimate, rules }: AdmitRequest, admittedAt: number): void {
    this.#running.add({
      id,
      account: this.#book.account(tenant),
      others: this.#book.scopes(tenant, rules.scoped),
      windows: new Present(admittedAt),
      reserved: sane(estimate),
      heardAt: Number.NEGATIVE_INFINITY,
      wasPutBack: true,
    })
  }

  async extend(extension: Extension): Promise<boolean> {
    return await (this.#escrow?.has(extension.id) ? this.#escrow : this.#running).extend(extension)
  }

  renew(beats: readonly Beat[]): Promise<readonly string[]> {
    this.#book.sweep(this.#calls.storeNow)
    const escrow = this.#escrow
    if (escrow === undefined) return this.#running.renew(beats)
    const isHere = ({ id, used }: Beat) => {
      if (!escrow.has(id)) return false
      escrow.beat(id, used)
      return true
    }
    return this.#running.renew(beats.filter((beat) => !isHere(beat)))
  }

  settle(settling: Settling): Soon<Settlement> {
    const settled = this.#escrow?.settle(settling)
    if (settled !== undefined) return settled
    const { tenant, scoped } = settling
    const others = this.#book.scopes(tenant, scoped)
    return this.#running.settle(settling, this.#book.account(tenant), others)
  }

  /** The figures of a tenant that slices know, if they are not older than `ageMsMax`. */
  figuresHere(tenant: string, rules: Rules, ageMsMax: number): Figures | undefined {
    return this.#escrow?.figures(
      rules,
      this.#book.of(this.#calls.present, { tenant, rules }),
      ageMsMax,
    )
  }

  async read(tenant: string, rules: Rules): Promise<Figures> {
    const account = this.#book.account(tenant)
    const { scoped } = rules
    const reports = this.#escrow?.report(this.#book.of(this.#calls.present, { tenant, rules }))
    if (reports !== undefined) await reports
    if (scoped === undefined) {
      const { reply, present } = await this.#asking.ask(READ, { account, rules }, [])
      return figuresOf(reply, rules, present)
    }
    const [{ reply, present }, ...others] = await Promise.all([
      this.#asking.ask(READ, { account, rules }, []),
      ...scoped.map((one) =>
        this.#asking.ask(
          READ,
          { account: this.#book.account(tenant, one.scope), rules: rulesOfScope(one) },
          [],
        ),
      ),
    ])
    const figures = scoped.map((one, index) => {
      const { reply: own = [], present: at = present } = others[index] ?? {}
      return scopedFiguresOf(own, one, windowsOfScope(one, at))
    })
    return { ...figuresOf(reply, rules, present), scoped: figures }
  }
}
