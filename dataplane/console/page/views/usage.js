/** Usage: the tokens and cost of each tenant, key, route, model or tag. */
import { bodies, faults } from '../answers.js'
import { bars } from '../chart.js'
import { h } from '../element.js'
import { hourUtc, number, percent, usd, usdOfNano } from '../format.js'
import { bar, choices, requestsWith, section, table, tile, tiles, troubles } from '../table.js'
import { joined, sumOf } from '../usage-rows.js'

const BY = ['tenant', 'key', 'route', 'upstream', 'model', 'tags', 'day', 'hour']
const SPANS = { '24 h': 24, '7 d': 168, '31 d': 744 }
const ROWS_SHOWN = 200
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

export function usage({ ask, rest, sample }) {
  const by = BY.includes(rest[0]) ? rest[0] : 'tenant'
  const span = Object.hasOwn(SPANS, rest[1]) ? rest[1] : '7 d'
  const answers = ask(`/usage?by=${by}&hours=${SPANS[span]}`, 5000)
  const rows = joined(answers)
  const shown =
    by === 'day' || by === 'hour'
      ? rows.toSorted((one, other) => other.value.localeCompare(one.value))
      : rows
  const total = sumOf(rows)
  const saved = total.cache_gain_nano_usd - total.cache_surcharge_nano_usd
  const [first] = bodies(answers)
  const begins = bodies(answers)
    .flatMap(({ kept_from }) => kept_from ?? [])
    .toSorted()
    .at(-1)
  const warnings = new Set(bodies(answers).flatMap(({ warning }) => warning ?? []))
  const pods =
    sample.pods.length > 1 ? `, ${bodies(answers).length} of ${sample.pods.length} pods` : ''
  const caption =
    first === undefined
      ? 'Asking …'
      : `${hourUtc(first.from)} to ${hourUtc(first.to)} UTC${pods}${begins !== undefined && begins > first.from ? `, counted from ${hourUtc(begins)}` : ''}`
  return [
    h(
      'div',
      { class: 'filters' },
      choices(
        'Group by',
        by,
        BY.map((name) => [name, `#/usage/${name}/${encodeURIComponent(span)}`]),
      ),
      choices(
        'Time',
        span,
        Object.keys(SPANS).map((name) => [name, `#/usage/${by}/${encodeURIComponent(name)}`]),
      ),
    ),
    troubles([...faults(answers), ...warnings]),
    tiles(
      tile('Cost', usdOfNano(total.cost_nano_usd)),
      tile('Requests', number(total.requests), `${number(total.errors)} failed`),
      tile(
        'Input tokens',
        number(total.input_tokens),
        `${number(total.cached_tokens)} from a cache${saved === 0 ? '' : `, ${usdOfNano(saved)} saved`}`,
      ),
      tile(
        'Output tokens',
        number(total.output_tokens),
        `${number(total.reasoning_tokens)} of reasoning`,
      ),
    ),
    costsOverTime(ask, span),
    section(
      `By ${by}`,
      amountsTable(by, caption, shown, answers),
      rows.length > ROWS_SHOWN &&
        h(
          'p',
          { class: 'quiet' },
          `and ${rows.length - ROWS_SHOWN} more; `,
          h('code', null, 'gw usage -o csv'),
          ' has all.',
        ),
    ),
  ]
}

/** By the hour for a day, otherwise by the day; hours without use have no row. */
function costsOverTime(ask, span) {
  const hours = SPANS[span]
  const step = hours > 24 ? 'day' : 'hour'
  const answers = ask(`/usage?by=${step}&hours=${hours}`, 5000)
  const [first] = bodies(answers)
  if (first === undefined) return undefined
  const costs = new Map(joined(answers).map(({ value, cost_nano_usd }) => [value, cost_nano_usd]))
  const length = step === 'day' ? 10 : 13
  const items = []
  for (
    let at = Date.parse(first.from);
    at <= Date.parse(first.to);
    at += step === 'day' ? DAY_MS : HOUR_MS
  ) {
    const name = new Date(at).toISOString().slice(0, length)
    items.push([
      step === 'day' ? name.slice(5) : `${name.slice(11)}:00`,
      (costs.get(name) ?? 0) / 1e9,
    ])
  }
  return h('div', { class: 'charts' }, bars(`Cost by ${step}, UTC`, items, usd))
}

/** Values link to the tenant, or to their requests. */
function linked(by, value) {
  if (value === '') return '(none)'
  if (by === 'tenant') return h('a', { href: `#/tenants/${encodeURIComponent(value)}` }, value)
  if (by === 'day' || by === 'hour') return value.replace('T', ' ') + (by === 'hour' ? ':00' : '')
  return requestsWith(value)
}

function amountsTable(by, caption, rows, answers) {
  const whole = rows.reduce((sum, row) => sum + row.cost_nano_usd, 0)
  return table(
    caption,
    [
      `${by[0].toUpperCase()}${by.slice(1)}`,
      '>Requests',
      '>Errors',
      '>Input tokens',
      '>Cached',
      '>Output tokens',
      '>Reasoning',
      '>Estimated',
      '>Cost',
      'Share of cost',
    ],
    rows.slice(0, ROWS_SHOWN).map((row) => {
      const share = whole === 0 ? 0 : row.cost_nano_usd / whole
      return {
        key: row.value,
        cells: [
          linked(by, row.value),
          number(row.requests),
          number(row.errors),
          number(row.input_tokens),
          number(row.cached_tokens),
          number(row.output_tokens),
          number(row.reasoning_tokens),
          number(row.estimated),
          usdOfNano(row.cost_nano_usd),
          [percent(share), bar(share, `${row.value}: ${percent(share)}`, 'idle')],
        ],
      }
    }),
    answers === undefined ? 'Asking …' : 'No request has used tokens in this time.',
  )
}
