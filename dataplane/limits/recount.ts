/** Replaces upper bounds of prompts by counts if a decision depends on the held amounts. */

import { isBudgeted } from '../accounts/rules.ts'
import type { Amount, BudgetFigure, Figures, Soon } from '../accounts/store.ts'
import type { PromptTokens } from '../tokens/counter.ts'
import type { Lanes, Target } from '../upstream/live/targets.ts'
import { laneOf } from '../upstream/named/lanes.ts'
import { type Offer, offerOf, type Wish } from './offer.ts'
import type { LimitParts } from './parts.ts'
import { type Quote, quoteOf } from './quote.ts'
import type { Refused } from './refusal.ts'

/** Most recounts for one request; meanwhile the store may admit others by upper bounds. */
export const RECOUNTS_MAX = 3

/**
 * A refusal for lack of tokens or money may result from upper bounds. Decides again with counts, of the request and of
 * those that run in this process under the same budgets. Undefined if no upper bound is involved.
 */
export function recounted(
  { by }: Refused,
  wish: Wish,
  offers: readonly (Offer | undefined)[],
  lanes: Lanes,
  { leases }: Pick<LimitParts, 'leases'>,
): Promise<Quote> | undefined {
  if (by === 'rpm' || by === 'concurrency') return undefined
  const { caller, rules, quote } = wish
  const waits: Promise<unknown>[] = []
  const others = leases.recount(caller.tenant, rules)
  if (others !== undefined) waits.push(others)
  // A budget depends on the holds of other requests; the rate depends only on the request itself.
  const isBound = by === 'tpm' && offers.some((offer) => offer?.quote.countedBy === 'upper bound')
  if (isBound && quote.tokens !== undefined) waits.push(countAll(quote.tokens, offers, lanes))
  if (waits.length === 0) return undefined
  return Promise.all(waits).then(() => requoted(wish, lanes))
}

async function countAll(
  tokens: PromptTokens,
  offers: readonly (Offer | undefined)[],
  lanes: Lanes,
): Promise<void> {
  const targets = offers.flatMap((offer): readonly Target[] =>
    offer === undefined ? [] : laneOf(offer.route, lanes).targets,
  )
  await tokens.count(targets)
}

function requoted({ request, route, rules, quote }: Wish, lanes: Lanes): Soon<Quote> {
  if (quote.tokens === undefined) return quote
  return quoteOf(request, laneOf(route, lanes), isBudgeted(rules) ? route : undefined, quote.tokens)
}

/** The hold by count of a request that was admitted by an upper bound. */
export function countedEstimate({ route, quote }: Offer, wish: Wish, lanes: Lanes): Soon<Amount> {
  const { tokens } = quote
  const targets = laneOf(route, lanes).targets
  const estimate = () => {
    const counted = { ...quote, estimated: tokens?.mostEstimated(targets) }
    return offerOf(route, counted, wish, lanes).estimate
  }
  const counting = tokens?.count(targets)
  return counting === undefined ? estimate() : counting.then(estimate)
}

/**
 * Whether the held amount would not fit the budget a second time. Other processes cannot recount the requests of this
 * one, so near its end a shared budget is held by counts.
 */
export function isNear({ tokens, spend, scoped = [] }: Figures): boolean {
  return (
    isAlmostHeld(tokens) ||
    isAlmostHeld(spend) ||
    scoped.some((one) => isAlmostHeld(one.tokens) || isAlmostHeld(one.spend))
  )
}

function isAlmostHeld(figure: BudgetFigure | undefined): boolean {
  return figure !== undefined && figure.settled + 2 * figure.reserved >= figure.limit
}
