/**
 * The prices of tokens, in whole numbers. A price is stored as pico-dollars (1e-12) a token, which equal six decimals
 * of USD per million tokens. A cost is summed exactly, then rounded up to a nano-dollar once per attempt.
 */

import type { Section } from '../schema/index.ts'
import type { Usage } from '../wire/inner-form.ts'
import { ByPattern } from './by-pattern.ts'
import type { Amount } from './store.ts'

/** The largest cap whose sums stay safe integers: 9,000,000 USD in one window. */
export const MONEY_MAX_NANOS = 9_000_000_000_000_000

const PICOS_PER_NANO = 1_000
const NANOS_PER_USD = 1_000_000_000

/** Pico-dollars a token. */
export interface Price {
  readonly input: number
  readonly cachedInput: number
  readonly cacheWrite: number
  /** For tokens that a cache keeps for an hour. */
  readonly cacheWrite1h: number
  /** The most that a token of the prompt may cost; an hour in a cache counts if its price is written. */
  readonly dearestInput: number
  readonly output: number
  readonly reasoning: number
  /** Nano-dollars of one search. */
  readonly search: number
  /** The prices of long inputs, the longest first. */
  readonly tiers: readonly Tier[]
}

interface Tier {
  /** The tier applies to inputs of more tokens than this. */
  readonly above: number
  readonly price: Price
}

export type PriceList = Pick<ByPattern<Price>, 'get' | 'has'>

/** A cap in USD as nano-dollars; at least one, because 0 would mean no budget. */
export function nanosOf(usd: number): number {
  return Math.max(1, Math.round(usd * 1e9))
}

export function compilePrices(pricing: Section['pricing']): PriceList {
  return new ByPattern(
    (pricing?.models ?? []).map(({ model, tiers = [], ...listed }) => {
      const longest = tiers.toSorted(
        (one, other) => other.above_input_tokens - one.above_input_tokens,
      )
      const compiled = longest.map((tier) => ({
        above: tier.above_input_tokens,
        price: priceOf(changedBy(tier, listed), NO_TIERS),
      }))
      return [model, priceOf(listed, compiled)] as const
    }),
  )
}

interface Listed {
  readonly input: number
  readonly output: number
  readonly cached_input?: number | undefined
  readonly cache_write?: number | undefined
  readonly cache_write_1h?: number | undefined
  readonly reasoning_output?: number | undefined
  readonly search?: number | undefined
}

type Changes = { readonly [Name in keyof Listed]?: Listed[Name] | undefined }

/** A tier contains only the prices that it changes. */
function changedBy(tier: Changes, listed: Listed): Listed {
  return {
    input: tier.input ?? listed.input,
    output: tier.output ?? listed.output,
    cached_input: tier.cached_input ?? listed.cached_input,
    cache_write: tier.cache_write ?? listed.cache_write,
    cache_write_1h: tier.cache_write_1h ?? listed.cache_write_1h,
    reasoning_output: tier.reasoning_output ?? listed.reasoning_output,
    search: listed.search,
  }
}

/** As Anthropic prices them: 1.25 x input for five minutes, 2 x input for an hour. */
const HOUR_TO_INPUT = 2
const HOUR_TO_MINUTES = 1.6

const NO_TIERS: readonly Tier[] = []

function priceOf(listed: Listed, tiers: readonly Tier[]): Price {
  const { input, output, cached_input, cache_write, reasoning_output, search = 0 } = listed
  const hourly = cache_write === undefined ? HOUR_TO_INPUT * input : HOUR_TO_MINUTES * cache_write
  return Object.freeze({
    input: picosOf(input),
    cachedInput: picosOf(cached_input ?? input),
    cacheWrite: picosOf(cache_write ?? input),
    cacheWrite1h: picosOf(listed.cache_write_1h ?? hourly),
    dearestInput: picosOf(
      Math.max(input, cached_input ?? 0, cache_write ?? 0, listed.cache_write_1h ?? 0),
    ),
    output: picosOf(output),
    reasoning: picosOf(reasoning_output ?? output),
    search: Math.round(search * NANOS_PER_USD),
    tiers,
  })
}

/** The price for an input of this length; a tier applies to the whole request. */
function tierOf(price: Price, promptTokens: number): Price {
  for (const tier of price.tiers) if (promptTokens > tier.above) return tier.price
  return price
}

/**
 * Nano-dollars of one attempt. Cached and written tokens are part of the prompt and reasoning tokens of the completion, so
 * each token is paid once. A model without a price costs nothing; a budget on one is refused at validation.
 */
export function costOf(usage: Usage, listed: Price | undefined): number {
  if (listed === undefined) return 0
  const price = tierOf(listed, usage.promptTokens)
  const { cached, written, hourly } = inCaches(usage)
  const reasoning = Math.min(usage.reasoningTokens, usage.completionTokens)
  const cost = new Total()
  cost.add(usage.promptTokens - cached - written, price.input)
  cost.add(cached, price.cachedInput)
  cost.add(written - hourly, price.cacheWrite)
  cost.add(hourly, price.cacheWrite1h)
  cost.add(usage.completionTokens - reasoning, price.output)
  cost.add(reasoning, price.reasoning)
  cost.add(usage.searches ?? 0, price.search * PICOS_PER_NANO)
  return cost.nanos
}

/** Nano-dollars by which prompt caches made one attempt cheaper and dearer; what they saved is the difference. */
export interface CacheEffect {
  /** Less than the price of plain input, for what was read. */
  readonly gain: number
  /** More than the price of plain input, for what was written. */
  readonly surcharge: number
}

/** undefined if nothing was read or written, or the model has no price. */
export function cacheEffectOf(usage: Usage, listed: Price | undefined): CacheEffect | undefined {
  if (listed === undefined) return undefined
  const { cached, written, hourly } = inCaches(usage)
  if (cached + written === 0) return undefined
  const { input, cachedInput, cacheWrite, cacheWrite1h } = tierOf(listed, usage.promptTokens)
  const [gain, surcharge] = [new Total(), new Total()]
  const note = (count: number, less: number) => {
    gain.add(count, Math.max(0, less))
    surcharge.add(count, Math.max(0, -less))
  }
  note(cached, input - cachedInput)
  note(written - hourly, input - cacheWrite)
  note(hourly, input - cacheWrite1h)
  return { gain: gain.nanos, surcharge: surcharge.nanos }
}

/** Tokens of the prompt that were read from a cache, written into one, and of these for an hour. */
function inCaches(usage: Usage) {
  const cached = Math.min(usage.cachedTokens, usage.promptTokens)
  const written = Math.min(usage.cacheWriteTokens ?? 0, usage.promptTokens - cached)
  return { cached, written, hourly: Math.min(usage.cacheWrite1hTokens ?? 0, written) }
}

/** The charge of a settlement: the sum over all attempts, each at the price of its model. */
export function chargeOf(
  attempts: readonly { readonly model: string; readonly usage: Usage }[],
  prices: PriceList,
): Amount {
  let tokens = 0
  let nanos = 0
  let input = 0
  for (const { model, usage } of attempts) {
    input += usage.promptTokens
    tokens += usage.promptTokens + usage.completionTokens
    nanos += costOf(usage, prices.get(model))
  }
  return { tokens: bounded(tokens), nanos: bounded(nanos), input: bounded(input) }
}

/**
 * Upper bound of a request: every token at its highest possible price. A prompt that turns out shorter may fall into a
 * more expensive tier, so tiers for shorter inputs count too.
 */
export function estimateOf(
  promptTokens: number,
  answerTokens: number,
  price: Price | undefined,
  searches = 0,
): Amount {
  const tokens = bounded(promptTokens + answerTokens)
  const input = bounded(promptTokens)
  if (price === undefined) return { tokens, nanos: 0, input }
  let inputPrice = price.dearestInput
  let output = Math.max(price.output, price.reasoning)
  for (const { above, price: tier } of price.tiers) {
    if (promptTokens <= above) continue
    inputPrice = Math.max(inputPrice, tier.dearestInput)
    output = Math.max(output, tier.output, tier.reasoning)
  }
  const cost = new Total()
  cost.add(promptTokens, inputPrice)
  cost.add(answerTokens, output)
  cost.add(searches, price.search * PICOS_PER_NANO)
  return { tokens, nanos: cost.nanos, input }
}

function picosOf(usdPerMillion: number): number {
  return Math.round(usdPerMillion * 1e6)
}

/** Sums nano-dollars and the smaller remainders separately, so that only a cost beyond every cap exceeds the safe integers. */
class Total {
  #nanos = 0
  #rest = 0

  add(count: number, picos: number): void {
    const below = picos % PICOS_PER_NANO
    this.#nanos += count * ((picos - below) / PICOS_PER_NANO)
    this.#rest += count * below
  }

  get nanos(): number {
    return bounded(this.#nanos + Math.ceil(this.#rest / PICOS_PER_NANO))
  }
}

function bounded(value: number): number {
  return Math.min(value, Number.MAX_SAFE_INTEGER)
}
