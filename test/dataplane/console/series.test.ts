/** The history as the page shows it: added up over pods, compared with an earlier time, errors apart from refusals. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

/** They are modules of a page, without types. */
const PAGE = new URL('../../../dataplane/console/page/', import.meta.url)
const { gatheredHistory, marksOf, pointsOf, sumOfSeries } = await import(`${PAGE}series.js`)
const { grafanaAt, questionBefore, questionOf, rangeOf, rangePicker, RANGES } = await import(
  `${PAGE}ranges.js`
)
const { chart } = await import(`${PAGE}chart.js`)
const { axisTime, usd } = await import(`${PAGE}format.js`)
const { csvOf } = await import(`${PAGE}views/usage-chart.js`)

const AT = Date.UTC(2026, 10, 22, 12)

function anAnswer(kept_in: string, requests: number[], fields: object = {}) {
  const none = requests.map(() => 0)
  const amounts = Object.fromEntries(
    [
      'client',
      'limit',
      'upstream',
      'gateway',
      'left',
      'input_tokens',
      'output_tokens',
      'cost_nano_usd',
    ].map((name) => [name, none]),
  )
  const one = {
    by: 'route',
    name: 'chat',
    ...amounts,
    requests,
    limit: requests,
    whole: none,
    first_token: [[0, 4], ...none.slice(1)],
  }
  const times = requests.map((_, index) => AT + index * 60_000)
  return {
    ...{ name: 'a', status: 200 },
    body: { kept_in, times, step_ms: 60_000, bounds: [0.1], series: [one], events: [], ...fields },
  }
}

test('pods without a shared store are added up, and a shared store counts once', () => {
  const total = (answers: object[]) => sumOfSeries(gatheredHistory(answers).of.route).requests
  assert.deepEqual(total([anAnswer('memory', [1, 2]), anAnswer('state_dir', [10, 20])]), [11, 22])
  assert.deepEqual(total([anAnswer('redis', [1, 2]), anAnswer('redis', [1, 2])]), [1, 2])
  // A pod that lost the store has only its own part.
  const lonely = anAnswer('redis', [1, 1], { missing: 'The shared store is away.' })
  assert.deepEqual(total([lonely, anAnswer('redis', [5, 5])]), [5, 5])
  assert.equal(gatheredHistory([{ status: 0, body: {} }]), undefined)
})

test('series of a kind that the page does not know leave the others', () => {
  const answer = anAnswer('redis', [60])
  const [chat] = answer.body.series
  const series = ['constructor', 'zone'].map((by) => ({ ...chat, by }))
  const kept = gatheredHistory([{ ...answer, body: { ...answer.body, series: [...series, chat] } }])
  assert.deepEqual(kept.of.route.get('chat').requests, [60])
})

test('refusals by limits are no errors', () => {
  const kept = gatheredHistory([anAnswer('memory', [60, 120])])
  const [first, second] = pointsOf(kept, sumOfSeries(kept.of.route), AT + 90_000)
  assert.deepEqual([first.requests, first.errors, first.refused], [1, 0, 1])
  // The present minute has lasted for half a minute.
  assert.equal(second.requests, 4)
  assert.ok(first.p95 <= 0.1)
  assert.equal(second.p95, undefined)
})

test('a step in which no gateway ran is a gap, and a step in part counts for that part', () => {
  const counted_ms = [60_000, 0, 30_000]
  const kept = gatheredHistory([anAnswer('memory', [60, 0, 60], { counted_ms })])
  const [first, second, third] = pointsOf(kept, sumOfSeries(kept.of.route), AT + 3_600_000)
  assert.deepEqual([first.requests, third.requests], [1, 2])
  for (const name of ['requests', 'errors', 'refused', 'tokens', 'cost', 'p95'])
    assert.equal(second[name], undefined, name)
  // One of two pods without a shared store ran.
  const other = anAnswer('memory', [60, 60, 60], { counted_ms: [0, 60_000, 60_000] })
  const both = gatheredHistory([anAnswer('memory', [60, 0, 60], { counted_ms }), other])
  const points = pointsOf(both, sumOfSeries(both.of.route), AT + 3_600_000)
  assert.deepEqual(
    points.map(({ requests }: { requests: number }) => requests),
    [2, 1, 2],
  )
})

test('a chart shows where it has no data: no line, a mark of the time, and words in its numbers', () => {
  const counted_ms = [60_000, 0, 0, 60_000]
  const kept = gatheredHistory([anAnswer('memory', [60, 0, 0, 60], { counted_ms })])
  const points = pointsOf(kept, sumOfSeries(kept.of.route), AT + 3_600_000)
  const lines = [{ name: 'all', of: (point: { requests?: number }) => point.requests }]
  const drawn = JSON.stringify(chart('Requests/s', points, lines, String, { stepMs: 60_000 }))
  const [, line = ''] = /"class":"line0","d":"([^"]*)"/.exec(drawn) ?? []
  assert.equal(line.match(/M/g)?.length, 2, line)
  assert.doesNotMatch(line, /L/)
  assert.equal(drawn.match(/"class":"void"/g)?.length, 1)
  assert.equal(drawn.match(/No data/g)?.length, 1)
  // Two steps in the table, and the empty part of the chart.
  assert.equal(drawn.match(/no data/g)?.length, 3)
})

test('an earlier time is drawn within the chart, and its values beyond leave the scale', () => {
  const at = (minutes: number) => AT + minutes * 60_000
  const points = [0, 1, 2].map((minute) => ({ at: at(minute), requests: 1 }))
  const before = [-30, 0, 1, 2, 30].map((minute) => ({
    at: at(minute),
    requests: minute === -30 || minute === 30 ? 900 : 1,
  }))
  const lines = [
    { name: 'all', isCompared: true, of: (point: { requests: number }) => point.requests },
  ]
  const options = { stepMs: 60_000, before, words: 'the day before' }
  const drawn = JSON.stringify(chart('Requests/s', points, lines, String, options))
  const [, line = ''] = /"class":"earlier","d":"([^"]*)"/.exec(drawn) ?? []
  const places = [...line.matchAll(/[ML](-?[\d.]+) /g)].map(([, x]) => Number(x))
  assert.equal(places.length, 3)
  assert.ok(
    places.every((x) => x >= 46 && x <= 480),
    String(places),
  )
  assert.doesNotMatch(drawn, /1000/)
})

test('an axis of two days names the day where one begins, and its values have no empty decimals', () => {
  const day = (hours: number) => new Date(2026, 10, 22, hours).getTime()
  assert.equal(axisTime(day(0), 2 * 86_400_000), '22 Nov')
  assert.equal(axisTime(day(12), 2 * 86_400_000), '12:00')
  assert.equal(axisTime(day(0), 6 * 3_600_000), '00:00')
  const points = [{ at: AT, cost: 8 }]
  const lines = [{ name: 'cost', of: (point: { cost: number }) => point.cost }]
  const money = JSON.stringify(chart('USD/h', points, lines, usd, { stepMs: 60_000 }))
  const labels = [...money.matchAll(/"end"\},"children":\["([^"]+)"\]/g)].map(([, label]) => label)
  assert.deepEqual(labels, ['$0', '$5', '$10'])
})

test('events of several pods are there once each, newest first', () => {
  const event = (time: string) => ({
    time,
    level: 'warn',
    event: 'breaker',
    message: 'open',
    replica: 'one',
  })
  const events = [event('2026-11-22T12:00:00Z'), event('2026-11-22T12:01:00Z')]
  const kept = gatheredHistory([
    anAnswer('memory', [1], { events }),
    anAnswer('memory', [1], { events }),
  ])
  assert.deepEqual(
    kept.events.map(({ time }: { time: string }) => time.slice(11, 16)),
    ['12:01', '12:00'],
  )
  assert.deepEqual(marksOf(kept.events)[0], {
    at: AT + 60_000,
    kind: 'warn',
    words: 'breaker: open',
  })
})

test('each range is asked for in steps that the gateway keeps', () => {
  for (const name of Object.keys(RANGES)) {
    const range = rangeOf([name, 'day before'])
    const hoursBack = RANGES[name].hours
    assert.match(questionOf(range), new RegExp(`since=-${hoursBack}h`))
    if (range.before === undefined) continue
    const [, since, , step = ''] =
      /since=-(\d+)h&until=-(\d+)h&step=(\w+)/.exec(questionBefore(range)) ?? []
    assert.ok(/m$/.test(step) ? Number(since) < 48 : /h$/.test(step), `${name}: ${step}`)
  }
  assert.equal(rangeOf(['31 d', 'week before']).before, undefined)
  assert.equal(rangeOf([]).name, '1 h')
})

test('a link to Grafana has the time of the charts, and keeps the rest of the address', () => {
  const address = 'https://grafana.test/d/gw?orgId=1&from=now-5m&var-route=chat'
  const { searchParams } = new URL(grafanaAt(address, rangeOf(['48 h'])))
  assert.deepEqual(Object.fromEntries(searchParams), {
    ...{ orgId: '1', 'var-route': 'chat', from: 'now-48h', to: 'now' },
  })
  // The charts that follow each second.
  assert.match(grafanaAt(address, undefined), /from=now-15m&.*to=now$/)
})

test('the present second by second is a choice that is compared with no earlier time', () => {
  const live = rangePicker('overview', { name: 'live' }, [['live', '#/overview/live']])
  const words = JSON.stringify(live)
  assert.match(words, /"aria-current":"true"\},"children":\["live"\]/)
  assert.doesNotMatch(words, /Compare with/)
  assert.match(JSON.stringify(rangePicker('overview', rangeOf([]))), /Compare with/)
})

test('an export has every row, and no cell is a formula', () => {
  const rows = [
    { value: '=1+1', requests: 2, cost_nano_usd: 5e8 },
    { value: 'a,"b"', requests: 1, cost_nano_usd: 0 },
  ]
  const [head, first, second] = csvOf('tenant', rows).split('\r\n')
  assert.match(head, /^tenant,requests,errors,.*cost_usd$/)
  assert.match(first, /^'=1\+1,2,0,.*,0\.5$/)
  assert.match(second, /^"a,""b""",1,/)
})
