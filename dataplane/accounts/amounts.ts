/** Repairs amounts from outside, so that arithmetic on budgets works for any number that a client or upstream sends. */
import type { Amount, CountedTokens } from './store.ts'

export const NOTHING: Amount = { tokens: 0, nanos: 0 }

export function sane(amount: Amount): Amount {
  const { tokens, nanos, input = 0 } = amount
  if (isCount(tokens) && isCount(nanos) && isCount(input)) return amount
  return { tokens: repaired(tokens), nanos: repaired(nanos), input: repaired(input) }
}

/** The tokens of one kind. */
export function tokensOf({ tokens, input = 0 }: Amount, counts: CountedTokens): number {
  if (counts === 'all') return tokens
  const ofPrompt = Math.min(input, tokens)
  return counts === 'input' ? ofPrompt : tokens - ofPrompt
}

/** The part of an amount that a counter of these tokens counts. */
export function countedAmount(amount: Amount, counts: CountedTokens): Amount {
  return counts === 'all' ? amount : { tokens: tokensOf(amount, counts), nanos: 0 }
}

export const larger = eachBy(Math.max)

export const smaller = eachBy(Math.min)

function eachBy(choose: (one: number, other: number) => number) {
  return (one: Amount, other: Amount): Amount => ({
    tokens: choose(one.tokens, other.tokens),
    nanos: choose(one.nanos, other.nanos),
    input: choose(one.input ?? 0, other.input ?? 0),
  })
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}

/** The nearest safe integer, rounded up; 0 if the value is not a number. */
function repaired(value: number): number {
  if (!(value > 0)) return 0
  return Math.min(Math.ceil(value), Number.MAX_SAFE_INTEGER)
}
