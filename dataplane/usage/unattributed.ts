/**
 * Money and tokens that budgets were charged in their windows, and that no row has: a replica was killed before it
 * wrote its counts. Budgets are charged request by request, rows once a second.
 */

import type { BudgetFigure, Store } from '../accounts/store.ts'
import { dayOf, monthOf } from '../accounts/windows.ts'
import type { Clock } from '../base/clock.ts'
import type { Snapshot } from '../config/snapshot.ts'
import type { Row, Span } from '../store/usage-row.ts'
import { hourOf } from './zone.ts'

/** Each needs a read of the store. */
const TENANTS_MAX = 200

export interface Unattributed {
  readonly tenant: string
  readonly window: 'day' | 'month'
  /** Those of the day. */
  readonly tokens: number
  /** That of the month. */
  readonly cost_nano_usd: number
}

/** The store of budgets, and the list of budgets. */
export interface ChargedParts {
  readonly active: { readonly snapshot: Snapshot }
  readonly store: Store
  readonly clock: Clock
}

/** A window of a budget, and its charge. */
export interface Charged {
  readonly tenant: string
  readonly window: 'day' | 'month'
  /** Its first day. */
  readonly since: string
  /** Tokens or nano-dollars. */
  readonly settled: number
}

/** The windows that are wholly in the span, up to now. Read before the rows, so that none is missed. */
export async function chargedIn(
  span: Span,
  { active, store, clock }: ChargedParts,
): Promise<Charged[]> {
  if (span.to < hourOf(clock.wall())) return []
  const { rules } = active.snapshot.limits
  const names = [...rules.named].filter((tenant) => rules.of(tenant).budget !== undefined)
  const charged = names.slice(0, TENANTS_MAX).map(async (tenant) => {
    const figures = await store.read(tenant, rules.of(tenant))
    if (figures.isOld === true) return []
    return [...windowOf(tenant, 'day', figures.tokens), ...windowOf(tenant, 'month', figures.spend)]
  })
  return (await Promise.all(charged))
    .flat()
    .filter(({ since, settled }) => settled > 0 && `${since}T00` >= span.from)
}

function windowOf(
  tenant: string,
  window: 'day' | 'month',
  figure: BudgetFigure | undefined,
): Charged[] {
  if (figure === undefined) return []
  const { startsAt } = (window === 'day' ? dayOf : monthOf)(figure.resetsAt - 1)
  return [{ tenant, window, since: hourOf(startsAt).slice(0, 10), settled: figure.settled }]
}

/** Compares the charges with the added rows. */
export class Attribution {
  readonly #left: Map<string, { readonly charged: Charged; left: number }[]>
  readonly #all: readonly Charged[]

  constructor(all: readonly Charged[]) {
    this.#all = all
    this.#left = new Map()
    this.clear()
  }

  clear(): void {
    this.#left.clear()
    for (const charged of this.#all) {
      const windows = this.#left.get(charged.tenant) ?? []
      windows.push({ charged, left: charged.settled })
      this.#left.set(charged.tenant, windows)
    }
  }

  add({ hour, tenant, input_tokens, output_tokens, cost_nano_usd }: Row): void {
    for (const one of this.#left.get(tenant) ?? []) {
      const { since, window } = one.charged
      if (hour.slice(0, 10) < since) continue
      one.left -= window === 'day' ? input_tokens + output_tokens : cost_nano_usd
    }
  }

  get missing(): Unattributed[] {
    return [...this.#left.values()].flat().flatMap(({ charged: { tenant, window }, left }) => {
      if (left <= 0) return []
      const isTokens = window === 'day'
      return [{ tenant, window, tokens: isTokens ? left : 0, cost_nano_usd: isTokens ? 0 : left }]
    })
  }
}
