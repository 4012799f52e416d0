/** Incidents of budgets, quotas and alerts. A tenant is new each time, because a threshold is reported once in a window. */
import { randomInt } from 'node:crypto'
import { budgets, NAME, type Rig } from '../incidents/rig.ts'
import { gatewayKey } from '../objects.ts'
import type { Planted } from './planted.ts'

const MANY = 1_000_000
/** A threshold of ten of a million tokens; two answers have more. */
const SHARE = 0.00001
const number = randomInt(1_000_000)
const [SPENDER, SHARER, SILENT, HASTY] = ['spender', 'sharer', 'silent', 'hasty'].map(
  (name) => `${name}-${number}`,
)

export const TENANT_INCIDENTS: readonly Planted[] = [
  ofTenant(SPENDER, {
    alert: 'GwBudgetThresholdReached',
    what: 'a tenant at its threshold',
    plant: ({ configure }) => configure({ gw: { budgets: [...budgets, budgetOf(SPENDER)] } }),
    prints: [
      /tokens_per_day +day +1,000,000 +[1-9]/,
      new RegExp(`${SPENDER} `),
      new RegExp(`${NAME}-${SPENDER}-\\d+`),
    ],
    cause: /tokens_per_day +(?:day +1,000,000 +\d+|\d+ +1,000,000).*/,
  }),
  ofTenant(SHARER, {
    alert: 'GwSharedBudgetThresholdReached',
    what: 'a shared budget at its threshold',
    async plant({ configure }) {
      const budget = { tokens: MANY, per: 'day', alerts: [SHARE] }
      const limit = { name: `project-${number}`, for: { tenants: [SHARER, 'acme'] }, budget }
      await configure({ gw: { limits: [limit] } })
    },
    prints: [/limit:project-\d+/, new RegExp(`${SHARER} `), /limit:project-\d+/],
    cause: new RegExp(`limit:project-${number} .*|${SHARER} .*`),
  }),
  ofTenant(HASTY, {
    alert: 'GwBudgetPace',
    what: 'a tenant that has used a budget several times over',
    async plant({ configure }) {
      // Two budgets, of a day and of a month, because the first tenth of a window does not count.
      const budget = { tenant: HASTY, tokens_per_day: 10, spend_per_month_usd: 0.00001 }
      const downgraded = { ...budget, on_exceeded: 'downgrade', downgrade_route: 'spread' }
      const pricing = [{ model: 'm', input: 1, output: 1 }]
      await configure({ gw: { budgets: [...budgets, downgraded], pricing } })
    },
    prints: [
      /tokens_per_day +day +10 +[1-9]/,
      new RegExp(`${HASTY} `),
      new RegExp(`${NAME}-${HASTY}-\\d+`),
    ],
    cause: /tokens_per_day +day +10 +\d+.*/,
  }),
  {
    alert: 'GwUpstreamQuotaFull',
    what: 'a quota of an upstream that is used up',
    async plant({ configure, enforced }) {
      const limit = { name: 'quota', for: { upstream: 'hosted' }, requests_per_minute: 1, burst: 1 }
      await configure({ gw: { limits: [limit] } })
      await enforced()
    },
    asks: () => ({ model: 'chat' }),
    prints: [/limit:quota/, /Limit "quota" of upstream "hosted"/, /acme +hosted/],
    cause: /limit:quota .*|Limit "quota" of upstream "hosted"[^\n]*|acme +hosted.*/,
    lift: ({ configure }) => configure(),
  },
  ofTenant(SILENT, {
    alert: 'GwAlertsDropped',
    what: 'a webhook that answers 404',
    async plant({ configure }) {
      const alerts = { webhook_url: 'http://faulty:9000/hook' }
      await configure({ gw: { budgets: [...budgets, budgetOf(SILENT)], alerts } })
    },
    prints: [
      /did not accept an alert/,
      /faulty:9000\/hook/,
      /webhook_url: http:\/\/faulty:9000\/\*+/,
    ],
    cause:
      /The webhook at http:\/\/faulty:9000 did not accept an alert \(budget_alert\): it answered 404/,
  }),
]

function budgetOf(tenant = ''): object {
  return { tenant, tokens_per_day: MANY, alert_thresholds: [SHARE], on_exceeded: 'reject' }
}

/** Its requests are those of a separate tenant. */
function ofTenant(tenant = '', planted: Omit<Planted, 'asks' | 'lift'>): Planted {
  const { key, object } = gatewayKey(NAME, tenant)
  return {
    ...planted,
    async plant(rig: Rig) {
      await rig.world.apply(object)
      await planted.plant(rig)
      await rig.enforced()
    },
    asks: () => ({ key, model: 'chat', count: 4 }),
    async lift({ kubectl, configure }) {
      const { name } = (object as { metadata: { name: string } }).metadata
      await kubectl('delete', 'gatewaykey', name, '--ignore-not-found')
      await configure()
    },
  }
}
