/** Numbers of documents: one more than what is stored or seen, in steps that a gateway can have made. */

/** What a pod may have seen beyond what is stored, as after a restored backup. */
const STEP_MAX = 1_000_000
/** A change a second for thirty thousand years: what is above was not counted. */
const SEQUENCE_MAX = 2 ** 40

/** Whether a pod can have been sent this by an operator. Where nothing was stored, what is stored now says little. */
export function isBelievable(reported: number, stored: number): boolean {
  return reported <= (stored <= 1 ? SEQUENCE_MAX : stored + STEP_MAX)
}

/** A stored number that nobody can have counted to is as good as none: the numbers begin anew. */
export function isCounted(sequence: number): boolean {
  return sequence <= SEQUENCE_MAX
}

export function nextSequence(stored: number | undefined, floor: number): number {
  return Math.max(stored !== undefined && isCounted(stored) ? stored : 0, floor) + 1
}
