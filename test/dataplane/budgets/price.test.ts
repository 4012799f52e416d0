import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { chargeOf, compilePrices, costOf, estimateOf } from '../../../dataplane/budgets/price.ts'
import type { Usage } from '../../../dataplane/inner-form.ts'
import { cases } from '../../helpers/cases.ts'

interface Listed {
  readonly input: number
  readonly output: number
  readonly cached_input?: number
  readonly reasoning_output?: number
}

function priceOf(listed: Listed) {
  return compilePrices({ models: [{ model: 'm', ...listed }] }).get('m')
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

test('a cost is the exact product rounded up, whatever the price and the usage', () => {
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

test('every attempt that used something is charged at the price of its own model', () => {
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
  assert.deepEqual(charge, { tokens: 330, nanos: 1_300_000 + 120_000 })
  assert.deepEqual(chargeOf([], prices), { tokens: 0, nanos: 0 })
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
