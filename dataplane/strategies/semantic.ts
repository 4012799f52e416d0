/** Easy prompts to one upstream, hard ones to another; each is the other's fallback. */
import type { Strategy } from './contract.ts'
import { builtinScore } from './difficulty.ts'

export const semantic: Strategy = {
  name: 'semantic',
  summary: 'Classifies the prompt; easy prompts go to a small model.',
  members({ semantic: sides }) {
    if (sides === undefined) return []
    return sides.easy === sides.hard ? [sides.easy] : [sides.easy, sides.hard]
  },
  order({ route, eligible, request, difficulty }) {
    const sides = route.semantic
    // Without a choice, the prompt need not be read.
    if (eligible.length < 2 || sides === undefined) return eligible
    const first = sides[sideOf(difficulty ?? builtinScore(request), sides.threshold)]
    return eligible[0]?.name === first ? eligible : eligible.toReversed()
  },
}

export function sideOf(score: number, threshold: number): 'easy' | 'hard' {
  return score >= threshold ? 'hard' : 'easy'
}
