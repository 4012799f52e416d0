/** Rates from two readings of counters. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quantile, ratesOf } from '../../cli/top/rates.ts'
import type { Activity, ActivityReading } from '../../cli/top/reading.ts'

type Counts = Partial<Record<'requests' | 'errors' | 'tokens' | 'in_flight', number>>

function anActivity(at_ms: number, counts: Counts, others: Partial<Activity> = {}): Activity {
  const zero = { requests: 0, errors: 0, tokens: 0, in_flight: 0, first_tokens: [0, 0, 0] }
  const routes = [{ name: 'chat', ...zero, ...counts }]
  return {
    at_ms,
    first_token_bounds: [0.1, 1],
    routes,
    tenants: [],
    usage: [],
    shares: [],
    ...others,
  }
}

function aReading(...gateways: readonly (readonly [string, Activity])[]): ActivityReading {
  return { gateways: new Map(gateways), asked: gateways.length }
}

test('rates of several gateways add up, each over the time between its own reads', () => {
  const before = aReading(['a', anActivity(1000, { requests: 10 })], ['b', anActivity(0, {})])
  const after = aReading(
    ['a', anActivity(3000, { requests: 20, errors: 2, in_flight: 3 })],
    ['b', anActivity(4000, { requests: 4, tokens: 400, in_flight: 1 })],
  )
  assert.deepEqual(ratesOf(before, after).routes, [
    {
      route: 'chat',
      requests_per_second: 6,
      errors_per_second: 1,
      tokens_per_second: 100,
      in_flight: 4,
    },
  ])
})

for (const [what, before, after] of [
  ['is new', aReading(), aReading(['a', anActivity(9000, { requests: 90, in_flight: 2 })])],
  [
    'has started again',
    aReading(['a', anActivity(9000, { requests: 90 })]),
    aReading(['a', anActivity(500, { requests: 7, in_flight: 2 })]),
  ],
] as const) {
  test(`a gateway that ${what} shows its requests in flight and no rate`, () => {
    const [chat] = ratesOf(before, after).routes
    assert.deepEqual([chat?.in_flight, chat?.requests_per_second], [2, 0])
  })
}

test("a tenant's refusals are requests and errors, and a new hour begins with nothing", () => {
  const used = (hour: string, tokens: number) => ({ tenant: 'acme', hour, errors: 0, tokens })
  const before = anActivity(
    0,
    {},
    {
      tenants: [{ name: 'acme', admitted: 5, refused: 1 }],
      usage: [used('08', 900), used('09', 1000)],
    },
  )
  const after = anActivity(
    2000,
    {},
    {
      tenants: [
        { name: 'acme', admitted: 7, refused: 5 },
        { name: 'busy', admitted: 20, refused: 0 },
      ],
      usage: [used('09', 1010), used('10', 30)],
    },
  )
  const { tenants } = ratesOf(aReading(['a', before]), aReading(['a', after]))
  assert.deepEqual(
    tenants.map((one) => Object.values(one)),
    [
      ['busy', 10, 0, 0],
      ['acme', 3, 2, 20],
    ],
  )
})

test('a counter that has fallen counts from zero', () => {
  const before = aReading(['a', anActivity(0, { requests: 50 })])
  const [chat] = ratesOf(before, aReading(['a', anActivity(1000, { requests: 4 })])).routes
  assert.equal(chat?.requests_per_second, 4)
})

for (const [counts, p95] of [
  [[0, 0, 0], undefined],
  [[100, 0, 0], 0.095],
  [[90, 10, 0], 0.55],
  [[0, 0, 5], 1],
] as const) {
  test(`first tokens by bucket ${counts.join(', ')} have the p95 ${p95}`, () => {
    const found = quantile(0.95, [0.1, 1], counts)
    assert.equal(found && Math.round(found * 1000) / 1000, p95)
  })
}

test('shares of tenants at an upstream add up over gateways', () => {
  const share = (tenant: string, waiting: number, tokens_per_second: number, entitled: number) => ({
    ...{ upstream: 'busy', tenant, waiting, running: 1, tokens_per_second, share: 0, entitled },
  })
  const after = aReading(
    ['a', anActivity(1, {}, { shares: [share('gold', 3, 60, 0.8), share('silver', 1, 15, 0.2)] })],
    ['b', anActivity(1, {}, { shares: [share('gold', 2, 20, 1), share('idle', 0, 5, 0)] })],
  )
  assert.deepEqual(ratesOf(aReading(), after).shares, [
    {
      ...{ upstream: 'busy', tenant: 'gold', waiting: 5, running: 2 },
      ...{ tokens_per_second: 80, share: 0.8, entitled: 0.9 },
    },
    {
      ...{ upstream: 'busy', tenant: 'silver', waiting: 1, running: 1 },
      ...{ tokens_per_second: 15, share: 0.15, entitled: 0.2 },
    },
    {
      ...{ upstream: 'busy', tenant: 'idle', waiting: 0, running: 1 },
      ...{ tokens_per_second: 5, share: 0.05, entitled: 0 },
    },
  ])
})
