/** A status as it was read, of a stand-alone gateway or of one in a cluster. */

/** A status that has been asked for. */
export interface Seen {
  readonly ready: boolean
  /** For programs. */
  readonly value: unknown
  /** The part that counts as a change; times and counters that always run do not. */
  readonly essence: unknown
  /** What `-o name` prints. */
  readonly names: readonly string[]
  print(isWide: boolean): void
}
