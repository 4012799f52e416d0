/** The entries of `limits[]` that are for an upstream: its provider's quota, which each attempt there has to fit. */
import type { Clock } from '../../base/clock.ts'
import type { FurtherLimitSection } from '../../schema/further-limits.ts'
import { accountOfUpstream, upstreamOf } from '../holders.ts'
import type { BudgetRule, BudgetScope, Rules } from '../store.ts'
import type { Compiled } from './compiled.ts'
import { FurtherLimits } from './limits.ts'
import { isForAll, NO_SUBJECT, type Subject } from './selectors.ts'

const MOST = 100_000_000

/** The account itself limits nothing. */
const UNLIMITED: Rules = Object.freeze({
  requestsPerMinute: MOST,
  burst: MOST,
  concurrentRequests: MOST,
  tokensPerMinute: undefined,
  budget: undefined,
})

/** A request and its caller, as selectors see them. */
export interface QuotaSubject {
  /** The record of the key. */
  readonly caller: object
  readonly subject: Subject
}

export class Quotas {
  /** Whether a quota has a counter for each end user. */
  readonly looksAtUser: boolean
  readonly #byUpstream: ReadonlyMap<string, Quota>

  /** All of them are for an upstream. */
  constructor(sections: readonly FurtherLimitSection[]) {
    const byUpstream = Map.groupBy(sections, ({ for: { upstream = '' } }) => upstream)
    this.#byUpstream = new Map(
      [...byUpstream].map(([upstream, own]) => [upstream, new Quota(upstream, own)]),
    )
    this.looksAtUser = this.#byUpstream.values().some(({ looksAtUser }) => looksAtUser)
  }

  of(upstream: string): Quota | undefined {
    return this.#byUpstream.get(upstream)
  }

  all(): IteratorObject<Quota> {
    return this.#byUpstream.values()
  }

  /** The rule that a counter of the account has now. */
  ruleOf(account: string, scope: BudgetScope): BudgetRule | undefined {
    return this.#byUpstream.get(upstreamOf(account))?.ruleOf(scope)
  }
}

export class Quota {
  readonly upstream: string
  readonly account: string
  /** Whether an entry has a budget, for which attempts hold their answers. */
  readonly isBudgeted: boolean
  readonly looksAtUser: boolean
  readonly #limits: FurtherLimits
  /** Those whose counters all attempts share. */
  readonly #shared: FurtherLimits
  /** Stands for all callers if each attempt has the same counters: refusals are remembered by the identity of rules. */
  readonly #anyone: QuotaSubject | undefined

  constructor(upstream: string, sections: readonly FurtherLimitSection[]) {
    this.upstream = upstream
    this.account = accountOfUpstream(upstream)
    this.isBudgeted = sections.some(({ budget }) => budget !== undefined)
    this.#limits = new FurtherLimits(sections)
    this.looksAtUser = this.#limits.looksAtUser
    const shared = sections.filter(({ for: selectors }) => isForAll(selectors))
    const areShared = shared.length === sections.length
    this.#shared = areShared ? this.#limits : new FurtherLimits(shared)
    this.#anyone = areShared ? { caller: {}, subject: NO_SUBJECT } : undefined
  }

  /** The counters of an attempt; undefined if no entry is for the request. `model`: that of the upstream. */
  rulesFor(
    { caller, subject }: QuotaSubject,
    model: string,
    clock: Pick<Clock, 'wall'>,
  ): Rules | undefined {
    const anyone = this.#anyone
    if (anyone !== undefined)
      return limited(this.#limits.of(UNLIMITED, anyone.caller, anyone.subject, clock))
    return limited(this.#limits.of(UNLIMITED, caller, { ...subject, models: [model] }, clock))
  }

  /** The counters that all attempts share; undefined if there are none. */
  shared(clock: Pick<Clock, 'wall'>): Rules | undefined {
    return limited(this.#shared.of(UNLIMITED, this, NO_SUBJECT, clock))
  }

  list(clock: Pick<Clock, 'wall'>): IteratorObject<Compiled> {
    return this.#limits.list(clock)
  }

  ruleOf(scope: BudgetScope): BudgetRule | undefined {
    return this.#limits.ruleOf(scope)
  }
}

function limited(rules: Rules): Rules | undefined {
  return rules === UNLIMITED ? undefined : rules
}

/** undefined: the configuration has none. */
export function compileQuotas(sections: readonly FurtherLimitSection[]): Quotas | undefined {
  const own = sections.filter(({ for: { upstream } }) => upstream !== undefined)
  return own.length === 0 ? undefined : new Quotas(own)
}
