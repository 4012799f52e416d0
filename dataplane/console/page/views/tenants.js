/** Tenants: what each may use, what is left, when its budget will be spent, and which keys it has. */
import { bodies, faults } from '../answers.js'
import { limitsOf } from '../attention.js'
import { h } from '../element.js'
import { number, relative, usdOfNano } from '../format.js'
import { bar, filter, moment, section, state, table, troubles } from '../table.js'
import { joined } from '../usage-rows.js'

const DAY_MS = 86_400_000

export function tenants({ sample, rates, ask, rest, text, filtered }) {
  const name = encodeURIComponent(text)
  // Counters are shared, or each pod's; the first says how it sees them.
  const standings = ask(`/limits?limit=100&name=${name}`, 3000)
  const usage = ask('/usage?by=tenant&hours=24', 10_000)
  const keys = ask('/keys?limit=1000', 10_000)
  const { tenants: all = [], total = 0 } = bodies(standings)[0] ?? {}
  const costs = new Map(joined(usage).map(({ value, cost_nano_usd }) => [value, cost_nano_usd]))
  const chosen = rest[0] ?? all[0]?.tenant
  const shared = sample.pods[0]?.status?.store.backend === 'memory' && sample.pods.length > 1
  return [
    filter('Tenants whose name has', text, filtered),
    troubles(faults(standings)),
    section(
      'Limits and budgets',
      table(
        `${all.length} of ${total} tenants${shared ? `, as pod ${sample.pods[0].name} counts them` : ''}`,
        ['Tenant', '>Requests/s', '>Refused/s', 'Refusals by reason', 'Limits', '>Cost, 24 h'],
        all.map((standing) => tenantRow(standing, rates, costs)),
        'No key, rule or budget names such a tenant.',
      ),
    ),
    chosen !== undefined && section(`Keys of ${chosen}`, keysOf(chosen, keys)),
  ]
}

function tenantRow(standing, rates, costs) {
  const { tenant } = standing
  const rate = rates.tenants.get(tenant)
  const reasons = Object.entries(rate?.reasons ?? {}).map(([reason, count]) => `${reason} ${count}`)
  return [
    h('a', { href: `#/tenants/${encodeURIComponent(tenant)}` }, tenant),
    number(rate?.requests ?? 0),
    number(rate?.errors ?? 0),
    reasons.join(', ') || '–',
    limitsOf(standing).map(([name, limit]) => limitLine(name, limit)),
    usdOfNano(costs.get(tenant) ?? 0),
  ]
}

function limitLine(name, limit) {
  const { used, limit: most, remaining, reserved, burst } = limit
  const words = name.replaceAll('_', ' ')
  const share = 1 - Number(remaining) / Number(burst ?? most)
  const held = Number(reserved) > 0 ? `, ${reserved} held` : ''
  const what = `${words}: ${used} used of ${burst === undefined ? most : `${burst} at once, ${most} a minute`}, ${remaining} left${held}`
  const forecast = forecastOf(limit, Date.now())
  return h(
    'div',
    { class: 'limit' },
    what,
    bar(share, what),
    forecast && h('div', null, state(forecast.isOver ? 'warn' : 'idle', forecast.words)),
  )
}

/** At the pace of the window so far; said once a hundredth of the window is over. */
export function forecastOf({ window, used, limit, resets_at }, now) {
  if (window !== 'day' && window !== 'month') return undefined
  const end = new Date(resets_at)
  const start =
    window === 'day'
      ? end.getTime() - DAY_MS
      : Date.UTC(end.getUTCFullYear(), end.getUTCMonth() - 1, 1)
  const elapsed = (now - start) / (end.getTime() - start)
  if (Number(used) >= Number(limit))
    return { isOver: true, words: `spent; it begins anew ${relative(resets_at, now)}` }
  if (elapsed < 0.01 || Number(used) === 0) return undefined
  const final = Number(used) / elapsed
  if (final <= Number(limit))
    return { isOver: false, words: `forecast: ${number(final)} of ${number(Number(limit))}` }
  const spentAt = start + ((now - start) * Number(limit)) / Number(used)
  return {
    isOver: true,
    words: `forecast: spent ${relative(new Date(spentAt).toISOString(), now)}, ${number(final)} by the end`,
  }
}

function keysOf(tenant, answers) {
  const seen = new Map()
  for (const key of bodies(answers).flatMap((body) => body.keys))
    if (key.tenant === tenant) seen.set(key.id, key)
  return [
    troubles(faults(answers)),
    table(
      `${seen.size} keys`,
      ['Id', 'State', 'Begins with', 'Routes', 'Scopes', 'Expires'],
      [...seen.values()].map(({ id, status, prefix, routes, scopes, expires_at }) => [
        id,
        state(status === 'ACTIVE' ? 'good' : 'idle', status.toLowerCase()),
        prefix === undefined ? '–' : h('code', null, prefix, '…'),
        (routes ?? []).join(', '),
        (scopes ?? ['all']).join(', '),
        expires_at ? moment(expires_at) : 'never',
      ]),
    ),
  ]
}
