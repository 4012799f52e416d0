/** The first view: current problems, spend, and recent changes. */
import { bodies, faults } from '../answers.js'
import { attention } from '../attention.js'
import { budgetsOf } from '../budgets.js'
import { chart } from '../chart.js'
import { h } from '../element.js'
import { counted, number, percent, seconds, usd, usdOfNano } from '../format.js'
import { quantile } from '../rates.js'
import { bar, moment, section, state, table, tile, tiles, troubles } from '../table.js'
import { costsToday, joined } from '../usage-rows.js'

const CHANGES_SHOWN = 10
const SPENDERS_SHOWN = 8

export function overview({ sample, history, rates, ask, cluster }) {
  const changes = ask('/changes', 4000)
  const standings = ask('/limits?limit=100', 5000)
  const days = ask('/usage?by=day&hours=24', 5000)
  const spenders = ask('/usage?by=tenant&hours=24', 5000)
  const all = bodies(changes)
    .flatMap((body) => body.changes)
    .toSorted((one, other) => other.time.localeCompare(one.time))
  const budgets = budgetsOf(standings)
  const found = attention(sample, { changes: all, budgets, cluster: cluster?.body })
  return [
    numbersNow(sample, rates, costsToday(days, sample.at)),
    h(
      'div',
      { class: 'pair' },
      section('Needs attention', attentionTable(found)),
      section('Spending by tenant', troubles(faults(spenders)), spendersTable(spenders, budgets)),
    ),
    charts(history),
    section('Last changes', troubles(faults(changes)), changesTable(all, changes)),
  ]
}

function numbersNow(sample, { total }, { spent, pace }) {
  const sumOf = (name) => sample.pods.reduce((sum, { status }) => sum + (status?.[name] ?? 0), 0)
  const known = (value) => (total.isKnown ? value : undefined)
  return tiles(
    tile('Requests', `${number(known(total.requests))} /s`),
    tile(
      'Errors',
      percent(known(total.requests === 0 ? 0 : total.errors / total.requests)),
      `${number(known(total.errors))} /s, refusals counted`,
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

function charts({ points }) {
  return h(
    'div',
    { class: 'charts' },
    chart(
      'Requests/s',
      points,
      [
        { name: 'answered', of: (point) => point.requests },
        { name: 'errors', of: (point) => point.errors },
      ],
      number,
    ),
    chart(
      'Time to first token',
      points,
      [
        { name: 'p50', of: (point) => point.p50 },
        { name: 'p95', of: (point) => point.p95 },
      ],
      seconds,
    ),
    chart('Tokens/s', points, [{ name: 'tokens', of: (point) => point.tokens }], number),
  )
}

function changesTable(all, answers) {
  return table(
    'The last ten changes, newest first',
    ['When', 'What', 'Change'],
    all
      .slice(0, CHANGES_SHOWN)
      .map(({ time, event, level, message }) => [
        moment(time),
        state(
          level === 'info' ? 'idle' : level === 'warn' ? 'warn' : 'bad',
          event.replaceAll('_', ' '),
        ),
        message,
      ]),
    answers === undefined ? 'Asking …' : 'Nothing has changed since the start.',
  )
}
