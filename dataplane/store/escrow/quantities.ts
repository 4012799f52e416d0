/** Amounts of all counters of an account: requests and tokens of a rate, slots, tokens and nano-dollars of a budget. */

export interface Quantities {
  requests: number
  rated: number
  slots: number
  tokens: number
  nanos: number
}

export const KINDS = ['requests', 'rated', 'slots', 'tokens', 'nanos'] as const

export function nothing(): Quantities {
  return { requests: 0, rated: 0, slots: 0, tokens: 0, nanos: 0 }
}

/** Writes one into another, so that a request makes no object. */
export function copy(from: Readonly<Quantities>, to: Quantities): void {
  to.requests = from.requests
  to.rated = from.rated
  to.slots = from.slots
  to.tokens = from.tokens
  to.nanos = from.nanos
}

/** In the order of `KINDS`, which is that of the scripts. */
export function listed(amounts: Readonly<Quantities>): number[] {
  const { requests, rated, slots, tokens, nanos } = amounts
  return [requests, rated, slots, tokens, nanos]
}

export function fromList(list: readonly number[], at: number): Quantities {
  const [requests = 0, rated = 0, slots = 0, tokens = 0, nanos = 0] = list.slice(at, at + 5)
  return { requests, rated, slots, tokens, nanos }
}

/** Whether the first has at least as much of everything. */
export function hasAll(one: Readonly<Quantities>, need: Readonly<Quantities>): boolean {
  return (
    one.requests >= need.requests &&
    one.rated >= need.rated &&
    one.slots >= need.slots &&
    one.tokens >= need.tokens &&
    one.nanos >= need.nanos
  )
}
