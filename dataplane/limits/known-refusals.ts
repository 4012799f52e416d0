/**
 * Refusals of the store that last until a known time. Until then this process refuses without the store, before it reads a body.
 */
import { ruleOf } from '../accounts/holders.ts'
import type { Rules } from '../accounts/store.ts'
import type { Refused } from './refusal.ts'

/**
 * The store is asked about a spent budget again after this time, because a settlement may have been corrected, or the
 * store emptied.
 */
const SPENT_MS_MAX = 1_000
/** Most tenants that are remembered. */
const TENANTS_MAX = 10_000

interface KnownRefusal {
  readonly refused: Refused
  readonly rules: Rules
  readonly since: number
  readonly until: number
}

export class KnownRefusals {
  readonly #byTenant = new Map<string, KnownRefusal>()

  /** `now` is slightly later than the store's decision. */
  learn(tenant: string, rules: Rules, refused: Refused, now: number): void {
    const { retryAfterMs, by } = refused
    if (!lasts(refused, rules)) return
    const lastsMs = by === 'rpm' ? retryAfterMs : Math.min(retryAfterMs, SPENT_MS_MAX)
    // The first entry is the oldest.
    if (this.#byTenant.size >= TENANTS_MAX) {
      for (const oldest of this.#byTenant.keys()) {
        this.#byTenant.delete(oldest)
        break
      }
    }
    this.#byTenant.set(tenant, { refused, rules, since: now, until: now + lastsMs })
  }

  /** The refusal that the store would return now; undefined if the store has to decide. */
  of(tenant: string, rules: Rules, now: number): Refused | undefined {
    if (this.#byTenant.size === 0) return undefined
    const known = this.#byTenant.get(tenant)
    if (known === undefined) return undefined
    // The refusal applies only to the same rules, which change with each configuration.
    if (now >= known.until || known.rules !== rules) {
      this.#byTenant.delete(tenant)
      return undefined
    }
    const { refused, since } = known
    const passed = now - since
    const { requests } = refused.figures
    return {
      ...refused,
      retryAfterMs: Math.max(1, refused.retryAfterMs - passed),
      figures: {
        ...refused.figures,
        requests: { ...requests, resetMs: Math.max(0, requests.resetMs - passed) },
      },
    }
  }
}

/** Whether every request is refused, regardless of its content. With a downgrade route, the next request may be served. */
function lasts({ by, scope }: Refused, rules: Rules): boolean {
  if (by === 'rpm') return true
  if (by !== 'budget_tokens' && by !== 'budget_spend') return false
  return ruleOf(rules, scope)?.onExceeded === 'reject'
}
