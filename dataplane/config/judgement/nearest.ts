/** Finds the name that the user probably meant. */

/** Names longer than this are not compared: the cost grows with the product of the lengths. */
const COMPARED_LENGTH_MAX = 40
/** Most comparisons for one document; a document with more misspelt names has another problem. */
export const COMPARISONS_MAX = 1_000
/** Most candidates to consider, including those that are skipped because of their length. */
const LOOKS_MAX = 100_000

/** Comparisons that one document may use, for all its names together. */
export class Suggestions {
  /** Comparisons so far. */
  comparisons = 0
  #looks = 0

  /** `; did you mean "single"?`, or nothing when no candidate is near. */
  didYouMean(written: string, candidates: Iterable<string>): string {
    const name = this.nearest(written, candidates)
    return name === undefined ? '' : `; did you mean "${name}"?`
  }

  nearest(written: string, candidates: Iterable<string>): string | undefined {
    if (written.length > COMPARED_LENGTH_MAX) return undefined
    const farthest = Math.max(1, Math.floor(written.length / 3))
    let best: string | undefined
    let bestDistance = farthest + 1
    for (const candidate of candidates) {
      if (this.comparisons >= COMPARISONS_MAX || this.#looks >= LOOKS_MAX) break
      this.#looks += 1
      // The difference in length is the least number of changes.
      const isTooFar = Math.abs(candidate.length - written.length) >= bestDistance
      if (isTooFar || candidate.length > COMPARED_LENGTH_MAX) continue
      this.comparisons += 1
      const distance = editDistance(written.toLowerCase(), candidate.toLowerCase())
      if (distance < bestDistance) {
        best = candidate
        bestDistance = distance
      }
    }
    return best
  }
}

/** Insertions, deletions, replacements and swaps of neighbours that turn one word into the other. */
function editDistance(left: string, right: string): number {
  let before: number[] = []
  let above = Array.from({ length: right.length + 1 }, (_, column) => column)
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= right.length; column += 1) {
      const same = left[row - 1] === right[column - 1]
      const replaced = at(above, column - 1) + (same ? 0 : 1)
      const grown = Math.min(at(above, column), at(current, column - 1)) + 1
      const isSwap =
        row > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1]
      const swapped = isSwap ? at(before, column - 2) + 1 : Number.POSITIVE_INFINITY
      current.push(Math.min(replaced, grown, swapped))
    }
    before = above
    above = current
  }
  return at(above, right.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY
}
