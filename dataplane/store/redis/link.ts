/** The connection of the shared store as it needs it: one script, one round trip, an answer or a clear "away". */

export interface Script {
  /** Short, for metrics and messages. */
  readonly name: string
  /** Never has a value in it: those go as arguments, so that a server keeps one copy of each script. */
  readonly lua: string
}

export interface Link {
  /**
   * Runs a script in one round trip. Rejects with StoreAway when the store cannot answer within its deadline. All keys
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
  /** Not asked at all: the breaker is open. */
  | 'open'
  | 'other'

/** The store gave no answer. */
export class StoreAway extends Error {
  readonly reason: AwayReason
  /** Whether the script may have run all the same, now or later: its answer is what is missing. */
  readonly maybeApplied: boolean

  constructor(reason: AwayReason, maybeApplied: boolean, options?: ErrorOptions) {
    super(`The shared store is away: ${reason}.`, options)
    this.name = 'StoreAway'
    this.reason = reason
    this.maybeApplied = maybeApplied
  }
}
