/** The first view: current problems, spend, and recent changes. */
import { bodies, faults } from '../answers.js'
import { attention } from '../attention.js'
import { budgetsOf } from '../budgets.js'
import { chart } from '../chart.js'
import { h } from '../element.js'
import { counted, number, percent, seconds, usd, usdOfNano } from '../format.js'
import {
  earlierMs,
  grafanaAt,
  questionBefore,
  questionOf,
  rangeOf,
  rangePicker,
} from '../ranges.js'
import { quantile } from '../rates.js'
import { gatheredHistory, marksOf, pointsOf, sumOfSeries } from '../series.js'
import { bar, moment, section, state, table, tile, tiles, troubles } from '../table.js'
import { costsToday, joined } from '../usage-rows.js'
import { rolloutsOf } from './rollouts.js'

const LIVE = 'live'
const SPENDERS_SHOWN = 8

export function overview({ sample, history, rates, ask, cluster, rest }) {
  const changes = ask('/changes', 4000)
  const standings = ask('/limits?limit=100', 5000)
  const days = ask('/usage?by=day&hours=24', 5000)
  const spenders = ask('/usage?by=tenant&hours=24', 5000)
  const all = bodies(changes)
    .flatMap((body) => body.changes)
    .toSorted((one, other) => other.time.localeCompare(one.time))
  const budgets = budgetsOf(standings)
  const rollouts = rolloutsOf(ask('/rollouts', 5000))
  const found = attention(sample, { changes: all, budgets, rollouts, cluster: cluster?.body })
  const isLive = rest[0] === LIVE
  const range = rangeOf(rest)
  const asked = isLive ? undefined : ask(questionOf(range), range.everyMs)
  const kept = gatheredHistory(asked)
  const earlier =
    isLive || range.before === undefined ? undefined : ask(questionBefore(range), 60_000)
  return [
    numbersNow(sample, rates, costsToday(days, sample.at)),
    h(
      'div',
      { class: 'pair' },
      section('Needs attention', attentionTable(found)),
      section('Spending by tenant', troubles(faults(spenders)), spendersTable(spenders, budgets)),
    ),
    section(
      'Over time',
      rangePicker('overview', isLive ? { name: LIVE } : range, [[LIVE, `#/overview/${LIVE}`]]),
      sample.grafana !== undefined && grafanaLink(sample.grafana, isLive ? undefined : range),
      troubles([...faults(asked), ...(kept?.missing ?? [])]),
      isLive ? liveCharts(history) : keptCharts(kept, range, gatheredHistory(earlier)),
    ),
    section(
      'Events',
      troubles(faults(changes)),
      isLive || kept === undefined
        ? changesTable(all, 'The last changes, newest first', changes)
        : changesTable(
            kept.events,
            `Events of ${range.name}${range.hours > 48 ? ', at most 48 h' : ''}, newest first`,
            asked,
          ),
    ),
  ]
}

function grafanaLink(address, range) {
  const href = grafanaAt(address, range)
  return h('p', null, h('a', { href, target: '_blank', rel: 'noreferrer' }, 'This time in Grafana'))
}

function numbersNow(sample, { total }, { spent, pace }) {
  const sumOf = (name) => sample.pods.reduce((sum, { status }) => sum + (status?.[name] ?? 0), 0)
  const known = (value) => (total.isKnown ? value : undefined)
  return tiles(
    tile('Requests', `${number(known(total.requests))} /s`),
    tile(
      'Errors',
      percent(known(total.requests === 0 ? 0 : total.errors / total.requests)),
      `${number(known(total.errors))} /s; ${number(known(total.refused))} /s refused by limits`,
    ),
    tile(
      'First token, p95',
      seconds(quantile(0.95, total)),
      `p50 ${seconds(quantile(0.5, total))}`,
    ),
    tile('Tokens', `${number(known(total.tokens))} /s`),
    tile(
      'In flight',
      number(sumOf('requests_in_flight')),
      `${counted(sumOf('streams_open'), 'stream')} open`,
    ),
    tile('Spent today, UTC', usd(spent), `${usd(pace)} a day at this pace`),
  )
}

function attentionTable(items) {
  return table(
    items.length === 0 ? 'Nothing needs attention' : `${items.length} to look at, the worst first`,
    ['What', 'Since'],
    items.map(({ kind, words, since, href }) => [
      state(kind, h('a', { href }, words)),
      since === undefined ? '–' : moment(since),
    ]),
    state('good', 'All upstreams, stores, objectives and budgets are as they should be.'),
  )
}

/** The most expensive tenants, each with the budget that ends first. */
function spendersTable(answers, budgets) {
  const rows = joined(answers)
  const whole = rows.reduce((sum, row) => sum + row.cost_nano_usd, 0)
  return table(
    rows.length > SPENDERS_SHOWN
      ? `Last 24 h, the ${SPENDERS_SHOWN} dearest of ${rows.length} tenants`
      : 'Last 24 h, by tenant',
    ['Tenant', '>Cost', '>Share', '>Tokens', 'Nearest budget'],
    rows.slice(0, SPENDERS_SHOWN).map((row) => {
      const nearest = budgets.find(({ tenants }) => tenants.has(row.value))
      return {
        key: row.value,
        cells: [
          h('a', { href: `#/tenants/${encodeURIComponent(row.value)}` }, row.value),
          usdOfNano(row.cost_nano_usd),
          percent(whole === 0 ? undefined : row.cost_nano_usd / whole),
          number(row.input_tokens + row.output_tokens),
          nearest && budgetCell(nearest),
        ],
      }
    }),
    answers === undefined ? 'Asking …' : 'No tenant has used tokens in this time.',
  )
}

function budgetCell({ share, unit, forecast, scope, holder }) {
  const whose = scope === 'tenant' ? '' : `, ${scope} ${holder}`
  const words = `${percent(share)} of ${unit}${whose}`
  const kind = share >= 1 ? 'bad' : forecast?.isOver ? 'warn' : 'idle'
  return [state(kind, words), bar(share, words)]
}

/** The last quarter of an hour, second by second, since the page was opened. */
function liveCharts({ points }) {
  return chartsOf(points, {})
}

function keptCharts(kept, range, before) {
  if (kept === undefined) return h('p', { class: 'quiet' }, 'Asking …')
  const points = pointsOf(kept, sumOfSeries(kept.of.route))
  const earlier =
    before &&
    pointsOf(before, sumOfSeries(before.of.route)).map((point) => ({
      ...point,
      at: point.at + earlierMs(range),
    }))
  const marks = marksOf(kept.events)
  return chartsOf(points, {
    stepMs: kept.stepMs,
    marks,
    before: earlier,
    words: `the ${range.before}`,
  })
}

function chartsOf(points, options) {
  const drawn = (title, lines, show) => chart(title, points, lines, show, options)
  return h(
    'div',
    { class: 'charts' },
    drawn(
      'Requests/s',
      [
        { name: 'all', of: (point) => point.requests, isCompared: true },
        { name: 'errors', of: (point) => point.errors },
        { name: 'refused by limits', of: (point) => point.refused },
      ],
      number,
    ),
    drawn(
      'Time to first token',
      [
        { name: 'p50', of: (point) => point.p50 },
        { name: 'p95', of: (point) => point.p95, isCompared: true },
      ],
      seconds,
    ),
    drawn('Tokens/s', [{ name: 'tokens', of: (point) => point.tokens, isCompared: true }], number),
    options.stepMs !== undefined &&
      drawn('USD/h', [{ name: 'cost', of: (point) => point.cost, isCompared: true }], usd),
  )
}

function changesTable(all, caption, answers) {
  return table(
    caption,
    ['When', 'What', 'Change'],
    all.map(({ time, event, level, message }) => [
      moment(time),
      state(
        level === 'info' ? 'idle' : level === 'warn' ? 'warn' : 'bad',
        event.replaceAll('_', ' '),
      ),
      message,
    ]),
    answers === undefined ? 'Asking …' : 'Nothing has changed in this time.',
  )
}
