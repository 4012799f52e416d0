/** A counter over windows: a ledger for the present day, and one for the month. */

import type { BudgetFigure, BudgetRule, BudgetScope, ScopedFigures } from '../../accounts/store.ts'
import type { Present, Window } from '../../accounts/windows.ts'
import { Ledger } from './ledger.ts'

/** The present window and the one before, which a clock that steps back over midnight needs again. */
const LEDGERS_MAX = 2

export class Account {
  readonly name: string
  day: Ledger
  month: Ledger
  readonly #days: Ledger[]
  readonly #months: Ledger[]

  constructor(name: string, present: Present, restored: readonly Ledger[]) {
    this.name = name
    this.#days = restored.filter(({ window }) => window.kind === 'day')
    this.#months = restored.filter(({ window }) => window.kind === 'month')
    this.day = this.#ledgerOf(this.#days, present.day)
    this.month = this.#ledgerOf(this.#months, present.month)
  }

  moveTo(present: Present): void {
    if (this.day.window.startsAt === present.day.startsAt) return
    this.day = this.#ledgerOf(this.#days, present.day)
    this.month = this.#ledgerOf(this.#months, present.month)
  }

  /** Whether the windows ended long ago and no request runs in them. */
  isOver(present: Present): boolean {
    return this.month.window.resetsAt < present.month.startsAt && this.month.holds === 0
  }

  /** The figures of a budget over these windows. */
  budgetFigures(rule: BudgetRule | undefined): Pick<ScopedFigures, 'tokens' | 'spend'> {
    return {
      tokens: budgetFigure(this.day, rule?.tokensPerDay),
      spend: budgetFigure(this.month, rule?.nanosPerMonth),
    }
  }

  #ledgerOf(ledgers: Ledger[], window: Window): Ledger {
    const at = ledgers.findIndex((ledger) => ledger.window.key === window.key)
    // The ledger used last comes first, because a clock that stepped back makes older ledgers after newer ones.
    const [ledger = new Ledger(this.name, window)] = at === -1 ? [] : ledgers.splice(at, 1)
    ledgers.unshift(ledger)
    ledgers.length = Math.min(ledgers.length, LEDGERS_MAX)
    return ledger
  }
}

/** The windows of a group or a key under its rule. */
export interface Scoped {
  readonly scope: BudgetScope
  readonly rule: BudgetRule | undefined
  readonly account: Account
}

export const NONE_SCOPED: readonly Scoped[] = []

function budgetFigure(ledger: Ledger, limit: number | undefined): BudgetFigure | undefined {
  if (limit === undefined) return undefined
  const { settled, reserved, window } = ledger
  return { limit, settled, reserved, resetsAt: window.resetsAt }
}
