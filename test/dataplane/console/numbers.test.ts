/** The numbers of the page: rates of samples, usage of several pods, forecasts of budgets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

/** They are modules of a page, without types. */
const PAGE = new URL('../../../dataplane/console/page/', import.meta.url)
const { quantile, ratesOf } = await import(`${PAGE}rates.js`)
const { joined } = await import(`${PAGE}usage-rows.js`)
const { forecastOf } = await import(`${PAGE}views/tenants.js`)

function aPod(name: string, at_ms: number, requests: number, fields: object = {}) {
  const route = { name: 'chat', requests, errors: requests / 10, in_flight: 1, tokens: 0 }
  const routes = [{ ...route, first_tokens: [requests, 0, 0], overflow: {} }]
  const activity = { at_ms, first_token_bounds: [0.1, 1], routes, upstreams: [], tenants: [] }
  return { name, activity: { ...activity, ...fields } }
}

test('rates are differences over time, added up over pods', () => {
  const before = { pods: [aPod('a', 0, 100), aPod('b', 50_000, 40)] }
  const after = { pods: [aPod('a', 10_000, 200), aPod('b', 60_000, 60)] }
  const { total, routes } = ratesOf(before, after)
  assert.deepEqual([total.requests, total.errors, total.inFlight], [12, 1.2, 2])
  assert.equal(routes.get('chat').requests, 12)
  assert.equal(quantile(0.5, total), 0.05)
})

test('a pod that is new adds no rate, and one that began anew counts from zero', () => {
  const before = { pods: [aPod('a', 90_000, 900)] }
  const added = ratesOf(before, { pods: [aPod('a', 91_000, 901), aPod('b', 1000, 500)] })
  assert.equal(added.total.requests, 1)
  const fallen = ratesOf(before, { pods: [aPod('a', 91_000, 7)] })
  assert.equal(fallen.total.requests, 7)
  assert.equal(ratesOf(before, { pods: [{ name: 'a', error: 'away' }] }).total.requests, 0)
  assert.equal(quantile(0.5, ratesOf(undefined, before).total), undefined)
})

test('usage of pods is summed, and that of a shared store is counted once', () => {
  const row = (requests: number) => ({ by: { tenant: 'a' }, requests, cost_nano_usd: requests })
  const answer = (kept_in: string, requests: number) => ({
    status: 200,
    body: { kept_in, rows: [row(requests)] },
  })
  assert.equal(joined([answer('memory', 2), answer('memory', 3)])[0].requests, 5)
  assert.equal(joined([answer('redis', 2), answer('redis', 3)])[0].requests, 3)
  assert.equal(joined([answer('memory', 9), answer('redis', 3)])[0].requests, 3)
})

test('a budget is foretold at the pace of its window', () => {
  const at = (time: string) => Date.parse(`2026-11-${time}:00Z`)
  const day = { window: 'day', limit: 100, resets_at: '2026-11-24T00:00:00.000Z' }
  const fast = forecastOf({ ...day, used: 75 }, at('23T12:00'))
  assert.deepEqual(fast, { isOver: true, words: 'forecast: spent in 4 h, 150 by the end' })
  const slow = forecastOf({ ...day, used: 10 }, at('23T12:00'))
  assert.deepEqual(slow, { isOver: false, words: 'forecast: 20 of 100' })
  assert.match(
    forecastOf({ ...day, used: 100 }, at('23T12:00')).words,
    /^spent; it begins anew in 12 h$/,
  )
  assert.equal(forecastOf({ ...day, used: 10 }, at('23T00:05')), undefined)
  const month = { window: 'month', limit: '5', used: '1', resets_at: '2026-12-01T00:00:00.000Z' }
  assert.match(forecastOf(month, at('16T00:00')).words, /^forecast: 2 of 5$/)
  assert.equal(forecastOf({ ...day, window: 'minute', used: 5 }, at('23T12:00')), undefined)
})
