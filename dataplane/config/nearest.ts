/** The name somebody probably meant. */

/** Names longer than this are not compared: the cost grows with the product of the lengths. */
const COMPARED_LENGTH_MAX = 100

/** `; did you mean "single"?`, or nothing when no candidate is near. */
export function didYouMean(written: string, candidates: Iterable<string>): string {
  const name = nearest(written, candidates)
  return name === undefined ? '' : `; did you mean "${name}"?`
}

export function nearest(written: string, candidates: Iterable<string>): string | undefined {
  const farthest = Math.max(1, Math.floor(written.length / 3))
  let best: string | undefined
  let bestDistance = farthest + 1
  for (const candidate of candidates) {
    // Each letter that one has more than the other is a change.
    if (Math.abs(candidate.length - written.length) >= bestDistance) continue
    const distance = editDistance(written.toLowerCase(), candidate.toLowerCase())
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** Insertions, deletions, replacements and swaps of neighbours that turn one word into the other. */
export function editDistance(left: string, right: string): number {
  if (Math.max(left.length, right.length) > COMPARED_LENGTH_MAX) return Number.POSITIVE_INFINITY
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
