/** The promises that hold in every history. */

import {
  type BudgetRule,
  type Figures,
  LEASE_MS,
  type Rules,
} from '../../dataplane/accounts/store.ts'
import { dayOf, monthOf } from '../../dataplane/accounts/windows.ts'
import { type Life, NANOS_PER_TOKEN } from './life.ts'
import { needlessRefusals } from './needless-refusals.ts'
import { DEADLINE_MS } from './network.ts'
import { HISTORY_MS, type Plan } from './plan.ts'

/** The store's decisions, in its order and by its clock. */
export type Deed =
  | { readonly what: 'admitted' | 'settled'; readonly life: Life; readonly at: number }
  | { readonly what: 'renewed'; readonly life: Life; readonly at: number; readonly used: number }
  | { readonly what: 'flushed'; readonly at: number }

export interface Past {
  readonly plan: Plan
  readonly lives: readonly Life[]
  readonly deeds: readonly Deed[]
  /** Each tenant's final figures, as each gateway sees them. */
  readonly standing: readonly {
    readonly tenant: string
    readonly gateway: string
    readonly figures: Figures
  }[]
}

/** A decision may need its script to be sent again, or wait for slices that others return and ask twice more. */
const ANSWER_MAX_MS = 3 * DEADLINE_MS + 40

/** Slices contain at most a fiftieth of a counter, and one unit of a small counter. */
const SLICES = 0.02

/** Empty if every promise was kept. */
export function problemsOf(past: Past): string[] {
  return [
    ...past.plan.tenants.flatMap((tenant) => [
      ...rateOf(tenant, past),
      ...slotsOf(tenant, past),
      ...sharesOf(tenant, past),
    ]),
    ...past.standing.flatMap((one) => [...heldOf(one), ...booksOf(one, past)]),
    ...answersOf(past),
    ...needlessRefusals(past.plan, past.lives),
  ]
}

/** All rules that were in force at some time. */
function rulesOf({ plan }: Past): readonly Rules[] {
  return [plan.rules, ...plan.mishaps.flatMap((one) => (one.what === 'rules' ? [one.rules] : []))]
}

/** A bucket that leaks exactly, which is the bound in every window at once. */
function rateOf(tenant: string, past: Past): string[] {
  const rate = Math.max(...rulesOf(past).map(({ requestsPerMinute }) => requestsPerMinute))
  const burst = Math.max(...rulesOf(past).map((one) => one.burst))
  let [level, last, slack] = [0, 0, 0]
  const leaks = ((past.plan.skews.length - 1) * rate) / 60_000
  for (const deed of past.deeds) {
    // Replicas use their previous rules until their next call.
    if (deed.what === 'flushed') {
      if (isRestored(past)) slack += SLICES * burst + IN_FLIGHT + leaks * (deed.at - past.plan.wall)
      else level = -SLICES * burst * 60_000
    }
    if (deed.what !== 'admitted' || deed.life.plan.tenant !== tenant) continue
    // An admission whose answer got lost is taken back.
    if (!deed.life.isAdmitted) continue
    level = Math.max(Math.min(0, level), level - (deed.at - last) * rate) + 60_000
    last = deed.at
    if (level > (burst + slack) * 60_000) {
      return [`${deed.life.id} was admitted over the rate: ${level / 60_000} of ${burst}`]
    }
  }
  return []
}

/** Running replicas that reach the store pour again what they had poured; their own buckets leak at the whole rate. */
function isRestored({ plan }: Past): boolean {
  return !plan.failOpen && plan.mishaps.every(({ what }) => what === 'flush' || what === 'pause')
}

/** Admissions of the store whose answers were in transit when it lost its data. */
const IN_FLIGHT = 10

/** Without the store a gateway admits at most its share, and an outage allows no new burst. */
function sharesOf(tenant: string, past: Past): string[] {
  const share = (limit: number) => Math.max(1, Math.floor(limit / past.plan.skews.length))
  const rate = share(Math.max(...rulesOf(past).map(({ requestsPerMinute }) => requestsPerMinute)))
  const burst = share(Math.max(...rulesOf(past).map((one) => one.burst)))
  const buckets = new Map<string, { level: number; last: number }>()
  const local = past.lives.filter(({ isLocal }) => isLocal)
  for (const life of local.toSorted((one, other) => one.runsFrom - other.runsFrom)) {
    if (life.plan.tenant !== tenant) continue
    const gateway = life.id.replace(/-.*/, '')
    const { level, last } = buckets.get(gateway) ?? { level: 0, last: 0 }
    const poured = Math.max(0, level - (life.runsFrom - last) * rate) + 60_000
    buckets.set(gateway, { level: poured, last: life.runsFrom })
    if (poured > burst * 60_000) return [`${life.id} is over the share of ${gateway}: ${burst}`]
  }
  return []
}

function slotsOf(tenant: string, past: Past): string[] {
  const until = new Map<Life, number>()
  for (const deed of past.deeds) {
    // Slots that the store has lost return with the next beat, and may then exceed the limit.
    if (deed.what === 'flushed') until.clear()
    else if (deed.life.plan.tenant !== tenant) continue
    else if (deed.what === 'settled') until.delete(deed.life)
    else if (deed.what === 'renewed') {
      if (until.has(deed.life)) until.set(deed.life, deed.at + LEASE_MS)
    } else {
      until.set(deed.life, deed.at + LEASE_MS)
      const taken = [...until.values()].filter((end) => end > deed.at).length
      const limit = deed.life.rules.concurrentRequests
      if (taken > limit) return [`${deed.life.id} took slot ${taken} of ${limit}`]
    }
  }
  return []
}

type Standing = Past['standing'][number]

function heldOf({ tenant, gateway, figures }: Standing): string[] {
  const held = {
    slots: figures.concurrency.used,
    tokens: figures.tokens?.reserved ?? 0,
    nanos: figures.spend?.reserved ?? 0,
    ...Object.fromEntries(
      (figures.scoped ?? []).map(({ scope, tokens, spend }) => [
        scope.id,
        (tokens?.reserved ?? 0) + (spend?.reserved ?? 0),
      ]),
    ),
  }
  return Object.entries(held).flatMap(([what, count]) =>
    count === 0 ? [] : [`in the end ${gateway} sees ${count} ${what} held by ${tenant}`],
  )
}

/** A counter in the end: its owner, the requests that it counts, and its caps. */
interface Counter extends Pick<Figures, 'tokens' | 'spend'> {
  readonly name: string
  readonly gateway: string
  readonly lives: readonly Life[]
  readonly caps: readonly (BudgetRule | undefined)[]
  /** The possible charge for a request in the store, and the part without reserved room. */
  readonly chargeOf: (life: Life) => Life['chargedBeside']
}

/** The tenant's counter, and those of its other budgets. */
function countersOf({ tenant, gateway, figures }: Standing, past: Past): Counter[] {
  const mine = past.lives.filter(({ plan }) => plan.tenant === tenant)
  const { shared, ofKey } = past.plan
  return [
    {
      ...figures,
      name: tenant,
      gateway,
      lives: mine,
      caps: rulesOf(past).map((one) => one.budget),
      chargeOf: ({ charged: least, chargedMost: most, excess }) => ({ least, most, excess }),
    },
    ...(figures.scoped ?? []).map(({ scope, ...one }) => ({
      ...one,
      name: scope.id,
      gateway,
      lives: scope.kind === 'group' ? past.lives : mine,
      caps: [scope.kind === 'group' ? shared : ofKey],
      chargeOf: (life: Life) => life.chargedBeside,
    })),
  ]
}

/** The settled amount equals the used one, and no budget is exceeded by more than one request. */
function booksOf(one: Standing, past: Past): string[] {
  return countersOf(one, past).flatMap((counter) => bookOf(counter, past))
}

function bookOf(
  { name, gateway, lives, caps, chargeOf, ...figures }: Counter,
  past: Past,
): string[] {
  const problems: string[] = []
  for (const kind of ['tokens', 'spend'] as const) {
    const unit = kind === 'tokens' ? 1 : NANOS_PER_TOKEN
    const settled = (figures[kind]?.settled ?? 0) / unit
    const counted = lives.filter((life) => mayCount(life, kind, past))
    const sum = (of: (life: Life) => number) => counted.reduce((all, life) => all + of(life), 0)
    const limits = caps.map((cap) => (kind === 'tokens' ? cap?.tokensPerDay : cap?.nanosPerMonth))
    const isUncapped = limits.some((limit) => limit === undefined)
    const least = sum((life) => {
      if (!isSure(life, kind, past)) return 0
      const { least } = chargeOf(life)
      if (!life.isHere || !hasCrashed(life, past)) return least
      // A slice is charged for what its crashed gateway had not sent, but it has no amount without a cap.
      return isUncapped ? 0 : Math.min(least, life.namedFirst ?? least)
    })
    const most = sum((life) => chargeOf(life).most + twice(life, past)) + unseen(limits, unit, past)
    if (settled < least || settled > most) {
      const used = least === most ? most : `${least} to ${most}`
      problems.push(`${gateway} sees ${settled} of ${name} settled (${kind}), used were ${used}`)
    }
    const over = overshoot(settled, unit, limits, past)
    const largest = Math.max(0, ...counted.map(({ plan }) => plan.estimate))
    if (over > largest + sum((life) => chargeOf(life).excess)) {
      problems.push(`${name} is ${over} over its cap (${kind}), the largest request is ${largest}`)
    }
  }
  return problems
}

/**
 * The store charges the slice of a crashed gateway: what was idle, and what its requests had used at their last beat, or else
 * held, at its last claim, also those that ended after that.
 */
function unseen(
  limits: readonly (number | undefined)[],
  unit: number,
  { plan, lives }: Past,
): number {
  if (!plan.mishaps.some(({ what }) => what === 'crash')) return 0
  const held = lives.reduce((sum, life) => {
    if (life.state === 'crashed') return sum + life.plan.estimate
    const isUnclaimed = life.state === 'ended' && life.isHere && hasCrashed(life, { plan })
    return isUnclaimed ? sum + Math.max(0, life.plan.estimate - life.used) : sum
  }, 0)
  return held + SLICES * Math.max(...limits.map((limit) => (limit ?? 0) / unit))
}

/** An older copy has leases of requests that have ended since: their last report counts once more when they expire. */
function twice({ beaten }: Life, { plan }: Past): number {
  return plan.mishaps.some(({ what }) => what === 'failover') ? beaten : 0
}

type Kind = 'tokens' | 'spend'

/** Whether a moment is in the window of the final figures. */
function isInWindow(moment: number, kind: Kind, { plan }: Past): boolean {
  const windowOf = kind === 'tokens' ? dayOf : monthOf
  return windowOf(moment).key === windowOf(plan.wall + HISTORY_MS).key
}

/**
 * Without the store a gateway uses the store's clock as last received, minus the travel time of the
 * answer, and its own clock drifts meanwhile; a gateway that never received it uses its own clock, which may be wrong.
 */
function momentsOf(life: Life, { plan }: Past): number[] {
  if (!life.isLocal && !life.isHere) return life.admittedAt === undefined ? [] : [life.admittedAt]
  const at = plan.wall + life.runsFrom
  const { [life.plan.gateway]: drift = 0 } = plan.drifts
  return [at, at - DEADLINE_MS, at + drift, at + (plan.skews[life.plan.gateway] ?? 0)]
}

function mayCount(life: Life, kind: Kind, past: Past): boolean {
  return momentsOf(life, past).some((moment) => isInWindow(moment, kind, past))
}

/**
 * Gateways restore data that they had reported to a store that lost it. A sum that only a crashed
 * gateway knew may be lost with it, unless another gateway has received the sum.
 */
function isSure(life: Life, kind: Kind, past: Past): boolean {
  const { mishaps } = past.plan
  const isLost = mishaps.some(({ what }) => what === 'flush' || what === 'failover')
  if (isLost && hasCrashed(life, past)) return false
  return momentsOf(life, past).every((moment) => isInWindow(moment, kind, past))
}

function hasCrashed({ id }: Life, { plan }: Pick<Past, 'plan'>): boolean {
  return plan.mishaps.some((one) => one.what === 'crash' && id.startsWith(`g${one.gateway}-`))
}

function overshoot(
  settled: number,
  unit: number,
  caps: readonly (number | undefined)[],
  past: Past,
): number {
  if (past.deeds.some(({ what }) => what === 'flushed')) return 0
  return settled - Math.max(...caps.map((cap) => (cap ?? Number.POSITIVE_INFINITY) / unit))
}

function answersOf({ lives, plan }: Past): string[] {
  const paused = plan.mishaps.reduce((sum, one) => sum + (one.what === 'pause' ? one.ms : 0), 0)
  return lives.flatMap((life) => {
    if (life.isForgotten) return []
    if (life.answeredAt === undefined) return [`${life.id} was never answered`]
    const waited = life.answeredAt - life.askedAt
    const problems = waited > ANSWER_MAX_MS + paused ? [`${life.id} waited ${waited} ms`] : []
    if (life.state === 'ended' && life.settledAt === undefined) {
      problems.push(`${life.id} was never settled`)
    }
    return problems
  })
}
