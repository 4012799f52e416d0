/**
 * The share of an upstream for each tenant that currently uses it: by weights, and never less than
 * guarantees.
 */
import type { FairnessSection } from '../../schema/fairness.ts'

/** `priority: low` has a fiftieth of its weight: near zero, but never without a turn. */
export const LOW_SHARE = 1 / 50

/** A tenant that currently uses the upstream. */
export interface Weighed {
  readonly tenant: string
  readonly isLow: boolean
}

interface Active {
  readonly weight: number
  /** From 0 to 1; zero: no guarantee. */
  readonly guarantee: number
  isRaised: boolean
}

type Settings = Pick<FairnessSection, 'weights' | 'default_weight' | 'guarantee'>

/**
 * Raises guarantees above the weights; the others share the rest by their weights. One factor
 * lowers all others, so a change of the active tenants costs as many steps as there are guarantees
 * in use.
 */
export class Weights {
  #weights: ReadonlyMap<string, number> = new Map()
  #guarantees: ReadonlyMap<string, number> = new Map()
  #defaultWeight = 1
  readonly #active = new Map<Weighed, Active>()
  readonly #guaranteed = new Set<Active>()
  #sum = 0
  #factor = 1

  configure({ weights, default_weight, guarantee }: Settings): void {
    this.#weights = new Map(Object.entries(weights))
    this.#guarantees = new Map(Object.entries(guarantee))
    this.#defaultWeight = default_weight
    const active = [...this.#active.keys()]
    this.#active.clear()
    this.#guaranteed.clear()
    this.#sum = 0
    for (const one of active) this.enter(one)
    if (active.length === 0) this.#balance()
  }

  /** The tenant begins to wait or to run. */
  enter(one: Weighed): void {
    const weight = this.#weightOf(one)
    const guarantee = this.#guarantees.get(one.tenant) ?? 0
    const entry = { weight, guarantee, isRaised: false }
    this.#active.set(one, entry)
    if (guarantee > 0) this.#guaranteed.add(entry)
    this.#sum += weight
    this.#balance()
  }

  /** The tenant has no waiting or running request any more. */
  leave(one: Weighed): void {
    const entry = this.#active.get(one)
    if (entry === undefined) return
    this.#active.delete(one)
    this.#guaranteed.delete(entry)
    this.#sum = this.#active.size === 0 ? 0 : this.#sum - entry.weight
    this.#balance()
  }

  /** The weight with guarantees; a tenant that is not active has only its weight. */
  of(one: Weighed): number {
    const entry = this.#active.get(one)
    if (entry === undefined) return this.#weightOf(one)
    return entry.isRaised ? entry.guarantee * this.#sum : entry.weight * this.#factor
  }

  /** The part of the upstream that the tenant may have now, from 0 to 1. */
  shareOf(one: Weighed): number {
    const weight = this.of(one)
    return weight / (this.#active.has(one) ? this.#sum : this.#sum + weight)
  }

  #weightOf({ tenant, isLow }: Weighed): number {
    const weight = this.#weights.get(tenant) ?? this.#defaultWeight
    return isLow ? weight * LOW_SHARE : weight
  }

  #balance(): void {
    this.#factor = 1
    if (this.#guaranteed.size === 0) return
    for (const one of this.#guaranteed) one.isRaised = false
    let [guarantees, weights] = [0, 0]
    for (let isStable = false; !isStable; ) {
      isStable = true
      for (const one of this.#guaranteed) {
        if (one.isRaised || one.weight * this.#factor >= one.guarantee * this.#sum) continue
        one.isRaised = true
        isStable = false
        guarantees += one.guarantee
        weights += one.weight
      }
      const others = this.#sum - weights
      this.#factor = others > 0 ? ((1 - guarantees) * this.#sum) / others : 1
    }
  }
}
