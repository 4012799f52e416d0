/** Without faults no request is refused while more than 2 % of all its counters is left. */
import type { BudgetRule, Measures } from '../../dataplane/accounts/store.ts'
import { type Life, NANOS_PER_TOKEN } from './life.ts'
import type { Plan } from './plan.ts'

const MINUTE_MS = 60_000

/** The part of a counter that may be left when a request is refused. */
const MARGIN = 0.02

export function needlessRefusals(plan: Plan, lives: readonly Life[]): string[] {
  const { weather, mishaps, rules, shared, ofKey, limited } = plan
  const isCalm = Object.values(weather).every((count) => count === 0) && mishaps.length === 0
  const isLong = new Date(plan.wall).getUTCHours() < 23
  if (!isCalm || !isLong || rules.tokensPerMinute !== undefined) return []
  const admitted = lives.filter((life) => life.isAdmitted)
  const budgets = [rules.budget, shared, ofKey, limited?.rule]
  return lives
    .filter((life) => life.state === 'refused' && !isAlone(life, admitted))
    .flatMap((life) => {
      const { askedAt, answeredAt = askedAt } = life
      const moments = Array.from({ length: answeredAt - askedAt + 1 }, (_, ms) => askedAt + ms)
      const isNeeded = moments.some((moment) => isFull(moment, life, { plan, admitted, budgets }))
      return isNeeded ? [] : [`${life.id} was refused with more than 2 % left`]
    })
}

/** Whether its gateway had not reached the store yet and admitted from its own share. */
function isAlone({ id, askedAt }: Life, admitted: readonly Life[]): boolean {
  const ofGateway = `${id.split('-')[0]}-`
  const last = admitted.findLast(
    (one) => one.id.startsWith(ofGateway) && (one.answeredAt ?? 0) <= askedAt,
  )
  return last?.isLocal ?? false
}

interface World {
  readonly plan: Plan
  readonly admitted: readonly Life[]
  readonly budgets: readonly (BudgetRule | undefined)[]
}

function isFull(
  moment: number,
  { plan: asked, isCharge }: Life,
  { plan, admitted, budgets }: World,
): boolean {
  // The store admits a request some milliseconds before its gateway gets the answer.
  const before = admitted.filter(({ askedAt }) => askedAt <= moment)
  const levelOf = ({ requestsPerMinute = 0 }: Measures, counted: readonly Life[]) => {
    let [level, last] = [0, 0]
    const moments = counted.map(({ runsFrom }) => Math.min(runsFrom, moment))
    for (const from of moments.toSorted((one, other) => one - other)) {
      level = Math.max(0, level - ((from - last) * requestsPerMinute) / MINUTE_MS) + 1
      last = from
    }
    return Math.max(0, level - ((moment - last) * requestsPerMinute) / MINUTE_MS)
  }
  const running = before.filter((life) => life.runsFrom + lengthOf(life) > moment)
  const held = before.reduce(
    (sum, life) => sum + (running.includes(life) ? life.plan.estimate : life.used),
    0,
  )
  const others = before.filter((life) => !life.isCharge)
  const isShort = (cap: number | undefined, used: number, one: number) =>
    cap !== undefined && cap - used <= MARGIN * cap + one
  const nanos = asked.estimate * NANOS_PER_TOKEN
  const { rules, limited } = plan
  if (isShort(rules.burst, levelOf(rules, before), 1)) return true
  // Neither slots nor budgets nor limits are in the way of a request of the rates alone.
  if (isCharge) return false
  const rates = limited?.rates ?? {}
  return (
    isShort(rates.burst, levelOf(rates, others), 1) ||
    // The end of a request takes some milliseconds to reach the store.
    [rules, rates].some((one) => isShort(one.concurrentRequests, running.length, 2)) ||
    budgets.some(
      (budget) =>
        isShort(budget?.tokensPerDay, held, asked.estimate) ||
        isShort(budget?.nanosPerMonth, held * NANOS_PER_TOKEN, nanos),
    )
  )
}

function lengthOf({ plan: { durationMs, leavesAfterMs }, runsFrom, askedAt }: Life): number {
  const left = askedAt + (leavesAfterMs ?? Number.POSITIVE_INFINITY) - runsFrom
  return Math.max(0, Math.min(durationMs, left))
}
