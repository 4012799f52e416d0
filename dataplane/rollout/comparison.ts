/**
 * Whether the new upstream is worse than the others, from the sums of both sides. A difference counts only if chance
 * hardly explains it: each test has an error of about 1 in 2,000, because it is repeated every second.
 */
import type { Margins } from '../config/routes/rollout.ts'
import { type Arm, countAbove, countOf, msOf, quantileOf } from './arm.ts'

export type Measure = 'errors' | 'ttft_p95' | 'cost' | 'finish_length'

/** `worse`: beyond the margin, and not by chance. `unsure`: beyond the margin, perhaps by chance. */
export type Standing = 'worse' | 'unsure' | 'well' | 'unknown'

export interface Comparison {
  readonly measure: Measure
  readonly standing: Standing
  /** For people: both values and the margin. */
  readonly text: string
}

/** Fewer requests of the new upstream prove nothing. */
export const REQUESTS_MIN = 20
/** One-sided error of 1 in 2,000. */
const Z = 3.29
const P95 = 0.95

export function compared(newer: Arm, others: Arm, margins: Margins): Comparison[] {
  return [
    ofShares('errors', 'failed requests', margins.errors, [
      { count: newer.failed, of: newer.requests },
      { count: others.failed, of: others.requests },
    ]),
    ...(margins.ttftP95 === undefined ? [] : [ofTimes(newer, others, margins.ttftP95)]),
    ...(margins.cost === undefined ? [] : [ofCosts(newer, others, margins.cost)]),
    ...(margins.finishLength === undefined
      ? []
      : [
          ofShares('finish_length', 'answers cut by length', margins.finishLength, [
            { count: newer.cutByLength, of: newer.finished },
            { count: others.cutByLength, of: others.finished },
          ]),
        ]),
  ]
}

interface Share {
  readonly count: number
  readonly of: number
}

/** The difference of two shares against a margin in percentage points: Newcombe's interval from Wilson's. */
function ofShares(
  measure: Measure,
  what: string,
  points: number,
  [newer, others]: readonly [Share, Share],
): Comparison {
  // Without other requests there is no failure to expect.
  const expected = others.of === 0 ? 0 : others.count / others.of
  const seen = newer.of === 0 ? 0 : newer.count / newer.of
  const text = `${what} ${percent(seen)} instead of ${percent(expected)}, with +${points} % allowed`
  if (newer.of < REQUESTS_MIN) return { measure, standing: 'unknown', text }
  const difference = seen - expected
  if (difference <= points / 100) return { measure, standing: 'well', text }
  const below = seen - wilson(newer).low
  const above = others.of === 0 ? 0 : wilson(others).high - expected
  const least = difference - Math.sqrt(below ** 2 + above ** 2)
  return { measure, standing: least > points / 100 ? 'worse' : 'unsure', text }
}

function wilson({ count, of }: Share): { readonly low: number; readonly high: number } {
  const share = count / of
  const scale = 1 + Z ** 2 / of
  const middle = (share + Z ** 2 / (2 * of)) / scale
  const half = (Z / scale) * Math.sqrt((share * (1 - share)) / of + Z ** 2 / (4 * of ** 2))
  return { low: Math.max(0, middle - half), high: Math.min(1, middle + half) }
}

/**
 * If the 95th percentile is within the margin, at most 5 % of the times are above it. The percentile of the others is
 * itself only known within bounds, and the upper one counts.
 */
function ofTimes(newer: Arm, others: Arm, margin: number): Comparison {
  const counts = [countOf(newer.streams), countOf(others.streams)] as const
  const [seen, expected] = [newer, others].map(({ streams }) => msOf(quantileOf(streams, P95)))
  const text =
    `ttft_p95 ${Math.round(seen ?? 0)} ms instead of ${Math.round(expected ?? 0)} ms, ` +
    `with +${margin} % allowed`
  if (counts[0] < REQUESTS_MIN || counts[1] < REQUESTS_MIN)
    return { measure: 'ttft_p95', standing: 'unknown', text }
  const spread = Z * Math.sqrt((P95 * (1 - P95)) / counts[1])
  const limit = (share: number) => bucketBeyond(quantileOf(others.streams, share), margin)
  const isBeyond = quantileOf(newer.streams, P95) > limit(P95)
  if (!isBeyond) return { measure: 'ttft_p95', standing: 'well', text }
  const above = countAbove(newer.streams, limit(Math.min(1, P95 + spread)))
  const isWorse = wilson({ count: above, of: counts[0] }).low > 1 - P95
  return { measure: 'ttft_p95', standing: isWorse ? 'worse' : 'unsure', text }
}

/** The bucket of the time that is longer by that percentage. */
function bucketBeyond(bucket: number, margin: number): number {
  return bucket + Math.ceil(Math.log1p(margin / 100) / Math.log(msOf(1)))
}

/** Welch's test of the mean against the mean of the others with the margin. */
function ofCosts(newer: Arm, others: Arm, margin: number): Comparison {
  const [seen, expected] = [meanOf(newer), meanOf(others)]
  const factor = 1 + margin / 100
  const text = `cost of a request ${dollars(seen.mean)} instead of ${dollars(expected.mean)}, with +${margin} % allowed`
  if (newer.costs < REQUESTS_MIN || others.costs < REQUESTS_MIN)
    return { measure: 'cost', standing: 'unknown', text }
  const difference = seen.mean - factor * expected.mean
  if (difference <= 0) return { measure: 'cost', standing: 'well', text }
  const error = Math.sqrt(seen.variance + factor ** 2 * expected.variance)
  return { measure: 'cost', standing: difference > Z * error ? 'worse' : 'unsure', text }
}

/** The mean, and the variance of the mean. */
function meanOf({ costs, cost, costSquares }: Arm) {
  if (costs === 0) return { mean: 0, variance: 0 }
  const mean = cost / costs
  return { mean, variance: Math.max(0, costSquares / costs - mean ** 2) / costs }
}

function percent(share: number): string {
  return `${Number((share * 100).toFixed(2))} %`
}

function dollars(micros: number): string {
  return `$${(micros / 1_000_000).toFixed(6)}`
}
