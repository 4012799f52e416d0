import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  cacheEffectOf,
  chargeOf,
  compilePrices,
  costOf,
  estimateOf,
} from '../../../dataplane/accounts/price.ts'
import { knownCounts, readUsage } from '../../../dataplane/providers/anthropic/answer.ts'
import { readUsage as readConverseUsage } from '../../../dataplane/providers/bedrock/answers/answer.ts'
import type { Usage } from '../../../dataplane/wire/inner-form.ts'
import { cases } from '../../helpers/cases.ts'

interface Listed {
  readonly input: number
  readonly output: number
  readonly cached_input?: number
  readonly cache_write?: number
  readonly cache_write_1h?: number
  readonly reasoning_output?: number
  readonly search?: number
  readonly tiers?: readonly (Partial<Listed> & { readonly above_input_tokens: number })[]
}

function priceOf(listed: Listed) {
  const tiers = [...(listed.tiers ?? [])]
  return compilePrices({ models: [{ model: 'm', ...listed, tiers }] }).get('m')
}

function aUsage(given: Partial<Usage> = {}): Usage {
  return {
    promptTokens: 0,
    completionTokens: 0,
    cachedTokens: 0,
    reasoningTokens: 0,
    estimated: false,
    ...given,
  }
}

test('a usage costs what the price list says, to the nano-dollar', () => {
  const prompt = (promptTokens: number) => ({ promptTokens })
  const rows: readonly [Listed, Partial<Usage>, number][] = [
    [{ input: 3, output: 15 }, { promptTokens: 1000, completionTokens: 500 }, 10_500_000],
    [{ input: 0.15, output: 0.6 }, { promptTokens: 1, completionTokens: 1 }, 750],
    [{ input: 0.1, output: 0.2 }, { promptTokens: 3, completionTokens: 3 }, 900],
    // Half a nano-dollar and less is rounded up, once for all tokens of the attempt.
    [{ input: 0.0375, output: 0 }, prompt(1), 38],
    [{ input: 0.0375, output: 0 }, prompt(2), 75],
    [{ input: 0.000001, output: 0 }, prompt(1), 1],
    [{ input: 0.000001, output: 0 }, prompt(1000), 1],
    [{ input: 0.000001, output: 0 }, prompt(1001), 2],
    [{ input: 0.075, output: 0.0004 }, { promptTokens: 7, completionTokens: 1 }, 526],
    [{ input: 0, output: 0 }, { promptTokens: 1000, completionTokens: 1000 }, 0],
    // Cached tokens are part of the prompt, reasoning tokens of the completion.
    [{ input: 2, output: 8, cached_input: 0.5 }, { promptTokens: 100, cachedTokens: 40 }, 140_000],
    [{ input: 2, output: 8 }, { promptTokens: 100, cachedTokens: 40 }, 200_000],
    [{ input: 2, output: 8, cached_input: 0 }, { promptTokens: 100, cachedTokens: 100 }, 0],
    [
      { input: 2, output: 8, reasoning_output: 16 },
      { completionTokens: 100, reasoningTokens: 75 },
      1_400_000,
    ],
    [{ input: 2, output: 8 }, { promptTokens: 10, cachedTokens: 99 }, 20_000],
    [{ input: 1_000_000, output: 0 }, prompt(9_000_000), 9_000_000_000_000_000],
    [{ input: 1_000_000, output: 0 }, prompt(1e15), Number.MAX_SAFE_INTEGER],
  ]
  for (const [listed, usage, expected] of rows) {
    assert.equal(costOf(aUsage(usage), priceOf(listed)), expected, JSON.stringify([listed, usage]))
  }
  assert.equal(costOf(aUsage({ promptTokens: 5 }), undefined), 0)
})

test('searches have a separate price, in addition to that of the tokens', () => {
  const price = priceOf({ input: 1, output: 0, search: 0.002 })
  assert.equal(costOf(aUsage({ promptTokens: 10, searches: 3 }), price), 10_000 + 3 * 2_000_000)
  assert.deepEqual(estimateOf(10, 0, price, 2), {
    tokens: 10,
    nanos: 10_000 + 2 * 2_000_000,
    input: 10,
  })
  const tiers = [{ above_input_tokens: 5, input: 2 }]
  const long = priceOf({ input: 1, output: 0, search: 0.002, tiers })
  assert.equal(costOf(aUsage({ promptTokens: 10, searches: 1 }), long), 20_000 + 2_000_000)
})

const CACHED = { input: 3, output: 15, cached_input: 0.3, cache_write: 3.75 }

test('tokens written into a cache have their price, and each token of the prompt is paid once', () => {
  const usage = { promptTokens: 1000, cachedTokens: 800, cacheWriteTokens: 150 }
  const parts = 50 * 3000 + 800 * 300 + 150 * 3750
  assert.equal(costOf(aUsage(usage), priceOf(CACHED)), parts)
  // Without a price it is an input like any other.
  assert.equal(costOf(aUsage(usage), priceOf({ input: 3, output: 15 })), 3_000_000)
  const absurd = { promptTokens: 10, cachedTokens: 4, cacheWriteTokens: 99 }
  assert.equal(costOf(aUsage(absurd), priceOf(CACHED)), 4 * 300 + 6 * 3750)
})

test('tokens kept for an hour have their price: the written one, else 1.6 times cache_write, else twice the input', () => {
  const usage = aUsage({ promptTokens: 1000, cacheWriteTokens: 150, cacheWrite1hTokens: 100 })
  const rows: readonly [Listed, number][] = [
    [{ ...CACHED, cache_write_1h: 7 }, 850 * 3000 + 50 * 3750 + 100 * 7000],
    [CACHED, 850 * 3000 + 50 * 3750 + 100 * 6000],
    [{ input: 3, output: 15 }, 850 * 3000 + 50 * 3000 + 100 * 6000],
    [{ ...CACHED, cache_write_1h: 0 }, 850 * 3000 + 50 * 3750],
    [
      { ...CACHED, tiers: [{ above_input_tokens: 10, cache_write: 10, cache_write_1h: 20 }] },
      850 * 3000 + 50 * 10_000 + 100 * 20_000,
    ],
    [
      { ...CACHED, tiers: [{ above_input_tokens: 10, cache_write: 10 }] },
      850 * 3000 + 50 * 10_000 + 100 * 16_000,
    ],
  ]
  for (const [listed, expected] of rows)
    assert.equal(costOf(usage, priceOf(listed)), expected, JSON.stringify(listed))
  // The hour's tokens cannot exceed all written ones.
  const absurd = aUsage({ promptTokens: 10, cacheWriteTokens: 4, cacheWrite1hTokens: 99 })
  assert.equal(costOf(absurd, priceOf(CACHED)), 6 * 3000 + 4 * 6000)
  assert.equal(estimateOf(10, 0, priceOf({ ...CACHED, cache_write_1h: 7 })).nanos, 70_000)
  assert.equal(estimateOf(10, 0, priceOf(CACHED)).nanos, 37_500)
})

test('caches save the difference to plain input, less the extra cost of writing, at the tier of the request', () => {
  const used = { promptTokens: 1000, cachedTokens: 800, cacheWriteTokens: 150 }
  const rows: readonly [Listed, Partial<Usage>, gain: number, surcharge: number][] = [
    [CACHED, used, 800 * 2700, 150 * 750],
    [CACHED, { ...used, cacheWrite1hTokens: 100 }, 800 * 2700, 50 * 750 + 100 * 3000],
    [CACHED, { promptTokens: 10, cacheWriteTokens: 10 }, 0, 10 * 750],
    // A cache with a write price below plain input saves on writing too.
    [{ ...CACHED, cache_write: 2 }, used, 800 * 2700 + 150 * 1000, 0],
    [
      { ...CACHED, tiers: [{ above_input_tokens: 10, input: 6 }] },
      used,
      800 * 5700 + 150 * 2250,
      0,
    ],
  ]
  for (const [listed, usage, gain, surcharge] of rows)
    assert.deepEqual(cacheEffectOf(aUsage(usage), priceOf(listed)), { gain, surcharge })
  assert.equal(cacheEffectOf(aUsage({ promptTokens: 10 }), priceOf(CACHED)), undefined)
  assert.equal(cacheEffectOf(aUsage(used), undefined), undefined)
})

test('cost and savings together are the cost without a cache', () => {
  const tokens = fc.integer({ min: 0, max: 1_000_000 })
  // Prices of whole nano-dollars a token are not rounded.
  const usd = fc.integer({ min: 0, max: 100 }).map((thousandths) => thousandths / 1000)
  const listed = fc.record({ input: usd, output: usd, cached_input: usd, cache_write: usd })
  const usages = fc.record({
    ...{ promptTokens: tokens, cachedTokens: tokens, completionTokens: tokens },
    ...{ cacheWriteTokens: tokens, cacheWrite1hTokens: tokens },
  })
  fc.assert(
    fc.property(listed, usages, (prices, some) => {
      const [usage, price] = [aUsage(some), priceOf(prices)]
      const plain = { ...usage, cachedTokens: 0, cacheWriteTokens: 0, cacheWrite1hTokens: 0 }
      const { gain, surcharge } = cacheEffectOf(usage, price) ?? { gain: 0, surcharge: 0 }
      assert.ok(gain >= 0 && surcharge >= 0)
      assert.ok(Math.abs(costOf(usage, price) + gain - surcharge - costOf(plain, price)) <= 2)
    }),
    { numRuns: cases(200, 20_000) },
  )
})

test("Anthropic's split of written tokens is read, whole and in the pieces of a stream", () => {
  const said = {
    ...{ input_tokens: 10, output_tokens: 5, cache_creation_input_tokens: 300 },
    cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
  }
  for (const usage of [said, knownCounts(said)])
    assert.partialDeepStrictEqual(readUsage(usage), {
      ...{ promptTokens: 310, cacheWriteTokens: 300, cacheWrite1hTokens: 200 },
    })
  const bedrock = readConverseUsage({
    ...{ inputTokens: 10, outputTokens: 5, totalTokens: 315, cacheWriteInputTokens: 300 },
    cacheDetails: [
      { ttl: '5m', inputTokens: 100 },
      { ttl: '1h', inputTokens: 200 },
    ],
  })
  assert.partialDeepStrictEqual(bedrock, { cacheWriteTokens: 300, cacheWrite1hTokens: 200 })
})

test('a long input is charged, as a whole, by the highest tier that it exceeds', () => {
  const tiers = [
    { above_input_tokens: 200_000, input: 6, output: 22.5, cached_input: 0.6 },
    { above_input_tokens: 1_000_000, input: 12 },
  ]
  const price = priceOf({ ...CACHED, tiers })
  const rows: readonly [Partial<Usage>, number][] = [
    [{ promptTokens: 200_000, completionTokens: 10 }, 200_000 * 3000 + 10 * 15_000],
    [{ promptTokens: 200_001, completionTokens: 10 }, 200_001 * 6000 + 10 * 22_500],
    [{ promptTokens: 300_000, cachedTokens: 300_000 }, 300_000 * 600],
    // A tier contains only changes; the rest comes from the model.
    [{ promptTokens: 300_000, cacheWriteTokens: 300_000 }, 300_000 * 3750],
    [{ promptTokens: 1_000_001, completionTokens: 1 }, 1_000_001 * 12_000 + 15_000],
  ]
  for (const [usage, expected] of rows)
    assert.equal(costOf(aUsage(usage), price), expected, JSON.stringify(usage))
})

test('an estimate is never below the cost, in any tier', () => {
  const usd = fc.integer({ min: 0, max: 30_000_000 }).map((picos) => picos / 1e6)
  const listed = { input: usd, output: usd, cached_input: usd, cache_write: usd }
  const tier = fc.record({ above_input_tokens: fc.integer({ min: 1, max: 1000 }), ...listed })
  const count = fc.nat(1000)
  fc.assert(
    fc.property(
      fc.record({ ...listed, tiers: fc.array(tier, { maxLength: 3 }) }),
      fc.record({
        promptTokens: count,
        cachedTokens: count,
        cacheWriteTokens: count,
        completionTokens: count,
      }),
      fc.nat(500),
      (prices, used, more) => {
        const price = priceOf(prices)
        const { nanos } = estimateOf(used.promptTokens + more, used.completionTokens, price)
        assert.ok(nanos >= costOf(aUsage(used), price))
      },
    ),
    { numRuns: cases(1000, 5000) },
  )
})

test('a cost is the exact product rounded up, for every price and usage', () => {
  const picos = fc.integer({ min: 0, max: 100_000_000 })
  const count = fc.nat(2_000_000)
  fc.assert(
    fc.property(
      fc.tuple(picos, picos, picos, picos),
      fc.tuple(count, count, count, count),
      (prices, counts) => {
        const [input, cached_input, output, reasoning_output] = prices.map((price) => price / 1e6)
        const [fresh, cachedTokens, plain, reasoningTokens] = counts as [
          number,
          number,
          number,
          number,
        ]
        const usage = aUsage({
          promptTokens: fresh + cachedTokens,
          cachedTokens,
          completionTokens: plain + reasoningTokens,
          reasoningTokens,
        })
        const price = priceOf({
          input: input!,
          output: output!,
          cached_input: cached_input!,
          reasoning_output: reasoning_output!,
        })
        const exact = prices.reduce(
          (sum, one, index) => sum + BigInt(one) * BigInt(counts[index]!),
          0n,
        )
        assert.equal(BigInt(costOf(usage, price)), (exact + 999n) / 1000n)
      },
    ),
    { numRuns: cases(1000, 5000) },
  )
})

test('a million small charges add up to the nano-dollar', () => {
  const price = priceOf({ input: 0.001, output: 0 })
  let sum = 0
  for (let index = 0; index < 1_000_000; index++) sum += costOf(aUsage({ promptTokens: 1 }), price)
  assert.equal(sum, 1_000_000)
})

test('every attempt with usage is charged at the price of its model', () => {
  const prices = compilePrices({
    models: [
      { model: 'dear', input: 10, output: 30 },
      { model: 'cheap', input: 1, output: 2 },
    ],
  })
  const usage = aUsage({ promptTokens: 100, completionTokens: 10 })
  const charge = chargeOf(
    [
      { model: 'dear', usage },
      { model: 'cheap', usage },
      { model: 'unknown', usage },
    ],
    prices,
  )
  assert.deepEqual(charge, { tokens: 330, nanos: 1_300_000 + 120_000, input: 300 })
  assert.deepEqual(chargeOf([], prices), { tokens: 0, nanos: 0, input: 0 })
})

test('an estimate is never below what the same tokens can cost', () => {
  const usd = fc.integer({ min: 0, max: 50_000_000 }).map((picos) => picos / 1e6)
  const listed = fc.record({ input: usd, output: usd, cached_input: usd, reasoning_output: usd })
  const count = fc.nat(100_000)
  fc.assert(
    fc.property(listed, fc.tuple(count, count, count, count), (one, counts) => {
      const [promptTokens, cachedTokens, completionTokens, reasoningTokens] = counts
      const usage = aUsage({ promptTokens, cachedTokens, completionTokens, reasoningTokens })
      const price = priceOf(one)
      assert.ok(estimateOf(promptTokens, completionTokens, price).nanos >= costOf(usage, price))
    }),
    { numRuns: cases(1000, 5000) },
  )
})

test("searches that Anthropic counts are paid at the model's search price", () => {
  const server_tool_use = { web_search_requests: 3 }
  const usage = readUsage({ input_tokens: 1, output_tokens: 0, server_tool_use })
  assert.ok(usage)
  assert.equal(costOf(usage, priceOf({ input: 1, output: 1, search: 0.01 })), 30_001_000)
})
