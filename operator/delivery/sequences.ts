/** Numbers of documents: one more than the stored or seen ones, in realistic steps. */

/** A pod may have seen higher numbers than the stored one, as after a restored backup. */
const STEP_MAX = 1_000_000
/** Enough for one change a second for thirty thousand years; no operator counts further. */
const SEQUENCE_MAX = 2 ** 40

/** Whether an operator can have sent this number to a pod. Without a stored number, today's number says little. */
export function isBelievable(reported: number, stored: number): boolean {
  return reported <= (stored <= 1 ? SEQUENCE_MAX : stored + STEP_MAX)
}

/** A stored number above this bound counts as absent, so that the numbers start again. */
export function isCounted(sequence: number): boolean {
  return sequence <= SEQUENCE_MAX
}

export function nextSequence(stored: number | undefined, floor: number): number {
  return Math.max(stored !== undefined && isCounted(stored) ? stored : 0, floor) + 1
}
