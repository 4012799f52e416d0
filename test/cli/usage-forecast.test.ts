/** Predicted budgets at the end of their windows: of tenants, groups and keys. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { forecastsOf } from '../../cli/usage/forecast.ts'

/** Noon: half of the day is over, and a quarter of the month. */
const NOW = Date.parse('2026-11-08T12:00:00Z')
const day = (used: number, limit = 100) => ({
  ...{ window: 'day', limit, used, reserved: 0, remaining: limit - used },
  resets_at: '2026-11-09T00:00:00.000Z',
})
const month = (used: string, limit = '100') => ({
  ...{ window: 'month', limit, used, reserved: '0', remaining: '0' },
  resets_at: '2026-12-01T00:00:00.000Z',
})
const RATES = {
  requests_per_minute: { window: 'minute', limit: 60, used: 1, resets_at: '2026-11-08T12:01:00Z' },
  concurrent_requests: { window: 'running', limit: 8, used: 0, resets_at: null },
}

test('a budget shows its pace, the end of its window and when it will be spent', () => {
  const [spent, slow] = forecastsOf(
    [
      {
        total: 1,
        tenants: [
          { tenant: 'a', ...RATES, tokens_per_day: day(80), spend_per_month_usd: month('12.5') },
        ],
      },
    ],
    NOW,
  )
  assert.deepEqual(
    [spent?.budget, spent?.pace, spent?.at_end, spent?.spent_at],
    ['tokens_per_day', 1.6, 160, '2026-11-08T15:00:00.000Z'],
  )
  assert.deepEqual(
    [slow?.budget, slow?.pace, slow?.at_end, slow?.spent_at],
    ['spend_per_month_usd', 0.5, 50, null],
  )
})

test('tokens at the end of a window are a whole number, and money is not', () => {
  const later = NOW + 5 * 3_600_000
  const figures = { tokens_per_day: day(15), spend_per_month_usd: month('0.1') }
  const [tokens, money] = forecastsOf([{ total: 1, tenants: [{ tenant: 'a', ...figures }] }], later)
  assert.equal(tokens?.at_end, 21, '15 in 17 of 24 hours')
  assert.ok(!Number.isInteger(money?.at_end))
})

test('what is spent, what is untouched and what has hardly begun foretell nothing', () => {
  const early = Date.parse('2026-11-08T00:01:00Z')
  const of = (used: number, now: number) =>
    forecastsOf([{ total: 1, tenants: [{ tenant: 'a', tokens_per_day: day(used) }] }], now)[0]
  assert.deepEqual([of(100, NOW)?.pace, of(100, NOW)?.spent_at], [null, '2026-11-08T12:00:00.000Z'])
  assert.equal(of(0, NOW)?.at_end, null)
  assert.equal(of(5, early)?.pace, null)
})

test('a budget of a group or a key is printed once, regardless of the number of tenants and pods', () => {
  const shared = { 'group:research tokens_per_day': day(40), 'key:k1 tokens_per_day': day(10) }
  const pod = (used: number) => ({
    total: 2,
    tenants: [
      { tenant: 'a', tokens_per_day: day(used), ...shared },
      { tenant: 'b', ...shared },
    ],
  })
  const found = forecastsOf([pod(20), pod(30)], NOW)
  assert.deepEqual(
    found.map(({ tenant, budget, used }) => [tenant, budget, used]),
    [
      ['', 'group:research tokens_per_day', 40],
      ['a', 'tokens_per_day', 30],
      ['', 'key:k1 tokens_per_day', 10],
    ],
  )
})
