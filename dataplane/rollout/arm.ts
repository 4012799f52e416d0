/** The sums of finished requests on one side of a rollout. Sums of several replicas add up. */
import { isRecord } from '../json/values.ts'

/** The result of one finished request, as sums take it. */
export interface Sample {
  readonly isFailed: boolean
  /** Milliseconds from the attempt to the first content of a stream, or to the whole answer; undefined: it failed. */
  readonly firstMs: number | undefined
  readonly isStream: boolean
  readonly costNanos: number | undefined
  /** Whether the answer ended at a limit of tokens; undefined: it has no finish reason. */
  readonly isCutByLength: boolean | undefined
}

/** Counts by bucket of time; only buckets with counts. */
export type Times = Readonly<Record<string, number>>

export interface Arm {
  readonly requests: number
  readonly failed: number
  readonly streams: Times
  readonly answers: Times
  readonly costs: number
  readonly cost: number
  /** Sum of squares, in micro-dollars so that it stays exact enough. */
  readonly costSquares: number
  readonly finished: number
  readonly cutByLength: number
}

export const NO_REQUESTS: Arm = {
  requests: 0,
  failed: 0,
  streams: {},
  answers: {},
  costs: 0,
  cost: 0,
  costSquares: 0,
  finished: 0,
  cutByLength: 0,
}

/** Each bucket is 5 % longer than the one before, so a quantile is exact to 5 %. */
const GROWTH = 1.05
const BUCKET_MAX = 300

export function bucketOf(ms: number): number {
  return Math.min(BUCKET_MAX, Math.max(0, Math.ceil(Math.log(Math.max(1, ms)) / Math.log(GROWTH))))
}

/** The longest time of a bucket. */
export function msOf(bucket: number): number {
  return GROWTH ** bucket
}

export function withSample(arm: Arm, sample: Sample): Arm {
  const { isFailed, firstMs, isStream, costNanos, isCutByLength } = sample
  const timed = firstMs === undefined ? {} : { [bucketOf(firstMs)]: 1 }
  const micros = (costNanos ?? 0) / 1000
  return added(arm, {
    requests: 1,
    failed: isFailed ? 1 : 0,
    streams: isStream ? timed : {},
    answers: isStream ? {} : timed,
    costs: costNanos === undefined ? 0 : 1,
    cost: micros,
    costSquares: micros * micros,
    finished: isCutByLength === undefined ? 0 : 1,
    cutByLength: isCutByLength === true ? 1 : 0,
  })
}

export function added(one: Arm, other: Arm): Arm {
  return {
    requests: one.requests + other.requests,
    failed: one.failed + other.failed,
    streams: addedTimes(one.streams, other.streams),
    answers: addedTimes(one.answers, other.answers),
    costs: one.costs + other.costs,
    cost: one.cost + other.cost,
    costSquares: one.costSquares + other.costSquares,
    finished: one.finished + other.finished,
    cutByLength: one.cutByLength + other.cutByLength,
  }
}

function addedTimes(one: Times, other: Times): Times {
  const sum: Record<string, number> = { ...one }
  for (const [bucket, count] of Object.entries(other)) sum[bucket] = (sum[bucket] ?? 0) + count
  return sum
}

export function countOf(times: Times): number {
  return Object.values(times).reduce((sum, count) => sum + count, 0)
}

/** The bucket below which that share of the times is; 0 without times. */
export function quantileOf(times: Times, share: number): number {
  const wanted = Math.ceil(countOf(times) * share)
  const buckets = Object.keys(times).map(Number)
  let seen = 0
  for (const bucket of buckets.toSorted((a, b) => a - b)) {
    seen += times[bucket] ?? 0
    if (seen >= wanted) return bucket
  }
  return 0
}

export function countAbove(times: Times, bucket: number): number {
  return Object.entries(times).reduce(
    (sum, [one, count]) => (Number(one) > bucket ? sum + count : sum),
    0,
  )
}

/** Sums as a store keeps them; undefined if they cannot be trusted. */
export function readArm(value: unknown): Arm | undefined {
  if (!isRecord(value)) return undefined
  const { streams, answers, ...rest } = value
  if (!areCounts(streams) || !areCounts(answers)) return undefined
  const sums: Record<string, number> = {}
  for (const name of SUMS) {
    const sum = rest[name]
    if (typeof sum !== 'number' || !Number.isFinite(sum) || sum < 0) return undefined
    sums[name] = sum
  }
  return { ...(sums as unknown as Arm), streams, answers }
}

const SUMS = Object.keys(NO_REQUESTS).filter((name) => name !== 'streams' && name !== 'answers')

function areCounts(value: unknown): value is Times {
  return isRecord(value) && Object.values(value).every((one) => Number.isSafeInteger(one))
}
