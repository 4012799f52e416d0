/** What either kind of gateway gives when its status is asked for. */

/** A status that has been asked for. */
export interface Seen {
  readonly ready: boolean
  /** For programs. */
  readonly value: unknown
  /** What counts as a change; times and counters that always run do not. */
  readonly essence: unknown
  print(): void
}
