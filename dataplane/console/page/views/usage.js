/** Usage: which tenant, key, route, model or tag used how many tokens, and what they cost. */
import { bodies, faults } from '../answers.js'
import { h } from '../element.js'
import { number, usdOfNano } from '../format.js'
import { bar, choices, section, table, tile, tiles, troubles } from '../table.js'
import { joined, sumOf } from '../usage-rows.js'

const BY = ['tenant', 'key', 'route', 'upstream', 'model', 'tags', 'day', 'hour']
const SPANS = { '24 h': 24, '7 d': 168, '31 d': 744 }
const ROWS_SHOWN = 200

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
      ? 'Asking'
      : `${first.from} to ${first.to}, UTC${pods}${begins !== undefined && begins > first.from ? `, counted from ${begins}` : ''}`
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
        `${number(total.cached_tokens)} from a cache`,
      ),
      tile(
        'Output tokens',
        number(total.output_tokens),
        `${number(total.reasoning_tokens)} of reasoning`,
      ),
    ),
    section(
      `By ${by}`,
      amountsTable(by, caption, shown),
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

function amountsTable(by, caption, rows) {
  const most = Math.max(...rows.map(({ cost_nano_usd }) => cost_nano_usd), 1)
  return table(
    caption,
    [
      by,
      '>Requests',
      '>Errors',
      '>Input',
      '>Cached',
      '>Output',
      '>Reasoning',
      '>Estimated',
      '>Cost',
      'Share',
    ],
    rows
      .slice(0, ROWS_SHOWN)
      .map((row) => [
        row.value || '(none)',
        number(row.requests),
        number(row.errors),
        number(row.input_tokens),
        number(row.cached_tokens),
        number(row.output_tokens),
        number(row.reasoning_tokens),
        number(row.estimated),
        usdOfNano(row.cost_nano_usd),
        bar(row.cost_nano_usd / most, `${row.value}: ${usdOfNano(row.cost_nano_usd)}`, 'idle'),
      ]),
    'No request has used tokens in this time.',
  )
}
