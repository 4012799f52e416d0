/** How the cost of a request falls after the start of a gateway, from its processor time and the log of the load. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readProcessorTime } from './consumption.ts'
import { failuresOf, runLoad } from './load.ts'
import { median } from './medians.ts'

/** The compilers have finished most of their work by then. */
export const WARM_UP_REQUESTS = 50_000
const FIRST = 10_000
/** The end of the curve, and the part of it that one value describes. */
const END_SHARE = 0.2
const STEP = 1_000
const NEAR = 1.2
/** Thousands whose median is one value, because a collection of garbage makes single ones dearer. */
const NEIGHBOURS = 5
const SAMPLE_MS = 20
const SECONDS_MAX = 120

export interface WarmUp {
  /** Processor time of the first 10,000 requests, in seconds. */
  readonly firstSeconds: number
  /** Requests after which a request costs at most 1.2 times what it costs at the end, in the median of 5,000. */
  readonly settledAfter: number
  /** Microseconds of a request at the end. */
  readonly endUs: number
}

/** Nanoseconds of the monotonic clock, and of processor time. */
type Sample = readonly [at: number, runNs: number]

/** Loads a gateway that has served no request yet. */
export async function measureWarmUp(
  { pid, port }: { readonly pid: number; readonly port: number },
  program: string,
  requests = WARM_UP_REQUESTS,
): Promise<WarmUp> {
  const directory = mkdtempSync(join(tmpdir(), 'gw-warm-up-'))
  const log = join(directory, 'requests.log')
  const sample = (): Sample => [Number(process.hrtime.bigint()), readProcessorTime(pid).runNs]
  const samples = [sample()]
  const sampling = setInterval(() => samples.push(sample()), SAMPLE_MS)
  try {
    const connections = 64
    const limits = { seconds: SECONDS_MAX, requests, connections, logFile: log }
    const result = await runLoad({ program, port, ...limits })
    if (failuresOf(result) > 0 || result.requests < requests)
      throw new Error('Requests failed, or the machine is too slow.')
    samples.push(sample())
    return warmUpOf(samples, answersIn(log))
  } finally {
    clearInterval(sampling)
    rmSync(directory, { recursive: true })
  }
}

/** When each request was answered, in order. */
function answersIn(log: string): number[] {
  const lines = readFileSync(log, 'latin1').trimEnd().split('\n')
  return lines.map((line) => Number(line.split(' ')[1])).toSorted((one, other) => one - other)
}

/** `answers`: when each request was answered, in order. */
export function warmUpOf(samples: readonly Sample[], answers: readonly number[]): WarmUp {
  // Processor time at the start and after each thousand requests.
  const spent = [samples[0]?.[1] ?? 0]
  for (let count = STEP; count <= answers.length; count += STEP)
    spent.push(runNsAt(samples, answers[count - 1] ?? 0))
  const costs = spent.slice(1).map((ns, index) => (ns - (spent[index] ?? 0)) / STEP / 1e3)
  const endUs = median(costs.slice(Math.ceil(costs.length * (1 - END_SHARE))))
  const smooth = costs
    .slice(NEIGHBOURS - 1)
    .map((_, index) => median(costs.slice(index, index + NEIGHBOURS)))
  const lastDear = smooth.findLastIndex((cost) => cost > NEAR * endUs)
  return {
    firstSeconds: ((spent[FIRST / STEP] ?? Number.NaN) - (spent[0] ?? 0)) / 1e9,
    settledAfter: Math.max(1, lastDear + 1) * STEP,
    endUs,
  }
}

/** Between two samples the processor time grows evenly. */
function runNsAt(samples: readonly Sample[], at: number): number {
  const next = samples.findIndex(([sampledAt]) => sampledAt >= at)
  const [from, to] = [samples[next - 1], samples[next]]
  if (from === undefined || to === undefined) return samples.at(next === 0 ? 0 : -1)?.[1] ?? 0
  return from[1] + ((at - from[0]) / (to[0] - from[0])) * (to[1] - from[1])
}
