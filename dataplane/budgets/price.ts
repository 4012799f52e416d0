/**
 * The prices of tokens, in whole numbers. A price is kept as pico-dollars (1e-12) a token, which is what six decimals of USD
 * per million tokens are; a cost is summed exactly and then rounded up, once per attempt, to a nano-dollar.
 */

import type { Section } from '../config/schema/index.ts'
import type { Usage } from '../inner-form.ts'
import type { Amount } from '../store/contract.ts'

/** The largest cap that sums in safe integers can hold: 9,000,000 USD in one window. */
export const MONEY_MAX_NANOS = 9_000_000_000_000_000

const PICOS_PER_NANO = 1_000

/** Pico-dollars a token. */
export interface Price {
  readonly input: number
  readonly cachedInput: number
  readonly output: number
  readonly reasoning: number
}

export type PriceList = ReadonlyMap<string, Price>

/** A cap in USD as nano-dollars, at least one: a budget of nothing would be no budget. */
export function nanosOf(usd: number): number {
  return Math.max(1, Math.round(usd * 1e9))
}

export function compilePrices(pricing: Section['pricing']): PriceList {
  return new Map(
    (pricing?.models ?? []).map(({ model, input, output, cached_input, reasoning_output }) => [
      model,
      Object.freeze({
        input: picosOf(input),
        cachedInput: picosOf(cached_input ?? input),
        output: picosOf(output),
        reasoning: picosOf(reasoning_output ?? output),
      }),
    ]),
  )
}

/**
 * Nano-dollars of one attempt. Cached tokens are part of the prompt and reasoning tokens of the completion, so each token
 * is paid once. A model without a price costs nothing; a budget on one is refused at validation.
 */
export function costOf(usage: Usage, price: Price | undefined): number {
  if (price === undefined) return 0
  const cached = Math.min(usage.cachedTokens, usage.promptTokens)
  const reasoning = Math.min(usage.reasoningTokens, usage.completionTokens)
  return total([
    [usage.promptTokens - cached, price.input],
    [cached, price.cachedInput],
    [usage.completionTokens - reasoning, price.output],
    [reasoning, price.reasoning],
  ])
}

/** The charge of a settlement: every attempt that used something, each at the price of its model. */
export function chargeOf(
  attempts: readonly { readonly model: string; readonly usage: Usage }[],
  prices: PriceList,
): Amount {
  let tokens = 0
  let nanos = 0
  for (const { model, usage } of attempts) {
    tokens += usage.promptTokens + usage.completionTokens
    nanos += costOf(usage, prices.get(model))
  }
  return { tokens: bounded(tokens), nanos: bounded(nanos) }
}

/** Upper bound of a request: nothing cached, and the dearer of answering and reasoning for all of the answer. */
export function estimateOf(
  promptTokens: number,
  answerTokens: number,
  price: Price | undefined,
): Amount {
  const tokens = bounded(promptTokens + answerTokens)
  if (price === undefined) return { tokens, nanos: 0 }
  const input = Math.max(price.input, price.cachedInput)
  const output = Math.max(price.output, price.reasoning)
  return {
    tokens,
    nanos: total([
      [promptTokens, input],
      [answerTokens, output],
    ]),
  }
}

function picosOf(usdPerMillion: number): number {
  return Math.round(usdPerMillion * 1e6)
}

/** Nanos and what is below them are summed apart, so that only a cost beyond every cap leaves the safe integers. */
function total(parts: readonly (readonly [tokens: number, picos: number])[]): number {
  let nanos = 0
  let rest = 0
  for (const [tokens, picos] of parts) {
    const below = picos % PICOS_PER_NANO
    nanos += tokens * ((picos - below) / PICOS_PER_NANO)
    rest += tokens * below
  }
  return bounded(nanos + Math.ceil(rest / PICOS_PER_NANO))
}

function bounded(value: number): number {
  return Math.min(value, Number.MAX_SAFE_INTEGER)
}
