/** The promises that hold in every history. */

import type { BudgetRule, Figures } from '../../dataplane/accounts/store.ts'
import { dayOf, monthOf } from '../../dataplane/accounts/windows.ts'
import { type Life, NANOS_PER_TOKEN } from './life.ts'
import { needlessRefusals } from './needless-refusals.ts'
import { DEADLINE_MS } from './network.ts'
import { hasCrashed, type Past, rulesOf, SLICES } from './past.ts'
import { HISTORY_MS } from './plan.ts'
import { ratedOf, rateOf, sharesOf, slotsOf } from './rate-promises.ts'

/** A decision may need its script to be sent again, or wait for slices that others return and ask twice more. */
const ANSWER_MAX_MS = 3 * DEADLINE_MS + 40

/** Empty if every promise was kept. */
export function problemsOf(past: Past): string[] {
  return [
    ...ratedOf(past).flatMap((rated) => [
      ...rateOf(rated, past),
      ...slotsOf(rated, past),
      ...sharesOf(rated, past),
    ]),
    ...past.standing.flatMap((one) => [...heldOf(one), ...booksOf(one, past)]),
    ...answersOf(past),
    ...needlessRefusals(past.plan, past.lives),
  ]
}

type Standing = Past['standing'][number]

function heldOf({ tenant, gateway, figures }: Standing): string[] {
  const held = {
    slots: figures.concurrency.used,
    tokens: figures.tokens?.reserved ?? 0,
    nanos: figures.spend?.reserved ?? 0,
    ...Object.fromEntries(
      (figures.scoped ?? []).map(({ scope, tokens, spend, concurrency }) => [
        scope.id,
        (tokens?.reserved ?? 0) + (spend?.reserved ?? 0) + (concurrency?.used ?? 0),
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
  readonly kinds: readonly Kind[]
  /** The possible charge for a request in the store, and the part without reserved room. */
  readonly chargeOf: (life: Life) => Life['chargedBeside']
}

/** The tenant's counter, and those of its other budgets. */
function countersOf({ tenant, gateway, figures }: Standing, past: Past): Counter[] {
  const mine = past.lives.filter(({ plan }) => plan.tenant === tenant)
  const { shared, ofKey, limited } = past.plan
  const capOf = { group: shared, key: ofKey, limit: limited?.rule }
  return [
    {
      ...figures,
      name: tenant,
      gateway,
      lives: mine,
      caps: rulesOf(past).map((one) => one.budget),
      kinds: KINDS,
      chargeOf: ({ charged: least, chargedMost: most, excess }) => ({ least, most, excess }),
    },
    ...(figures.scoped ?? []).map(({ scope, ...one }) => ({
      ...one,
      name: scope.id,
      gateway,
      lives: scope.kind === 'key' ? mine : past.lives,
      caps: [capOf[scope.kind]],
      // The store keeps no money of a limit of tokens.
      kinds: scope.kind === 'limit' ? (['tokens'] as const) : KINDS,
      chargeOf: (life: Life) => life.chargedBeside,
    })),
  ]
}

/** The settled amount equals the used one, and no budget is exceeded by more than one request. */
function booksOf(one: Standing, past: Past): string[] {
  return countersOf(one, past).flatMap((counter) => bookOf(counter, past))
}

function bookOf(
  { name, gateway, lives, caps, kinds, chargeOf, ...figures }: Counter,
  past: Past,
): string[] {
  const problems: string[] = []
  for (const kind of KINDS) {
    if (!kinds.includes(kind)) continue
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

const KINDS = ['tokens', 'spend'] as const

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
    if (life.state === 'ended' && !life.isCharge && life.settledAt === undefined) {
      problems.push(`${life.id} was never settled`)
    }
    return problems
  })
}
