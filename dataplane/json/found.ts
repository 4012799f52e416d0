/** The places that one reading of a JSON object's bytes finds, before anything is parsed. */

export interface Found {
  /** Where the values of the top-level members stand, by name. */
  readonly spans: ReadonlyMap<string, Span>
  /** End by start of each string, list and object that is longer than a piece. */
  readonly long: ReadonlyMap<number, number>
  /** Longer values are parsed in several steps. */
  readonly pieceBytes: number
  /** A nested number may be one that a double prints in another way. */
  readonly hasOddNumbers: boolean
}

/** The span of one top-level member's value in the body's bytes. */
export interface Span {
  readonly start: number
  readonly end: number
}
