/** GET /v1/usage: the usage of the caller's own key, and the state of its limits and budgets. */

import type { BudgetScope, Figures } from '../../accounts/store.ts'
import { GatewayError } from '../../base/errors.ts'
import { chargeRequest } from '../../limits/decision.ts'
import { standingOf } from '../../limits/shown/tenants.ts'
import type { Api, Visit } from '../../request/api.ts'
import { describeLimits, identify } from '../../request/visit.ts'
import { sourcesOf } from '../../usage/answer.ts'
import { reportOf } from '../../usage/report.ts'
import { openAiWire } from '../openai/wire.ts'

const QUERY = ['by', 'hours', 'from', 'to', 'tz'] as const
/** The holder of a key must not see the names of tenants and other keys. */
const COLUMNS = /^(?:route|upstream|model|day|hour|tags|tag:.+)$/
const DAY_HOURS = '24'

export const keyUsage: Api = {
  method: 'GET',
  path: '/v1/usage',
  summary:
    "Tokens and cost of the caller's own key, and how its limits and budgets stand: `?by=model,day` of `route`, `upstream`, " +
    '`model`, `tags`, `tag:NAME`, `day`, `hour`; `&hours=N`, or `&from=` and `&to=`; `&tz=ZONE`. Takes one request of the rate.',
  wire: openAiWire,
  async run(visit) {
    const { gateway, active, call, response } = visit
    const caller = await identify(visit)
    const { tenant } = caller
    const { id: key } = caller.key.record
    const rules = active.snapshot.limits.rules.of(tenant, key)
    await chargeRequest({ tenant, id: call.id }, rules, gateway)
    await describeLimits(visit)
    const asked = queryOf(call.incoming.url)
    const period = asked.from === undefined ? { hours: asked.hours ?? DAY_HOURS } : {}
    const question = { by: 'model', ...asked, ...period, only: { tenant, key } }
    const now = gateway.clock.wall()
    const report = await reportOf(sourcesOf(gateway, false), question, now)
    if (typeof report === 'string') throw new GatewayError('ERR_GW_INVALID_REQUEST', report)
    const figures = await gateway.store.read(tenant, rules)
    const body = {
      object: 'usage',
      tenant,
      key,
      ...report,
      limits: limitsIn(figures, visit, rules),
    }
    response.send(200, 'application/json', JSON.stringify(body))
  },
}

type UsageQuery = Partial<Record<(typeof QUERY)[number], string>>

function queryOf(url: string): UsageQuery {
  const given = new URL(url, 'http://gateway').searchParams
  const unknown = [...given.keys()].find((name) => !QUERY.some((known) => known === name))
  if (unknown !== undefined)
    throw new GatewayError(
      'ERR_GW_INVALID_REQUEST',
      `The query has no "${unknown.slice(0, 32)}"; it may have ${QUERY.join(', ')}.`,
    )
  const wrong = given
    .get('by')
    ?.split(',')
    .find((name) => !COLUMNS.test(name))
  if (wrong !== undefined)
    throw new GatewayError(
      'ERR_GW_INVALID_REQUEST',
      'Group by route, upstream, model, tags, tag:NAME, day or hour.',
      { param: 'by' },
    )
  return Object.fromEntries(given)
}

function limitsIn(figures: Figures, { gateway }: Visit, rules: Parameters<typeof standingOf>[1]) {
  const now = gateway.clock.wall()
  const { tokens_per_day, spend_per_month_usd, ...rates } = standingOf(figures, rules, now)
  const own = { of: 'tenant', tokens_per_day, spend_per_month_usd }
  const scoped = (figures.scoped ?? []).map(({ scope, tokens: day, spend: month }) => {
    const { tokens_per_day: tokens, spend_per_month_usd: spend } = standingOf(
      { ...figures, tokens: day, spend: month },
      rules,
      now,
    )
    return { ...ownerOf(scope), tokens_per_day: tokens, spend_per_month_usd: spend }
  })
  const budgets = [own, ...scoped].filter(
    (one) => one.tokens_per_day !== undefined || one.spend_per_month_usd !== undefined,
  )
  return { ...rates, budgets }
}

function ownerOf({ kind, name, isNamed }: BudgetScope) {
  return { of: kind, ...(kind === 'group' && isNamed === true && { name }) }
}
