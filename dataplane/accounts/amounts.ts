/** Repairs amounts from outside, so that arithmetic on budgets works for any number that a client or upstream sends. */
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

/** The nearest safe integer, rounded up; 0 if the value is not a number. */
function repaired(value: number): number {
  if (!(value > 0)) return 0
  return Math.min(Math.ceil(value), Number.MAX_SAFE_INTEGER)
}
