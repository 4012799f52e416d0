/** One tenant in the memory store: two buckets, the number of running requests, and its windows. */

import { Bucket } from '../../accounts/bucket.ts'
import type { Figures, Rules } from '../../accounts/store.ts'
import type { Present } from '../../accounts/windows.ts'
import { Account, NONE_SCOPED, type Scoped } from './account.ts'

export class Tenant extends Account {
  /** Empty until the first request sets the rules. */
  readonly requests = new Bucket({ perMinute: 1, capacity: 1 }, 0)
  tokens: Bucket | undefined
  running = 0
  /** Number of expired holds whose settlement may still arrive. */
  awaited = 0

  /** Updates the buckets to the present time and rules, without a charge. */
  obey(rules: Rules, now: number): void {
    this.requests.obey({ perMinute: rules.requestsPerMinute, capacity: rules.burst }, now)
    const { tokensPerMinute } = rules
    if (tokensPerMinute === undefined) return
    const rule = { perMinute: tokensPerMinute, capacity: tokensPerMinute }
    this.tokens ??= new Bucket(rule, now)
    this.tokens.obey(rule, now)
  }

  /** Whether the tenant can be dropped: no settlement may arrive, its buckets are empty and its windows ended long ago. */
  isIdle(present: Present, now: number): boolean {
    return (
      this.running + this.awaited === 0 &&
      this.isOver(present) &&
      this.requests.isEmptyUnderAnyRule(now) &&
      (this.tokens?.isEmptyUnderAnyRule(now) ?? true)
    )
  }

  figures(rules: Rules, now: number, scoped: readonly Scoped[] = NONE_SCOPED): Figures {
    const { requestsPerMinute, tokensPerMinute, concurrentRequests, budget } = rules
    const { tokens, spend } = this.budgetFigures(budget)
    const figures = {
      requests: figureOf(this.requests, requestsPerMinute, now),
      tokenRate:
        tokensPerMinute === undefined || this.tokens === undefined
          ? undefined
          : figureOf(this.tokens, tokensPerMinute, now),
      concurrency: { limit: concurrentRequests, used: this.running },
      tokens,
      spend,
    }
    if (scoped.length === 0) return figures
    const others = scoped.map(({ scope, rule, account }) => ({
      scope,
      ...account.budgetFigures(rule),
    }))
    return { ...figures, scoped: others }
  }
}

function figureOf(bucket: Bucket, limit: number, now: number) {
  return { limit, remaining: bucket.remaining(now), resetMs: bucket.resetMs(now) }
}
