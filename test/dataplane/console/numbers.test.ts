/** The numbers of the page: rates of samples, usage of several pods, forecasts of budgets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

/** They are modules of a page, without types. */
const PAGE = new URL('../../../dataplane/console/page/', import.meta.url)
const { quantile, ratesOf } = await import(`${PAGE}rates.js`)
const { joined } = await import(`${PAGE}usage-rows.js`)
const { budgetsOf, forecastOf } = await import(`${PAGE}budgets.js`)
const { History } = await import(`${PAGE}history.js`)
const { attention } = await import(`${PAGE}attention.js`)

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

test('what limits refuse and what clients send wrong is no error', () => {
  const counted = (at_ms: number, requests: number) => {
    const pod = aPod('a', at_ms, requests)
    const [route] = pod.activity.routes
    const routes = [
      { ...route, errors: requests, refused: requests * 0.8, client_errors: requests * 0.1 },
    ]
    return { pods: [{ ...pod, activity: { ...pod.activity, routes } }] }
  }
  const { total } = ratesOf(counted(0, 100), counted(10_000, 200))
  assert.deepEqual([total.requests, total.errors], [10, 1])
  assert.equal(total.refused, 8)
})

test('a new pod adds no rate, and a restarted one counts from zero', () => {
  const before = { pods: [aPod('a', 90_000, 900)] }
  const added = ratesOf(before, { pods: [aPod('a', 91_000, 901), aPod('b', 1000, 500)] })
  assert.equal(added.total.requests, 1)
  const fallen = ratesOf(before, { pods: [aPod('a', 91_000, 7)] })
  assert.equal(fallen.total.requests, 7)
  assert.equal(ratesOf(before, { pods: [{ name: 'a', error: 'away' }] }).total.requests, 0)
  assert.equal(quantile(0.5, ratesOf(undefined, before).total), undefined)
})

function aSample(second: number, ...pods: object[]) {
  return { at: new Date(second * 1000).toISOString(), pods }
}

test('a restarted gateway, and a time without samples, are gaps in the points and no zeros', () => {
  const history = new History()
  const requests = () => history.points.map((point: { requests: number }) => point.requests)
  for (const second of [0, 1, 2])
    history.add(aSample(second, aPod('a', second * 1000, second * 10)))
  assert.deepEqual(requests(), [10, 10])
  // Restarted: its clock and its counters are smaller.
  history.add(aSample(3, aPod('a', 500, 0)))
  history.add(aSample(4, aPod('a', 1500, 7)))
  assert.deepEqual(requests(), [10, 10, undefined, 7])
  // The machine slept for a minute, and the counters increased.
  history.add(aSample(64, aPod('a', 61_500, 607)))
  assert.equal(history.rates.total.isKnown, false)
  history.add(aSample(65, aPod('a', 62_500, 610)))
  assert.deepEqual(requests(), [10, 10, undefined, 7, undefined, 3])
  // No gateway answers.
  history.add(aSample(66, { name: 'a', error: 'away' }))
  assert.equal(history.rates.total.isKnown, false)
  assert.deepEqual(history.points.at(-1), { at: 66_000 })
})

test('a pod that does not answer leaves the rates of the others', () => {
  const history = new History()
  history.add(aSample(0, aPod('a', 0, 0), aPod('b', 0, 0)))
  history.add(aSample(1, aPod('a', 1000, 10), { name: 'b', error: 'away' }))
  history.add(aSample(2, aPod('a', 2000, 20), aPod('b', 100, 5)))
  history.add(aSample(3, aPod('a', 3000, 30), aPod('b', 1100, 9)))
  assert.equal(history.rates.total.requests, 14)
})

test('a budget of a group appears once, with the fullest report of the pods, and the most urgent come first', () => {
  const group = (used: string) => ({
    'group:product spend_per_month_usd': {
      ...{ window: 'month', limit: '10', reserved: '0', resets_at: '2026-12-01T00:00:00.000Z' },
      used,
    },
  })
  const spent = { window: 'day', limit: 5, used: 5, resets_at: '2026-11-24T00:00:00.000Z' }
  const tenants = [
    { tenant: 'a', ...group('2'), requests_per_minute: { limit: 5 } },
    { tenant: 'b', ...group('2'), tokens_per_day: spent },
  ]
  const others = [{ tenant: 'a', ...group('3') }]
  const answers = [tenants, others].map((all) => ({ status: 200, body: { tenants: all } }))
  const budgets = budgetsOf(answers, Date.parse('2026-11-23T12:00:00Z'))
  const found = budgets.map(({ id, share, tenants: of }: Record<string, unknown>) => [
    id,
    share,
    of,
  ])
  assert.deepEqual(found, [
    ['tenant b tokens_per_day', 1, new Set(['b'])],
    ['group product spend_per_month_usd', 0.3, new Set(['a', 'b'])],
  ])
})

test("the operator's report on the gateway is in the red list, the worst first", () => {
  const conditions = [
    { type: 'Ready', status: 'False', reason: 'NotProgrammed', message: 'no' },
    { type: 'Programmed', status: 'False', reason: 'Rejected', message: 'One pod refuses it.' },
    { type: 'Degraded', status: 'False', reason: 'Fine', message: '' },
    { type: 'Accepted', status: 'True', reason: 'Accepted', message: '' },
  ]
  const budgets = [
    {
      scope: 'key',
      holder: 'k',
      tenant: 'a',
      title: 'daily token budget',
      share: 0.9,
      forecast: { isOver: true, words: 'used up in 3 h' },
    },
  ]
  const words = attention({ pods: [] }, { budgets, cluster: { status: { conditions } } }).map(
    (item: { words: string }) => item.words,
  )
  assert.deepEqual(words, [
    'Programmed is False, Rejected: One pod refuses it.',
    'Key k: daily token budget used up in 3 h, at this pace',
  ])
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

test('the forecast of a budget uses the pace of its window', () => {
  const at = (time: string) => Date.parse(`2026-11-${time}:00Z`)
  const day = { window: 'day', limit: 100, resets_at: '2026-11-24T00:00:00.000Z' }
  const fast = forecastOf({ ...day, used: 75 }, at('23T12:00'))
  assert.deepEqual(fast, { isOver: true, words: 'used up in 4 h' })
  const slow = forecastOf({ ...day, used: 10 }, at('23T12:00'))
  assert.deepEqual(slow, { isOver: false, words: '20 by the end' })
  assert.match(forecastOf({ ...day, used: 100 }, at('23T12:00')).words, /^used up$/)
  assert.equal(forecastOf({ ...day, used: 10 }, at('23T00:05')), undefined)
  const month = { window: 'month', limit: '5', used: '1', resets_at: '2026-12-01T00:00:00.000Z' }
  assert.match(forecastOf(month, at('16T00:00')).words, /^2 by the end$/)
  assert.equal(forecastOf({ ...day, window: 'minute', used: 5 }, at('23T12:00')), undefined)
})
