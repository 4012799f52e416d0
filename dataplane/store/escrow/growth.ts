/** Raises the hold of a running request from what is idle here, or else from what the store has. */
import { larger, NOTHING } from '../../accounts/amounts.ts'
import type { Amount, BudgetRule } from '../../accounts/store.ts'
import type { Clock } from '../../base/clock.ts'
import type { Claims } from './claims.ts'
import type { Holding } from './holding.ts'
import { nothing } from './quantities.ts'
import type { Taken } from './taken.ts'

export class Growth {
  readonly #claims: Claims
  readonly #clock: Clock
  readonly #growing = new Map<Holding, (grew: boolean) => void>()

  constructor(claims: Claims, clock: Clock) {
    this.#claims = claims
    this.#clock = clock
    claims.onAnswer = (holding, grew) => {
      this.#growing.get(holding)?.(grew)
      this.#growing.delete(holding)
    }
  }

  /** Raises it to a new whole; false if there is no room. */
  async raise(taken: Taken, wanted: Amount, rule: BudgetRule | undefined): Promise<boolean> {
    const { holding } = taken
    const { slice } = holding
    const { tokens, nanos } = larger(
      {
        tokens: rule?.tokensPerDay === undefined ? 0 : wanted.tokens - taken.tokens,
        nanos: rule?.nanosPerMonth === undefined ? 0 : wanted.nanos - taken.nanos,
      },
      NOTHING,
    )
    if (tokens + nanos === 0) return true
    if (!slice.covers({ ...nothing(), tokens, nanos }, this.#clock.now())) {
      if (this.#growing.has(holding)) return false
      holding.more = { tokens, nanos }
      const grew = new Promise<boolean>((resolve) => this.#growing.set(holding, resolve))
      this.#claims.urgent(holding)
      if (!(await grew)) return false
      slice.receive(tokens, nanos)
    }
    slice.grow(taken, tokens, nanos)
    return true
  }
}
