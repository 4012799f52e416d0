/** A status of a stand-alone gateway or of one in a cluster. */

/** A status from one request. */
export interface Seen {
  readonly ready: boolean
  /** For programs. */
  readonly value: unknown
  /** The part whose change counts; times and running counters are not in it. */
  readonly essence: unknown
  /** The output of `-o name`. */
  readonly names: readonly string[]
  print(isWide: boolean): void
}
