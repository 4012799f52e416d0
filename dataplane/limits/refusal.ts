/** The error of a refused client: which limit, how far it is used, and what to do. */

import { ruleOf } from '../accounts/holders.ts'
import { isForEver, type Per } from '../accounts/period.ts'
import {
  type AdmitResult,
  BUSY_RETRY_MS,
  type BudgetFigure,
  type BudgetRule,
  type Figures,
  type LimitCounter,
  type Measures,
  type Refusal,
  type Rules,
  type ScopedFigures,
} from '../accounts/store.ts'
import { GatewayError } from '../base/errors.ts'
import { limitHeaders, usdText, wholeSeconds } from './headers.ts'

export type Refused = Extract<AdmitResult, { outcome: 'refused' }>

/** `used`: requests of the tenant in this process that are running or whose bodies are arriving. */
export function crowdedOut(
  used: number,
  { concurrentRequests }: Pick<Rules, 'concurrentRequests'>,
): GatewayError {
  const explanation = tooMany({ limit: concurrentRequests, used })
  return rateError('concurrency', explanation, BUSY_RETRY_MS)
}

/** The held bodies leave no room: those of the tenant, or of all tenants. */
export function noRoom(obstacle: 'process' | 'tenant'): GatewayError {
  const retryAfterSeconds = Math.ceil(BUSY_RETRY_MS / 1000)
  if (obstacle === 'process') {
    return new GatewayError(
      'ERR_GW_OVERLOADED',
      `The gateway holds as many bytes of requests as it may. Try again in ${retryAfterSeconds} s.`,
      { retryAfterSeconds },
    )
  }
  return new GatewayError(
    'ERR_GW_RATE_LIMIT_LOCAL',
    `Your requests hold as many bytes here as the requests of one tenant may. Try again in ${retryAfterSeconds} s.`,
    {
      retryAfterSeconds,
      facts: { reason: 'concurrency', limited_by: 'body_bytes' },
      learnt: { limit: 'concurrency' },
    },
  )
}

/** The figures of one counter. */
type CounterFigures = Omit<ScopedFigures, 'scope'>

interface Explanation {
  readonly limitedBy: string
  readonly message: string
  readonly facts: Readonly<Record<string, unknown>>
}

/** 402 for a spent budget, 429 for everything else. `wallMs` is the present. */
export function refusalError(refused: Refused, rules: Rules, wallMs: number): GatewayError {
  const { by, scope, figures, retryAfterMs } = refused
  const explanation = explained(refused, rules, wallMs)
  const headers = limitHeaders(figures)
  if (by !== 'budget_tokens' && by !== 'budget_spend')
    return rateError(by, explanation, retryAfterMs, headers)
  const { limitedBy, message, facts } = explanation
  const advice =
    facts.resets_at === null
      ? `It does not reset; have ${limitedBy} raised.`
      : `Wait until it resets at ${facts.resets_at}, or have ${limitedBy} raised.`
  const why = notDowngraded(ruleOf(rules, scope))
  return new GatewayError('ERR_GW_BUDGET_EXCEEDED', `${message} ${advice}${why}`, {
    facts: factsOf(by, explanation),
    learnt: { limitHeaders: headers },
  })
}

/** The words and the facts of a refusal that no client gets, because another upstream may serve. */
export function refusedBy(refused: Refused, rules: Rules, wallMs: number) {
  const explanation = explained(refused, rules, wallMs)
  return { message: explanation.message, facts: factsOf(refused.by, explanation) }
}

/** Adds the group, the key or the limit if the counter is not the tenant's own. */
function explained({ by, scope, figures }: Refused, rules: Rules, wallMs: number): Explanation {
  const other = scope && figures.scoped?.find((one) => one.scope.id === scope.id)
  if (scope === undefined || other === undefined) return EXPLANATIONS[by](figures, rules, wallMs)
  if (scope.limit !== undefined) return ofLimit(by, scope.name, scope.limit, other, rules, wallMs)
  const { tokens, spend } = other
  const { facts, message, ...rest } = EXPLANATIONS[by]({ ...figures, tokens, spend }, rules, wallMs)
  const { kind, name } = scope
  const isShown = kind === 'key' || scope.isNamed === true
  const group = isShown ? `group "${name}" shares` : 'several tenants share'
  const addition = kind === 'key' ? ` of key "${name}"` : ` that ${group}`
  return {
    ...rest,
    message: message.replace(/ of this (day|month)/, (period) => `${period}${addition}`),
    facts: { ...facts, budget: kind, ...(isShown && { budget_name: name }) },
  }
}

/** The same words about the figures and the rates of the limit. */
function ofLimit(
  by: Refusal,
  name: string,
  { holder, period, counts }: LimitCounter,
  figures: ScopedFigures,
  rules: Rules,
  wallMs: number,
): Explanation {
  const { rates } = rules.scoped?.find(({ scope }) => scope.id === figures.scope.id) ?? {}
  const { message, facts, limitedBy } = EXPLANATIONS[by](figures, rates ?? {}, wallMs)
  return {
    limitedBy: BUDGETS.has(by) ? 'budget' : `${counts === 'all' ? '' : `${counts}_`}${limitedBy}`,
    message: `Limit "${name}" of ${holder}: ${message.replace(/ of this (day|month)/, PERIOD_WORDS[period.per])}`,
    facts: { ...facts, limit_name: name, limit_holder: holder },
  }
}

const PERIOD_WORDS: Readonly<Record<Per, string>> = {
  hour: ' of this hour',
  day: ' of this day',
  week: ' of this week',
  month: ' of this month',
  '30d': ' of these 30 days',
  total: ' in total',
}

const BUDGETS = new Set<Refusal>(['budget_reserved', 'budget_tokens', 'budget_spend'])

function rateError(
  by: Refusal,
  explanation: Explanation,
  retryAfterMs: number,
  headers?: Readonly<Record<string, string>>,
): GatewayError {
  const seconds = Math.max(1, wholeSeconds(retryAfterMs))
  const { limitedBy, message } = explanation
  return new GatewayError(
    'ERR_GW_RATE_LIMIT_LOCAL',
    `${message} Try again in ${seconds} s, or have ${limitedBy} raised.`,
    {
      facts: factsOf(by, explanation),
      retryAfterSeconds: seconds,
      learnt: { limit: by, ...(headers && { limitHeaders: headers }) },
    },
  )
}

function factsOf(by: Refusal, { limitedBy, facts }: Explanation) {
  return { reason: by, limited_by: limitedBy, ...facts }
}

const EXPLANATIONS: Readonly<
  Record<Refusal, (figures: CounterFigures, rules: Measures, wallMs: number) => Explanation>
> = {
  rpm: ({ requests }, { requestsPerMinute, burst = 1 }, wallMs) => ({
    limitedBy: 'requests_per_minute',
    message: `The limit of ${requestsPerMinute} requests a minute, ${burst} at once, is reached.`,
    facts: {
      limit: requestsPerMinute,
      burst,
      used: burst - (requests?.remaining ?? 0),
      resets_at: iso(wallMs + (requests?.resetMs ?? 0)),
    },
  }),
  tpm: ({ tokenRate }, { tokensPerMinute = 0 }, wallMs) => ({
    limitedBy: 'tokens_per_minute',
    message: `The limit of ${tokensPerMinute} tokens a minute leaves ${tokenRate?.remaining ?? 0}: too few.`,
    facts: {
      limit: tokensPerMinute,
      used: tokensPerMinute - (tokenRate?.remaining ?? 0),
      resets_at: iso(wallMs + (tokenRate?.resetMs ?? 0)),
    },
  }),
  concurrency: ({ concurrency }) => tooMany(concurrency ?? { limit: 0, used: 0 }),
  budget_reserved: (figures) =>
    isPromised(figures.tokens)
      ? tokenBudget(figures, 'may all be used by requests that are running.')
      : spendBudget(figures, 'may all be spent by requests that are running.'),
  budget_tokens: (figures) => tokenBudget(figures, 'are used.'),
  budget_spend: (figures) => spendBudget(figures, 'are spent.'),
}

function tooMany({ limit, used }: Figures['concurrency']): Explanation {
  return {
    limitedBy: 'concurrent_requests',
    message: `${used} requests are running and ${limit} may.`,
    facts: { limit, used },
  }
}

function tokenBudget({ tokens }: Pick<Figures, 'tokens'>, state: string): Explanation {
  return {
    limitedBy: 'tokens_per_day',
    message: `The ${tokens?.limit} tokens of this day ${state}`,
    facts: tokens === undefined ? {} : budgetFacts(tokens, 1),
  }
}

function spendBudget({ spend }: Pick<Figures, 'spend'>, state: string): Explanation {
  return {
    limitedBy: 'spend_per_month_usd',
    message: `The ${usdText(spend?.limit ?? 0)} USD of this month ${state}`,
    facts: spend === undefined ? {} : budgetFacts(spend, 1e9),
  }
}

function budgetFacts({ limit, settled, reserved, resetsAt }: BudgetFigure, unit: number) {
  return {
    limit: limit / unit,
    used: settled / unit,
    reserved: reserved / unit,
    resets_at: isForEver(resetsAt) ? null : iso(resetsAt),
  }
}

function isPromised(figure: BudgetFigure | undefined): boolean {
  if (figure === undefined) return false
  const { limit, settled, reserved } = figure
  return settled < limit && settled + reserved >= limit
}

function notDowngraded(rule: BudgetRule | undefined): string {
  return rule?.onExceeded === 'downgrade'
    ? ' The downgrade route has no eligible upstream now.'
    : ''
}

function iso(wallMs: number): string {
  return new Date(wallMs).toISOString()
}
