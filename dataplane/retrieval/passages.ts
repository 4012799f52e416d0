/** Passages that a store found for a request: the kept ones, and why others are left out. */
import type { ShownPassage } from '../telemetry/shown-passage.ts'

/** A passage with its text, which traces omit. */
export interface Passage extends ShownPassage {
  readonly text: string
}

export function shownPassage({ text: _, ...passage }: Passage): ShownPassage {
  return passage
}

/**
 * Leaves out whole passages until the kept ones fit: first those that are too long by themselves, then the one with the
 * lowest score.
 */
export function dropLowest(
  passages: readonly Passage[],
  tokensMax: number,
  reason: NonNullable<Passage['reason']>,
): void {
  const drop = (passage: Passage) => {
    passage.kept = false
    passage.reason = reason
  }
  for (const passage of keptOf(passages)) if (passage.tokens > tokensMax) drop(passage)
  const kept = keptOf(passages).toSorted((one, other) => other.score - one.score)
  let tokens = tokensOf(kept)
  while (tokens > tokensMax) {
    // Without any passage the sum is 0.
    const lowest = kept.pop() as Passage
    tokens -= lowest.tokens
    drop(lowest)
  }
}

export function keptOf(passages: readonly Passage[]): Passage[] {
  return passages.filter(({ kept }) => kept)
}

function tokensOf(passages: readonly Passage[]): number {
  return passages.reduce((sum, { tokens }) => sum + tokens, 0)
}
