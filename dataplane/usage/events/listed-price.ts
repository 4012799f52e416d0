/** The price of an attempt at its time: without it an amount cannot be checked a year later. */
import type { Price } from '../../accounts/price.ts'

/** USD per million tokens, after the tier of the input, and per search. */
export interface ListedPrice {
  readonly input: number
  readonly cached_input: number
  readonly cache_write: number
  readonly cache_write_1h: number
  readonly output: number
  readonly reasoning_output: number
  readonly search: number
}

const shown = new WeakMap<Price, ListedPrice>()

export function listedPrice(price: Price | undefined, inputTokens: number): ListedPrice | null {
  if (price === undefined) return null
  const tier = price.tiers.find(({ above }) => inputTokens > above)
  return shownOf(tier === undefined ? price : tier.price)
}

/** Prices are a few objects of the snapshot. */
function shownOf(price: Price): ListedPrice {
  const known = shown.get(price)
  if (known !== undefined) return known
  const made = {
    input: usd(price.input),
    cached_input: usd(price.cachedInput),
    cache_write: usd(price.cacheWrite),
    cache_write_1h: usd(price.cacheWrite1h),
    output: usd(price.output),
    reasoning_output: usd(price.reasoning),
    search: price.search / 1e9,
  }
  shown.set(price, made)
  return made
}

function usd(picosPerToken: number): number {
  return picosPerToken / 1e6
}
