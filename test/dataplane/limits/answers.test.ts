import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Rules } from '../../../dataplane/accounts/store.ts'
import { limitHeaders, usdText } from '../../../dataplane/limits/headers.ts'
import { type Refused, refusalError } from '../../../dataplane/limits/refusal.ts'
import { NOON } from '../../helpers/clock.ts'
import { aBudget, aRule, tokens, World } from '../../helpers/store/world.ts'

test('every answer has the rate; the budgets only for a tenant that has them', () => {
  const world = new World(aRule({ requestsPerMinute: 120, burst: 30 }))
  assert.deepEqual(limitHeaders(world.admit().figures), {
    'X-Gw-RateLimit-Limit': '120',
    'X-Gw-RateLimit-Remaining': '29',
    'X-Gw-RateLimit-Reset': '1',
    'x-ratelimit-limit-requests': '120',
    'x-ratelimit-remaining-requests': '29',
    'x-ratelimit-reset-requests': '500ms',
  })
  world.rules = {
    ...world.rules,
    budget: aBudget({ tokensPerDay: 1000, nanosPerMonth: 12_500_000_000 }),
  }
  world.use({ tokens: 15, nanos: 250_000_000 })
  world.admit({ tokens: 900, nanos: 9_000_000_000 })
  assert.deepEqual(limitHeaders(world.figures), {
    'X-Gw-RateLimit-Limit': '120',
    'X-Gw-RateLimit-Remaining': '27',
    'X-Gw-RateLimit-Reset': '2',
    'x-ratelimit-limit-requests': '120',
    'x-ratelimit-remaining-requests': '27',
    'x-ratelimit-reset-requests': '1.5s',
    'X-Gw-Budget-Tokens-Remaining': '985',
    'X-Gw-Budget-Spend-Remaining-Usd': '12.25',
  })
  world.use({ tokens: 5000, nanos: 50_000_000_000 })
  const spent = limitHeaders(world.figures)
  assert.equal(spent['X-Gw-Budget-Tokens-Remaining'], '0')
  assert.equal(spent['X-Gw-Budget-Spend-Remaining-Usd'], '0')
})

test("a tenant with a limit of tokens gets it in OpenAI's form", () => {
  const world = new World(aRule({ requestsPerMinute: 1, burst: 7, tokensPerMinute: 1000 }))
  for (let request = 0; request < 7; request++) world.admit(tokens(100))
  const headers = limitHeaders(world.figures)
  assert.equal(headers['x-ratelimit-reset-requests'], '7m0s')
  assert.equal(headers['x-ratelimit-limit-tokens'], '1000')
  assert.equal(headers['x-ratelimit-remaining-tokens'], '300')
  assert.equal(headers['x-ratelimit-reset-tokens'], '42s')
})

test('money is written with every digit and no exponent', () => {
  const rows: readonly [number, string][] = [
    [0, '0'],
    [1, '0.000000001'],
    [150, '0.00000015'],
    [100_000_000, '0.1'],
    [1_000_000_000, '1'],
    [100_000_000_000, '100'],
    [9_000_000_000_000_000, '9000000'],
    [8_999_999_999_999_999, '8999999.999999999'],
  ]
  for (const [nanos, text] of rows) assert.equal(usdText(nanos), text)
})

/** The refusal of this rule for a request of 60 tokens after those that `before` sends. */
function refused(rules: Rules, before: (world: World) => void): Refused {
  const world = new World(rules)
  before(world)
  const result = world.admit(tokens(60))
  assert.ok(result.outcome === 'refused')
  return result
}

const run = (world: World) => void world.admit({ tokens: 60, nanos: 60_000_000 })
const spend = (world: World) => void world.use({ tokens: 60, nanos: 60_000_000 })
const midnight = '2026-11-22T00:00:00.000Z'
const december = '2026-12-01T00:00:00.000Z'

test('a refusal names the limit, its usage, and what to do', () => {
  const rows: readonly [
    Rules,
    (world: World) => void,
    number,
    number | undefined,
    object,
    RegExp,
  ][] = [
    [
      aRule({ requestsPerMinute: 8, burst: 1 }),
      run,
      429,
      8,
      {
        reason: 'rpm',
        limited_by: 'requests_per_minute',
        limit: 8,
        burst: 1,
        used: 1,
        resets_at: '2026-11-21T12:00:07.500Z',
      },
      /8 requests a minute, 1 at once, .*Try again in 8 s, or have requests_per_minute raised/,
    ],
    [
      aRule({ tokensPerMinute: 100 }),
      run,
      429,
      12,
      {
        reason: 'tpm',
        limited_by: 'tokens_per_minute',
        limit: 100,
        used: 60,
        resets_at: '2026-11-21T12:00:36.000Z',
      },
      /100 tokens a minute leaves 40: too few. Try again in 12 s/,
    ],
    [
      aRule({ concurrentRequests: 1 }),
      run,
      429,
      1,
      { reason: 'concurrency', limited_by: 'concurrent_requests', limit: 1, used: 1 },
      /1 requests are running and 1 may/,
    ],
    [
      aRule({ budget: aBudget({ tokensPerDay: 50 }) }),
      run,
      429,
      1,
      {
        reason: 'budget_reserved',
        limited_by: 'tokens_per_day',
        limit: 50,
        used: 0,
        reserved: 60,
        resets_at: midnight,
      },
      /The 50 tokens of this day may all be used by requests that are running/,
    ],
    [
      aRule({ budget: aBudget({ nanosPerMonth: 50_000_000 }) }),
      run,
      429,
      1,
      {
        reason: 'budget_reserved',
        limited_by: 'spend_per_month_usd',
        limit: 0.05,
        used: 0,
        reserved: 0.06,
        resets_at: december,
      },
      /The 0.05 USD of this month may all be spent by requests/,
    ],
    [
      aRule({ budget: aBudget({ tokensPerDay: 50 }) }),
      spend,
      402,
      undefined,
      {
        reason: 'budget_tokens',
        limited_by: 'tokens_per_day',
        limit: 50,
        used: 60,
        reserved: 0,
        resets_at: midnight,
      },
      /The 50 tokens of this day are used. Wait until it resets at 2026-11-22T00:00:00.000Z, or/,
    ],
    [
      aRule({ budget: aBudget({ nanosPerMonth: 50_000_000, onExceeded: 'downgrade' }) }),
      spend,
      402,
      undefined,
      {
        reason: 'budget_spend',
        limited_by: 'spend_per_month_usd',
        limit: 0.05,
        used: 0.06,
        reserved: 0,
        resets_at: december,
      },
      /The 0.05 USD of this month are spent. .* The downgrade route has no eligible upstream now/,
    ],
  ]
  for (const [rules, before, status, retryAfterSeconds, facts, message] of rows) {
    const error = refusalError(refused(rules, before), rules, NOON)
    assert.equal(error.code, status === 402 ? 'ERR_GW_BUDGET_EXCEEDED' : 'ERR_GW_RATE_LIMIT_LOCAL')
    assert.deepEqual([error.status, error.final], [status, status === 402])
    assert.equal(error.details.retryAfterSeconds, retryAfterSeconds)
    assert.deepEqual(error.details.facts, facts)
    assert.match(error.message, message)
  }
})
