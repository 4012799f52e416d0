/** The positions that one scan of a JSON object's bytes finds, before parsing. */

export interface Found {
  /** Positions of the values of the top-level members, by name. */
  readonly spans: ReadonlyMap<string, Span>
  /** End by start of each string, list and object that is longer than a piece. */
  readonly long: ReadonlyMap<number, number>
  /** Longer values are parsed in several steps. */
  readonly pieceBytes: number
  /** A nested number may be one that a double prints differently. */
  readonly hasOddNumbers: boolean
}

/** The span of one top-level member's value in the body's bytes. */
export interface Span {
  readonly start: number
  readonly end: number
}
