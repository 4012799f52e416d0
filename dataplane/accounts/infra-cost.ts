/** Splits the hourly cost of the machines over tenants, by the tokens that they used in the hour. */

const HOUR_MS = 3_600_000

export interface TenantCost {
  readonly tenant: string
  readonly nanos: number
}

export class InfraCost {
  #startedAt: number
  #endsAt: number
  #tokens = new Map<string, number>()

  constructor(wallMs: number) {
    this.#startedAt = wallMs
    this.#endsAt = endOfHour(wallMs)
  }

  add(tenant: string, tokens: number): void {
    this.#tokens.set(tenant, (this.#tokens.get(tenant) ?? 0) + tokens)
  }

  /** A tenant's share of the running hour if it ended now. */
  sofar(tenant: string, wallMs: number, nanosPerHour: number) {
    const passed = Math.max(0, Math.min(wallMs, this.#endsAt) - this.#startedAt)
    const shares = splitCost(Math.round((nanosPerHour * passed) / HOUR_MS), this.#tokens)
    return {
      tokens: this.#tokens.get(tenant) ?? 0,
      nanos: shares.find((share) => share.tenant === tenant)?.nanos ?? 0,
      endsAt: this.#endsAt,
    }
  }

  /**
   * The shares of the hour that has ended; none before its end. A process that started within the hour charges only the
   * rest of the hour; an hour without tokens is charged to no tenant.
   */
  close(wallMs: number, nanosPerHour: number): TenantCost[] {
    if (wallMs < this.#endsAt) return []
    const nanos = Math.round((nanosPerHour * (this.#endsAt - this.#startedAt)) / HOUR_MS)
    const shares = splitCost(nanos, this.#tokens)
    this.#tokens = new Map()
    this.#startedAt = endOfHour(wallMs) - HOUR_MS
    this.#endsAt = endOfHour(wallMs)
    return shares
  }
}

/**
 * Shares that add up to the whole: each share is the difference of two rounded running sums, so rounding loses and adds nothing.
 */
export function splitCost(nanos: number, tokens: ReadonlyMap<string, number>): TenantCost[] {
  const all = tokens.values().reduce((sum, count) => sum + count, 0)
  if (all === 0) return []
  const shares = []
  let used = 0
  let given = 0
  for (const [tenant, count] of tokens) {
    used += count
    const due = Math.round(nanos * (used / all))
    shares.push({ tenant, nanos: due - given })
    given = due
  }
  return shares
}

function endOfHour(wallMs: number): number {
  return (Math.floor(wallMs / HOUR_MS) + 1) * HOUR_MS
}
