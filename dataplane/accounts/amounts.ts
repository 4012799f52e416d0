/** Repairs amounts that come from outside: arithmetic on budgets must be total for any number of a client or upstream. */
import type { Amount } from './store.ts'

export const NOTHING: Amount = { tokens: 0, nanos: 0 }

export function sane(amount: Amount): Amount {
  if (isCount(amount.tokens) && isCount(amount.nanos)) return amount
  return { tokens: repaired(amount.tokens), nanos: repaired(amount.nanos) }
}

export function larger(one: Amount, other: Amount): Amount {
  return { tokens: Math.max(one.tokens, other.tokens), nanos: Math.max(one.nanos, other.nanos) }
}

export function smaller(one: Amount, other: Amount): Amount {
  return { tokens: Math.min(one.tokens, other.tokens), nanos: Math.min(one.nanos, other.nanos) }
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}

/** The nearest count, rounded up; what is no number at all is nothing. */
function repaired(value: number): number {
  if (!(value > 0)) return 0
  return Math.min(Math.ceil(value), Number.MAX_SAFE_INTEGER)
}
