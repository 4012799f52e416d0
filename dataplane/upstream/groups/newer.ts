/** The new upstream of a rollout: which requests it gets, and how long it may take to begin an answer. */
import type { Route } from '../../config/snapshot.ts'
import type { ModelRequest } from '../../wire/inner-form.ts'
import type { Client } from '../endpoints/affinity-key.ts'

export interface RolloutTargets<T> {
  readonly newer: T
  /** Those of the other requests. */
  readonly others: readonly T[]
}

export function rolloutOf<T extends { readonly name: string }>(
  { rollout }: Pick<Route, 'rollout'>,
  targets: readonly T[],
): RolloutTargets<T> | undefined {
  const newer = rollout && targets.find(({ name }) => name === rollout.to)
  return newer && { newer, others: targets.filter((target) => target !== newer) }
}

export interface AskedRequest {
  readonly route: Pick<Route, 'name' | 'rollout'>
  readonly request: ModelRequest
  readonly tenant: string
  readonly client: Client | undefined
}

/** The present shares of rollouts. */
export interface Shares {
  /** Whether the new upstream gets the request first. */
  isNewer(asked: AskedRequest): boolean
  /** Longest time until its answer begins; undefined: only its own limits apply. */
  patienceMs(route: string, isStream: boolean): number | undefined
}
