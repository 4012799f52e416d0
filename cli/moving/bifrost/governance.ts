/** Bifrost's virtual keys, with their budgets and rate limits. */
import { hash } from 'node:crypto'
import type { Draft, Fields } from '../draft.ts'
import type { Field } from '../field.ts'
import { addRate, addSpend, perMinute, putRequests, windowOf } from '../limits.ts'
import { validName } from '../names.ts'

export function putGovernance(governance: Field, draft: Draft): void {
  for (const key of governance.at('virtual_keys').items) putVirtualKey(key, governance, draft)
  governance
    .at('auth_config')
    .hasNoPlace('the admin API of gw has a socket or a token of its process')
}

function putVirtualKey(key: Field, governance: Field, draft: Draft): void {
  const value = key.at('value')
  const { text } = value
  if (text === undefined || text.startsWith('env.') || text.includes('${')) {
    key.hasNoPlace('the value of the key is not in the file: `gw keys create` makes one')
    return
  }
  const wanted = key.at('name').text ?? key.at('id').text ?? 'key'
  const record: Fields = {
    id: draft.names.keys.free(wanted),
    tenant: tenantOf(key, governance) ?? validName(wanted) ?? 'bifrost',
    hash: `sha256:${hash('sha256', text)}`,
    routes: routesOf(key.at('provider_configs'), draft),
  }
  draft.api_keys.push(record)
  value.changed('its hash', record, 'hash')
  for (const name of ['name', 'id']) key.at(name).changed('the id of the key', record, 'id')
  for (const name of ['team_id', 'customer_id'])
    key.at(name).changed(`tenant ${String(record.tenant)}`, record, 'tenant')
  const active = key.at('is_active')
  if (active.flag === false) {
    record.revoked_at = new Date().toISOString()
    active.changed('revoked', record, 'revoked_at')
  } else active.changed('a key is active until it is revoked', record, 'id')
  for (const one of key.at('provider_configs').items) {
    for (const name of ['provider', 'allowed_models'])
      one.at(name).changed('the routes of the key', record, 'routes')
    one.at('weight').hasNoPlace('a name of gw leads to one provider')
    one.at('key_ids').hasNoPlace('all keys of a route serve all who may use it')
  }
  putLimits(key, governance, { record, draft })
}

function tenantOf(key: Field, governance: Field): string | undefined {
  for (const [member, list] of [
    ['team_id', 'teams'],
    ['customer_id', 'customers'],
  ] as const) {
    const id = key.at(member).text
    if (id === undefined) continue
    const owner = governance.at(list).items.find((one) => one.at('id').text === id)
    const name = validName(owner?.at('name').text ?? id)
    owner?.at('name').changed(`tenant ${name ?? id}`)
    owner?.at('id').changed(`tenant ${name ?? id}`)
    return name
  }
  return undefined
}

/** All routes if nothing narrows them, or nothing that it names has a place. */
function routesOf(configs: Field, { routes }: Draft): string[] {
  const names = routes.map(({ name }) => String(name))
  const allowed = configs.items.flatMap((one) => {
    const prefix = `${one.at('provider').text ?? ''}/`
    const models = one.at('allowed_models').items.map(({ text }) => text ?? '')
    const own = names.filter((name) => name.startsWith(prefix))
    if (models.length === 0 || models.includes('*')) return own
    return own.filter((name) => models.includes(name.slice(prefix.length)))
  })
  return configs.items.length === 0 || allowed.length === 0 ? ['*'] : [...new Set(allowed)]
}

interface Owner {
  readonly record: Fields
  readonly draft: Draft
}

function putLimits(key: Field, governance: Field, { record, draft }: Owner): void {
  const id = String(record.id)
  const budgets = governance.at('budgets').items
  const budget = budgets.find((one) => one.at('id').text === key.at('budget_id').text)
  if (budget !== undefined && key.at('budget_id').exists) {
    putBudget(budget, { record, draft })
    key.at('budget_id').changed('a budget of the key', record, 'id')
  }
  const rates = governance.at('rate_limits').items
  const rate = rates.find((one) => one.at('id').text === key.at('rate_limit_id').text)
  if (rate === undefined || !key.at('rate_limit_id').exists) return
  key.at('rate_limit_id').changed('a limit of the key', record, 'id')
  const limit = addRate(draft, `${id}-rate`, { key: id })
  for (const kind of ['request', 'token'] as const) {
    const [most, duration] = [rate.at(`${kind}_max_limit`), rate.at(`${kind}_reset_duration`)]
    const amount =
      most.number === undefined ? undefined : perMinute(most.number, duration.text ?? '1m')
    if (amount === undefined) {
      for (const field of [most, duration]) field.hasNoPlace('gw counts rates by the minute')
      continue
    }
    if (kind === 'request') putRequests(most, limit, amount, 'a minute')
    else {
      limit.tokens_per_minute = amount
      most.changed('a minute', limit, 'tokens_per_minute')
    }
    duration.changed('a minute', limit, 'name')
  }
  rate.at('id').changed('the name of the limit', limit, 'name')
  if (Object.keys(limit).length === 2) draft.limits.splice(draft.limits.indexOf(limit), 1)
}

function putBudget(budget: Field, { record, draft }: Owner): void {
  const per = windowOf(budget.at('reset_duration').text)
  const usd = budget.at('max_limit').number
  const priced = new Set(draft.pricing.map(({ model }) => model))
  const isPriced = draft.upstreams.every(({ model }) => priced.has(model))
  if (per === undefined || usd === undefined || usd <= 0 || !isPriced) {
    const why = isPriced
      ? 'gw has no window of that length'
      : 'a budget of money needs prices: run gw pricing import, then add it to limits'
    budget.hasNoPlace(why)
    return
  }
  const id = String(record.id)
  const entry = addSpend(draft, `${id}-spend`, { selectors: { key: id }, usd, per })
  budget.at('max_limit').kept(entry, 'usd')
  budget.at('reset_duration').changed(`per: ${per}`, entry, 'per')
  budget.at('id').changed('the name of the limit', entry, 'usd')
}
