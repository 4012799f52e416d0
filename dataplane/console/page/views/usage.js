/** Usage: the tokens and cost of each tenant, key, route, model or tag. */
import { bodies, faults } from '../answers.js'
import { budgetsOf } from '../budgets.js'
import { wouldFill } from '../commands.js'
import { h } from '../element.js'
import { counted, hourUtc, number, percent, usdOfNano } from '../format.js'
import {
  bar,
  choices,
  moment,
  requestsWith,
  section,
  table,
  tile,
  tiles,
  troubles,
} from '../table.js'
import { joined, sumOf } from '../usage-rows.js'
import { costsOverTime, exportButton } from './usage-chart.js'

const BY = ['tenant', 'key', 'route', 'upstream', 'model', 'tags', 'day', 'hour']
const SPANS = { '24 h': 24, '7 d': 168, '31 d': 744 }
const ROWS_SHOWN = 200
const BUDGETS_SHOWN = 5
const TAGS = 'gw:\n  usage:\n    tags: [team, feature]'

export function usage({ ask, rest, sample }) {
  const by = BY.includes(rest[0]) ? rest[0] : 'tenant'
  const span = Object.hasOwn(SPANS, rest[1]) ? rest[1] : '7 d'
  const answers = ask(`/usage?by=${by}&hours=${SPANS[span]}`, 5000)
  const rows = joined(answers)
  const unit = SPANS[span] > 24 ? 'day' : 'hour'
  const part = by === 'day' || by === 'hour' ? 'tenant' : by
  const overTime = ask(`/usage?by=${unit},${part}&hours=${SPANS[span]}`, 5000)
  const budgets = budgetsOf(ask('/limits?limit=100', 10_000))
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
    costsOverTime(overTime, { unit, by: part, budgets, at: sample.at }),
    budgets.length > 0 && section('Budgets', budgetsTable(budgets)),
    section(
      `By ${by}`,
      rows.length > 0 && exportButton(by, shown, sample.at),
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

/** The most urgent ones; Tenants has all. */
function budgetsTable(budgets) {
  return table(
    `${Math.min(budgets.length, BUDGETS_SHOWN)} of ${counted(budgets.length, 'budget')}, the most urgent first`,
    ['Owner', 'Budget', '>Used', '>Limit', 'Share', 'At this pace', 'Resets'],
    budgets
      .slice(0, BUDGETS_SHOWN)
      .map(({ id, scope, holder, unit, show, used, limit, share, forecast, resets_at }) => ({
        key: id,
        cells: [
          `${scope} ${holder}`,
          unit,
          show(Number(used)),
          show(Number(limit)),
          [percent(share), bar(share, `${scope} ${holder}: ${percent(share)} of ${unit}`)],
          forecast?.words ?? '–',
          moment(resets_at),
        ],
      })),
  )
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
    answers === undefined
      ? 'Asking …'
      : by === 'tags'
        ? [
            'No request has used tokens in this time.',
            wouldFill('Tags are counted once the file names them', TAGS),
          ]
        : 'No request has used tokens in this time.',
  )
}
