/** How the gateway is: its rates, what needs attention, and what has changed. */
import { bodies, faults } from '../answers.js'
import { attention } from '../attention.js'
import { chart } from '../chart.js'
import { h } from '../element.js'
import { number, percent, seconds, usd } from '../format.js'
import { quantile } from '../rates.js'
import { moment, section, state, table, tile, tiles, troubles } from '../table.js'
import { costsToday } from '../usage-rows.js'

export function overview({ sample, history, rates, ask }) {
  const changes = ask('/changes', 4000)
  const standings = ask('/limits?limit=100', 10_000)
  const days = ask('/usage?by=day&hours=24', 10_000)
  const all = bodies(changes)
    .flatMap((body) => body.changes)
    .toSorted((one, other) => other.time.localeCompare(one.time))
  const items = attention(sample, all, standings)
  const { total } = rates
  const sumOf = (name) => sample.pods.reduce((sum, { status }) => sum + (status?.[name] ?? 0), 0)
  const { spent, pace } = costsToday(days, sample.at)
  return [
    tiles(
      tile('Requests/s', number(total.requests)),
      tile(
        'Errors',
        percent(total.requests === 0 ? 0 : total.errors / total.requests),
        `${number(total.errors)}/s`,
      ),
      tile(
        'First token p95',
        seconds(quantile(0.95, total)),
        `p50 ${seconds(quantile(0.5, total))}`,
      ),
      tile('Tokens/s', number(total.tokens)),
      tile(
        'In flight',
        number(sumOf('requests_in_flight')),
        `${number(sumOf('streams_open'))} streams open`,
      ),
      tile('Spent today', usd(spent), `pace ${usd(pace)} a day`),
    ),
    section(
      'Needs attention',
      table(
        items.length === 0 ? 'Nothing needs attention' : `${items.length} to look at`,
        ['What', 'Since', 'More'],
        items.map(({ kind, words, since, href }) => [
          state(kind, words),
          since === undefined ? '–' : moment(since),
          h('a', { href }, href.slice(2)),
        ]),
        'All upstreams, stores, objectives and budgets are as they should be.',
      ),
    ),
    charts(history),
    section('Last changes', troubles(faults(changes)), changesTable(all)),
  ]
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

function changesTable(all) {
  return table(
    'The last ten changes',
    ['When', 'What', 'Change'],
    all
      .slice(0, 10)
      .map(({ time, event, level, message }) => [
        moment(time),
        state(level === 'info' ? 'idle' : level === 'warn' ? 'warn' : 'bad', event),
        message,
      ]),
  )
}
