/** The slowest requests of a load, and the work of the event loop while they waited. */
import type { Period, Profile } from './read.ts'
import type { Frame } from './stages.ts'

/** A sampler that comes this much later than it should had no processor: its process did not run. */
const LATE_INTERVALS = 5

const IDLE = 'nothing: waiting for upstream, store or network'

/** The first place with a frame in the stack is the cause. */
const CAUSES: readonly (readonly [RegExp, string])[] = [
  [/\/prom-client\/|telemetry\/(series|text-lines|metric-row|kept-texts)/, 'scrape of metrics'],
  [/\/dataplane\/(config|process|delivery|pod)\//, 'reload of the configuration'],
  [/upstream\/target\/(health|probe|queue-watch|asked-runtime|exposition)/, 'probes of upstreams'],
  [/store\/.*(usage-rollup|usage-journal|journal)|\/dataplane\/usage\//, 'usage'],
  [/telemetry\/(log|line-sink|otlp|tracing)|sonic-boom/, 'logs and traces'],
  [/limits\/leases/, 'renewal of leases'],
  [/\/dataplane\//, 'requests'],
]

export interface Waits {
  /** Microseconds in which other processes had the core. */
  readonly takenUs: number
  /** Microseconds by cause, of all slow requests together. */
  readonly byCause: ReadonlyMap<string, number>
  /** The same by function, without callees. */
  readonly byFunction: ReadonlyMap<string, number>
}

/** The times in which the process was ready or asleep, without samples. */
export function takenFrom(profile: Profile, intervalUs: number): readonly Period[] {
  const taken: Period[] = []
  let now = profile.startTime
  for (const deltaUs of profile.timeDeltas) {
    const toUs = now + deltaUs - intervalUs
    if (deltaUs > LATE_INTERVALS * intervalUs) taken.push({ fromUs: now, toUs })
    now += deltaUs
  }
  return taken
}

/**
 * The share of requests that waited longest, without time that other processes took; a line has two times in
 * nanoseconds.
 */
export function slowestOf(log: string, share: number, taken: readonly Period[]): readonly Period[] {
  const ownOf = (one: Period) =>
    lengthOf(one) - taken.reduce((sum, { fromUs, toUs }) => sum + overlap(one, fromUs, toUs), 0)
  const periods = log
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [from = 0, to = 0] = line.split(' ').map(Number)
      return { fromUs: from / 1_000, toUs: to / 1_000 }
    })
  const count = Math.max(1, Math.floor(periods.length * share))
  return periods
    .map((one) => ({ one, own: ownOf(one) }))
    .toSorted((one, other) => other.own - one.own)
    .slice(0, count)
    .map(({ one }) => one)
}

export function lengthOf({ fromUs, toUs }: Period): number {
  return toUs - fromUs
}

/** A sample represents the time since the previous one. */
export function waitsOf(profile: Profile, slow: readonly Period[], intervalUs: number): Waits {
  const frames = new Map(profile.nodes.map((node) => [node.id, node]))
  const parents = new Map(
    profile.nodes.flatMap(({ id, children = [] }) => children.map((one) => [one, id])),
  )
  const stackOf = (sample: number): readonly Frame[] => {
    const stack: Frame[] = []
    for (let id: number | undefined = sample; id !== undefined; id = parents.get(id)) {
      const node = frames.get(id)
      if (node !== undefined) stack.push(node.callFrame)
    }
    return stack
  }
  const [byCause, byFunction] = [new Map<string, number>(), new Map<string, number>()]
  const add = (sums: Map<string, number>, name: string, us: number) =>
    sums.set(name, (sums.get(name) ?? 0) + us)
  let takenUs = 0
  let now = profile.startTime
  for (const [index, sample] of profile.samples.entries()) {
    const before = now
    now += profile.timeDeltas[index] ?? 0
    const stack = stackOf(sample)
    // Late samples show the work at their end; the time before that belongs to another process.
    const ranFrom = now - before > LATE_INTERVALS * intervalUs ? now - intervalUs : before
    for (const one of slow) {
      takenUs += overlap(one, before, ranFrom)
      const us = overlap(one, ranFrom, now)
      if (us === 0) continue
      add(byCause, causeOf(stack), us)
      add(byFunction, nameOf(stack[0]), us)
    }
  }
  return { takenUs, byCause, byFunction }
}

function overlap({ fromUs, toUs }: Period, from: number, to: number): number {
  return Math.max(0, Math.min(toUs, to) - Math.max(fromUs, from))
}

function causeOf(stack: readonly Frame[]): string {
  const [top] = stack
  if (top?.functionName === '(garbage collector)') return 'collection of garbage'
  if (top?.functionName === '(idle)') return IDLE
  const found = CAUSES.find(([place]) => stack.some(({ url }) => place.test(url)))
  return found?.[1] ?? 'runtime'
}

function nameOf(frame: Frame | undefined): string {
  if (frame === undefined) return 'unknown'
  const file = frame.url.split('/').slice(-2).join('/')
  return `${frame.functionName || '(anonymous)'}${file === '' ? '' : ` ${file}:${frame.lineNumber + 1}`}`
}
