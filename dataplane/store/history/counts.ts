/** The counts of a route, a tenant or an upstream: amounts, and how long answers took. */
import { BUCKETS } from '../../telemetry/series.ts'

/** Failed requests are counted by whose fault it was; the rest of `requests` succeeded. */
export const FAULTS = ['client', 'limit', 'upstream', 'gateway', 'left'] as const
export type Blame = (typeof FAULTS)[number]

export const AMOUNTS = [
  'requests',
  ...FAULTS,
  'input_tokens',
  'output_tokens',
  'cost_nano_usd',
] as const
export type AmountName = (typeof AMOUNTS)[number]

/** One more than the bounds, for what took longer. */
export const TIMES = BUCKETS.length + 1
export const WHOLE_AT = AMOUNTS.length
export const FIRST_AT = WHOLE_AT + TIMES
const WIDTH = FIRST_AT + TIMES

/** The amounts, then the buckets of whole answers, then those of first tokens. */
export type Counts = Float64Array

export function noCounts(): Counts {
  return new Float64Array(WIDTH)
}

export function bump(counts: Counts, index: number, by = 1): void {
  counts[index] = (counts[index] ?? 0) + by
}

export function addTo(sum: Counts, more: Counts): void {
  for (let at = 0; at < WIDTH; at++) bump(sum, at, more[at])
}

const INDEX = Object.fromEntries(AMOUNTS.map((name, index) => [name, index]))

export function indexOf(name: AmountName): number {
  return INDEX[name] ?? 0
}

/** The last sign of a bucket: its upper bound, in seconds. */
export function bucketOf(seconds: number): number {
  let bucket = 0
  while (bucket < BUCKETS.length && seconds > (BUCKETS[bucket] as number)) bucket++
  return bucket
}
