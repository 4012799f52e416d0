/** One tenant in the memory store: its counter, and its figures with those of the other counters of a request. */

import { Bucket } from '../../accounts/bucket.ts'
import type { Figures, Rules, ScopedFigures } from '../../accounts/store.ts'
import type { Present } from '../../accounts/windows.ts'
import { Account, NONE_SCOPED, type Scoped } from './account.ts'

export class Tenant extends Account {
  /** Empty until the first request sets the rules. */
  override requests = new Bucket({ perMinute: 1, capacity: 1 }, 0)

  /** Whether the tenant can be dropped: no settlement may arrive, its buckets are empty and its windows ended long ago. */
  isIdle(present: Present, now: number): boolean {
    return this.isQuiet(now) && this.isOver(present)
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
    return { ...figures, scoped: scoped.map((one) => scopedFigures(one, now)) }
  }
}

function scopedFigures({ scope, rule, rates, account }: Scoped, now: number): ScopedFigures {
  const { tokens, spend } = account.budgetFigures(rule)
  if (rates === undefined) return { scope, tokens, spend }
  const { requests, tokenRate, concurrency } = account.rateFigures(rates, now)
  return { scope, tokens, spend, requests, tokenRate, concurrency }
}

function figureOf(bucket: Bucket, limit: number, now: number) {
  return { limit, remaining: bucket.remaining(now), resetMs: bucket.resetMs(now) }
}
