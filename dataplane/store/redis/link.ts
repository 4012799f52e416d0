/** The connection that the shared store needs: one script, one round trip, an answer or StoreAway. */

export interface Script {
  /** Short, for metrics and messages. */
  readonly name: string
  /** Contains no values, which are sent as arguments, so that a server stores one copy of each script. */
  readonly lua: string
}

export interface Link {
  /**
   * Runs a script in one round trip. Rejects with StoreAway if the store does not answer within its deadline. All keys
   * share one {tenant} hash tag.
   */
  run(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>
}

export type AwayReason =
  | 'timeout'
  | 'connection'
  | 'readonly'
  | 'oom'
  | 'noperm'
  /** Not sent, because the breaker is open. */
  | 'open'
  | 'other'

/** The store gave no answer. */
export class StoreAway extends Error {
  readonly reason: AwayReason
  /** Whether the script may have run, now or later, although its answer is missing. */
  readonly maybeApplied: boolean

  constructor(reason: AwayReason, maybeApplied: boolean, options?: ErrorOptions) {
    super(`The shared store is away: ${reason}.`, options)
    this.name = 'StoreAway'
    this.reason = reason
    this.maybeApplied = maybeApplied
  }
}
