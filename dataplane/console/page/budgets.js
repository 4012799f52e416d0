/** Budgets of tenants, groups and keys from the answers of pods: the rest, and a forecast at the present pace. */
import { bodies } from './answers.js'
import { number, relative, usd } from './format.js'

const DAY_MS = 86_400_000
/** Earlier in a window a pace has no meaning. */
const ELAPSED_MIN = 0.01

const KINDS = {
  tokens_per_day: {
    unit: 'tokens a day',
    title: 'daily token budget',
    show: (tokens) => number(Math.round(tokens)),
  },
  spend_per_month_usd: { unit: 'USD a month', title: 'monthly budget', show: usd },
}

/**
 * Each budget once, the one nearest to its end first. If pods count separately, their numbers differ: the fullest one
 * is used.
 */
export function budgetsOf(standings, now = Date.now()) {
  const found = new Map()
  for (const { tenants } of bodies(standings)) {
    for (const standing of tenants) {
      for (const [name, limit] of limitsOf(standing)) {
        const budget = budgetOf(standing.tenant, name, limit, now)
        if (budget === undefined) continue
        const known = found.get(budget.id)
        const tenants = new Set([...(known?.tenants ?? []), standing.tenant])
        const fullest = known !== undefined && known.share > budget.share ? known : budget
        found.set(budget.id, { ...fullest, tenants })
      }
    }
  }
  return [...found.values()].toSorted((one, other) => other.urgency - one.urgency)
}

/** `name` is `tokens_per_day`, or that behind `group:research` or `key:batch`. */
function budgetOf(tenant, name, limit, now) {
  const [, scope, holder, kind] = /^(?:(group|key):(\S+) )?(\w+)$/.exec(name) ?? []
  if (!Object.hasOwn(KINDS, kind ?? '')) return undefined
  const { unit, title, show } = KINDS[kind]
  const share = Number(limit.used) / Number(limit.limit)
  const forecast = forecastOf(limit, now, show)
  return {
    id: `${scope ?? 'tenant'} ${holder ?? tenant} ${kind}`,
    // One of them, if it is a group.
    tenant,
    scope: scope ?? 'tenant',
    holder: holder ?? tenant,
    unit,
    title,
    show,
    share,
    forecast,
    urgency: share + (forecast?.isOver ? 1 : 0) + (share >= 1 ? 1 : 0),
    ...limit,
  }
}

/** Every limit of a tenant, by its name: members with a limit and its usage. */
function limitsOf(standing) {
  const isLimit = (value) => value !== null && typeof value === 'object' && 'limit' in value
  return Object.entries(standing).filter(([, value]) => isLimit(value))
}

/** At the pace of the window so far; known after a hundredth of the window. */
export function forecastOf({ window, used, limit, resets_at }, now, show = number) {
  if (window !== 'day' && window !== 'month') return undefined
  const end = new Date(resets_at)
  const start =
    window === 'day'
      ? end.getTime() - DAY_MS
      : Date.UTC(end.getUTCFullYear(), end.getUTCMonth() - 1, 1)
  const elapsed = (now - start) / (end.getTime() - start)
  if (Number(used) >= Number(limit)) return { isOver: true, words: 'used up' }
  if (elapsed < ELAPSED_MIN || Number(used) === 0) return undefined
  const final = Number(used) / elapsed
  if (final <= Number(limit)) return { isOver: false, words: `${show(final)} by the end` }
  const spentAt = start + ((now - start) * Number(limit)) / Number(used)
  return { isOver: true, words: `used up ${relative(new Date(spentAt).toISOString(), now)}` }
}
