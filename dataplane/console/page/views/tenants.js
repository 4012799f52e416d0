/** Tenants: limits, what is left, which budget ends when, and keys. */
import { bodies, faults } from '../answers.js'
import { budgetsOf } from '../budgets.js'
import { commands, quoted, wouldFill, yamlOf } from '../commands.js'
import { h } from '../element.js'
import { counted, number, percent, usdOfNano } from '../format.js'
import { bar, filter, moment, requestsWith, section, state, table, troubles } from '../table.js'
import { joined } from '../usage-rows.js'

const BUDGETS_SHOWN = 100

const BUDGET = budgetYaml('search')

function budgetYaml(tenant) {
  return `gw:
  budgets:
    - tenant: ${yamlOf(tenant)}
      tokens_per_day: 2000000
      spend_per_month_usd: 500
      alert_thresholds: [0.8, 1]`
}

function rateYaml(tenant) {
  return `gw:
  rate_limits:
    tenants:
      ${yamlOf(tenant)}:
        requests_per_minute: 600
        burst: 150
        concurrent_requests: 50`
}

/** The page only reads: these are for the file, or for a terminal. */
function changesOf(tenant) {
  const name = quoted(tenant)
  return [
    ['A new key', `gw keys create --tenant ${name} --routes '*' --expires 90d --file gw.yaml`],
    [
      'A new key in a cluster',
      `gw keys create --tenant ${name} --routes '*' --expires 90d --apply`,
    ],
    ['Another budget', budgetYaml(tenant)],
    ['Another rate', rateYaml(tenant)],
    ['Its limits, with what is used and left', `gw limits show ${name}`],
  ]
}

export function tenants({ sample, rates, ask, rest, text, filtered }) {
  const name = encodeURIComponent(text)
  const standings = ask(`/limits?limit=100&name=${name}`, 3000)
  const usage = ask('/usage?by=tenant&hours=24', 10_000)
  // Counters are shared, or separate in each pod; the first answer shows which.
  const { tenants: all = [], total = 0 } = bodies(standings)[0] ?? {}
  const costs = new Map(joined(usage).map(({ value, cost_nano_usd }) => [value, cost_nano_usd]))
  const chosen = rest[0] ?? all[0]?.tenant
  const apart = sample.pods[0]?.status?.store.backend === 'memory' && sample.pods.length > 1
  const budgets = budgetsOf(standings)
  return [
    filter('Filter by tenant', text, filtered),
    troubles(faults(standings)),
    section('Budgets', budgetsTable(budgets, standings)),
    section(
      'Limits',
      table(
        `${all.length} of ${total} tenants${apart ? `, as pod ${sample.pods[0].name} counts them` : ''}`,
        [
          'Tenant',
          '>Requests/s',
          '>Refused/s',
          'Refusals by reason',
          'Requests left, of burst',
          'Running, of slots',
          'Tokens left, a minute',
          '>Cost, 24 h',
        ],
        all.map((standing) => tenantRow(standing, rates, costs, chosen)),
        standings === undefined ? 'Asking …' : 'No key, rule or budget names such a tenant.',
      ),
    ),
    chosen !== undefined &&
      section(
        `Keys of ${chosen}`,
        keysOf(chosen, ask),
        commands(`To change what ${chosen} may do`, changesOf(chosen)),
      ),
  ]
}

function budgetsTable(budgets, standings) {
  return table(
    budgets.length > BUDGETS_SHOWN
      ? `${BUDGETS_SHOWN} of ${budgets.length} budgets, the most urgent first`
      : `${counted(budgets.length, 'budget')}, the most urgent first`,
    ['Owner', 'Budget', '>Used', '>Reserved', '>Limit', 'Share', 'At this pace', 'Resets'],
    budgets.slice(0, BUDGETS_SHOWN).map(budgetRow),
    standings === undefined
      ? 'Asking …'
      : [
          'No tenant, group or key has a budget.',
          wouldFill('These lines in the file set one', BUDGET),
        ],
  )
}

function budgetRow(budget) {
  const { id, scope, holder, unit, show, share, used, reserved, limit, forecast } = budget
  const kind = share >= 1 ? 'bad' : forecast?.isOver ? 'warn' : 'good'
  const full = percent(share)
  return {
    key: id,
    cells: [
      scope === 'tenant'
        ? ['tenant ', h('a', { href: `#/tenants/${encodeURIComponent(holder)}` }, holder)]
        : `${scope} ${holder}`,
      unit,
      show(Number(used)),
      show(Number(reserved)),
      show(Number(limit)),
      [state(kind, full), bar(share, `${scope} ${holder}: ${full} of ${unit}`, kind)],
      forecast?.words ?? '–',
      moment(budget.resets_at),
    ],
  }
}

function tenantRow(standing, rates, costs, chosen) {
  const { tenant, requests_per_minute, concurrent_requests, tokens_per_minute } = standing
  const rate = rates.tenants.get(tenant)
  const reasons = Object.entries(rate?.reasons ?? {}).map(
    ([reason, count]) => `${reason} ${number(count)}`,
  )
  return {
    key: tenant,
    isChosen: tenant === chosen,
    cells: [
      h(
        'a',
        {
          href: `#/tenants/${encodeURIComponent(tenant)}`,
          'aria-current': tenant === chosen ? 'true' : undefined,
        },
        tenant,
      ),
      number(rate?.requests ?? 0),
      number(rate?.errors ?? 0),
      reasons.join(', ') || '–',
      left(
        requests_per_minute,
        requests_per_minute.burst,
        `, ${number(requests_per_minute.limit)} a minute`,
      ),
      running(concurrent_requests),
      tokens_per_minute && left(tokens_per_minute, tokens_per_minute.limit),
      usdOfNano(costs.get(tenant) ?? 0),
    ],
  }
}

function left({ remaining }, most, more = '') {
  const words = `${number(remaining)} of ${number(most)}${more}`
  return [words, bar(1 - remaining / most, `${words} left`)]
}

function running({ used, limit }) {
  const words = `${number(used)} of ${number(limit)}`
  return [words, bar(used / limit, `${words} running`)]
}

/** Usage is kept by the hour; the exact time is known only for the last requests. */
function keysOf(tenant, ask) {
  const answers = ask(`/keys?limit=1000&tenant=${encodeURIComponent(tenant)}`, 10_000)
  const usage = new Map(
    joined(ask('/usage?by=key&hours=744', 10_000)).map((row) => [row.value, row]),
  )
  const last = new Map()
  for (const { traces } of bodies(ask('/traces?limit=500', 2000)))
    for (const { key, time } of traces)
      if (key !== undefined && time > (last.get(key) ?? '')) last.set(key, time)
  const seen = new Map(bodies(answers).flatMap(({ keys }) => keys.map((key) => [key.id, key])))
  return [
    troubles(faults(answers)),
    table(
      counted(seen.size, 'key'),
      [
        'Id',
        'State',
        'Begins with',
        'Routes',
        'Scopes',
        'Last used',
        '>Requests, 31 d',
        '>Cost, 31 d',
        'Expires',
      ],
      [...seen.values()].map(({ id, status, prefix, routes, scopes, expires_at }) => ({
        key: id,
        cells: [
          requestsWith(id),
          state(status === 'ACTIVE' ? 'good' : 'idle', status.toLowerCase()),
          prefix === undefined ? '–' : h('code', null, prefix, '…'),
          (routes ?? []).join(', '),
          (scopes ?? ['all']).join(', '),
          lastUse(last.get(id), usage.get(id)?.last),
          number(usage.get(id)?.requests ?? 0),
          usdOfNano(usage.get(id)?.cost_nano_usd ?? 0),
          expires_at ? moment(expires_at) : 'never',
        ],
      })),
      answers === undefined ? 'Asking …' : 'No key names this tenant; the commands below make one.',
    ),
  ]
}

function lastUse(exact, hour) {
  if (exact !== undefined) return moment(exact)
  if (hour === undefined) return 'not in 31 d'
  return ['in the hour of ', moment(hour)]
}
