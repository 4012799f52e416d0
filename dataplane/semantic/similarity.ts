/**
 * How hard a prompt is by its meaning: a fixed function of the cosine similarities between its vector and those of easy
 * and hard exemplars. The similarity to a side is the mean over its three nearest exemplars, and
 *
 *     score = 1 / (1 + e^(−12 × (similarity to hard − similarity to easy)))
 *
 * So a prompt that is as near to one side as to the other scores 0.5, and one that is nearer to the hard side by 0.1
 * scores 0.77.
 */

const NEAREST = 3
const STEEPNESS = 12

export interface Sides {
  /** Vectors of length 1. */
  readonly easy: readonly Float32Array[]
  readonly hard: readonly Float32Array[]
}

/** undefined if the vectors cannot be compared. */
export function scoreOf(vector: Float32Array, { easy, hard }: Sides): number | undefined {
  const prompt = ofLengthOne(vector)
  if ([...easy, ...hard].some(({ length }) => length !== prompt.length)) return undefined
  const lead = similarity(prompt, hard) - similarity(prompt, easy)
  return 1 / (1 + Math.exp(-STEEPNESS * lead))
}

/** The same direction; a vector of zeros has none and does not change. */
export function ofLengthOne(vector: Float32Array): Float32Array {
  const length = Math.sqrt(dot(vector, vector))
  return length === 0 ? vector : vector.map((value) => value / length)
}

function similarity(prompt: Float32Array, exemplars: readonly Float32Array[]): number {
  const nearest = exemplars
    .map((exemplar) => dot(prompt, exemplar))
    .sort((one, other) => other - one)
    .slice(0, NEAREST)
  return nearest.reduce((sum, one) => sum + one, 0) / nearest.length
}

function dot(one: Float32Array, other: Float32Array): number {
  let sum = 0
  for (let at = 0; at < one.length; at++) sum += (one[at] ?? 0) * (other[at] ?? 0)
  return sum
}
