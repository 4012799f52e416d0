/** Causes in limits, keys, names and texts: what the refusal itself says, and the event that began it. */
import type { Cause, CauseRule, FactEvent, IncidentFacts, Symptom } from './facts.ts'
import { cut, joined } from './words.ts'

/** Codes whose message names the cause; the text begins the clause. */
const SAID: Readonly<Record<string, readonly [kind: string, begin: (symptom: Symptom) => string]>> =
  {
    ERR_GW_BUDGET_EXCEEDED: ['budget', (one) => `a budget of ${whose(one)} is used up`],
    ERR_GW_RATE_LIMIT_LOCAL: ['limit', (one) => `${whose(one)} is above a limit`],
    ERR_GW_AUTH_SCOPE_DENIED: ['permission', (one) => `${whose(one)} may not do this`],
    ERR_GW_ROUTE_NOT_FOUND: ['name', (one) => `${whose(one)} asks for a name that leads nowhere`],
    ERR_GW_CONTEXT_OVERFLOW: ['context', () => 'the prompts are longer than the context window'],
    ERR_GW_QUEUE_SATURATED: ['full', ({ route }) => `the upstreams of ${route} are full`],
    ERR_GW_GUARDRAIL_BLOCKED: ['guardrail', () => 'a guardrail refuses the texts'],
    ERR_GW_AUXILIARY_UNAVAILABLE: [
      'auxiliary',
      () => 'a service that the route needs does not answer',
    ],
    ERR_GW_INVALID_REQUEST: ['request', (one) => `${whose(one)} sends requests that are not valid`],
    ERR_GW_TAG_REQUIRED: ['tag', (one) => `${whose(one)} sends requests without a required tag`],
    ERR_GW_REQUEST_TOO_LARGE: ['size', (one) => `${whose(one)} sends bodies that are too large`],
    ERR_GW_OVERLOADED: ['overload', () => 'the gateway is overloaded or ends'],
    ERR_GW_INTERNAL: ['mistake', () => 'the gateway made a mistake'],
    ERR_GW_PROXY_TIMEOUT: ['timeout', () => 'no upstream answered in time'],
    ERR_GW_UPSTREAM_TLS_VERIFY: ['tls', () => 'the TLS certificate of an upstream is refused'],
    ERR_GW_TOKENIZER_MISMATCH: [
      'tokenizer',
      () => 'an upstream has another tokenizer than configured',
    ],
  }

function whose({ tenant }: Symptom): string {
  return tenant === undefined ? 'several tenants' : `tenant ${tenant}`
}

export const refusals: CauseRule = (facts, symptom) => {
  const said = symptom && SAID[symptom.code]
  if (symptom === undefined || said === undefined) return []
  const [kind, begin] = said
  const event = kind === 'budget' ? budgetEvent(symptom, facts) : undefined
  const since = event?.at ?? symptom.since
  return [{ kind, since, text: `${begin(symptom)} (${joined(symptom)})`, weight: 3 }]
}

/** For failures that no gateway remembers any more. */
export const spentBudgets: CauseRule = ({ events }, symptom) => {
  if (symptom?.fault !== 'limit' || symptom.requests.length > 0) return []
  const spent = events.filter(
    ({ event, at }) => event === 'budget_exhausted' && at <= symptom.until,
  )
  const bySaid = Map.groupBy(spent, ({ message }) => message)
  return [...bySaid].map(([message, all]) => ({
    kind: 'budget',
    since: all[0]?.at,
    text: cut(message),
    weight: 2,
  }))
}

/** The event of the spent budget, perhaps hours before the first refusal that is remembered. */
function budgetEvent({ tenant }: Symptom, { events }: IncidentFacts): FactEvent | undefined {
  const isSpent = ({ event, fields }: FactEvent) =>
    event === 'budget_exhausted' || (event === 'budget_alert' && Number(fields.threshold) >= 1)
  return events.find((one) => isSpent(one) && (one.fields.tenant ?? tenant) === tenant)
}

const KEY = /^key (\S+) (?:is|has) (expired|revoked|rotated)/

/** A key that ended: expired, revoked, rotated or removed. */
export const endedKeys: CauseRule = ({ events }, symptom) => {
  if (symptom?.code !== 'ERR_GW_AUTH_INVALID_KEY') return []
  const messages = Map.groupBy(symptom.requests, ({ message = 'unknown key' }) => message)
  return [...messages].map(([message, requests]): Cause => {
    const [, key = '', what = ''] = KEY.exec(message) ?? []
    const event = events.findLast((one) => one.event === 'key' && one.fields.key === key)
    const since = event?.at ?? Math.min(...requests.map(({ at }) => at))
    if (key === '')
      return { kind: 'key', since, text: `clients send a wrong key (${cut(message)})`, weight: 3 }
    const fix = what === 'rotated' ? 'use the new one' : 'renew it with `gw keys rotate`'
    const text = `key ${key} ${what === 'expired' ? 'has expired' : `was ${what}`}; ${fix}`
    return { kind: 'key', since, text, weight: 3 }
  })
}

/** A name that led to another route before: an alias or a pattern now takes it. */
export const shadowedNames: CauseRule = ({ requests, aliases, events }, symptom) => {
  const oldestFirst = requests.toSorted((one, other) => one.at - other.at)
  const byModel = Map.groupBy(oldestFirst, ({ model = '' }) => model)
  return [...byModel].flatMap(([model, all]): Cause[] => {
    const last = all.at(-1)
    const before = all.findLast(({ route }) => route !== last?.route && route !== 'none')
    if (model === '' || last === undefined || before === undefined) return []
    if (last.route === 'none' || aliasOf(model, aliases) !== last.route) return []
    if (symptom !== undefined && ![last.route, before.route].includes(symptom.route)) return []
    const first = all.find(({ at, route }) => at > before.at && route === last.route)
    const edit = events.findLast(
      ({ event, at }) => event === 'config_reload' && at > before.at && at <= (first?.at ?? at),
    )
    const text = `the name ${model} is an alias of route ${last.route} now, and led to route ${before.route} before`
    return [{ kind: 'alias', since: edit?.at ?? first?.at, text, weight: 3 }]
  })
}

function aliasOf(model: string, aliases: Readonly<Record<string, string>>): string | undefined {
  if (Object.hasOwn(aliases, model)) return aliases[model]
  const patterns = Object.entries(aliases).filter(([name]) => name.endsWith('*'))
  return patterns.find(([name]) => model.startsWith(name.slice(0, -1)))?.[1]
}
