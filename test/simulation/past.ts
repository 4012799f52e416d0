/** All that happened in a history, as the promises look at it. */
import type { Figures, Rules } from '../../dataplane/accounts/store.ts'
import type { Claimed } from './backend.ts'
import type { Life } from './life.ts'
import type { Plan } from './plan.ts'

/** The store's decisions, in its order and by its clock. */
export type Deed =
  /** Settled in the account of the tenant, or in that of the limit, which a call may reach earlier. */
  | {
      readonly what: 'admitted' | 'settled' | 'settledInLimit'
      readonly life: Life
      readonly at: number
    }
  | { readonly what: 'renewed'; readonly life: Life; readonly at: number; readonly used: number }
  | (Claimed & { readonly what: 'claimed'; readonly at: number })
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

/** Slices contain at most a fiftieth of a counter, and one unit of a small counter. */
export const SLICES = 0.02

/** All rules that were in force at some time. */
export function rulesOf({ plan }: Past): readonly Rules[] {
  return [plan.rules, ...plan.mishaps.flatMap((one) => (one.what === 'rules' ? [one.rules] : []))]
}

export function hasCrashed({ id }: Life, { plan }: Pick<Past, 'plan'>): boolean {
  return plan.mishaps.some((one) => one.what === 'crash' && id.startsWith(`g${one.gateway}-`))
}
