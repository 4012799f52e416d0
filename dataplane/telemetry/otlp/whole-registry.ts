/** The metrics of all processes of a gateway as those of one. */
import { Registry } from 'prom-client'

type SeriesLabels = Readonly<Record<string, string | number>>

interface Value {
  readonly labels?: SeriesLabels
  readonly sharedLabels?: SeriesLabels
  readonly metricName?: string
  readonly value: number
}

/** The result of `get()` of prom-client's families. */
export interface Read {
  readonly name: string
  readonly type: string
  readonly aggregator: string
  readonly values: readonly Value[]
}

/** The other processes. */
interface Workers {
  ask<Body>(
    subject: string,
    what: unknown,
  ): Promise<readonly { readonly pid: number; readonly body: Body }[]>
  list(): readonly { readonly pid: number }[]
}

interface Readable {
  readonly name: string
  get(): Promise<Read>
}

/** The subject of a worker's answer. */
export const METRICS = 'metrics'

/** Families that are read in one scrape share an answer of the workers. */
const SHARED_MS = 20

/** Gauges that count what runs or waits; of the others, processes show the same value or the worst one counts. */
const ADDED = new Set([
  ...['gw_requests_in_flight', 'gw_streams_open', 'gw_console_viewers'],
  ...['gw_upstream_in_flight', 'gw_upstream_waiting', 'gw_fairness_waiting'],
  ...['gw_usage_rows', 'gw_usage_events_waiting', 'gw_store_settlements_waiting'],
  ...['gw_store_slices', 'gw_store_slice_accounts'],
])
/** 0 is the worse value. */
const LEAST = new Set([
  ...['gw_upstream_healthy', 'gw_upstream_credential_valid', 'gw_store_up', 'gw_route_verified'],
])

export async function readAll(registry: Registry): Promise<Read[]> {
  const families = registry.getMetricsAsArray() as unknown as readonly Readable[]
  return await Promise.all(families.map((family) => family.get()))
}

/** A registry that reads the workers, too. Counters keep the counts of an ended worker. */
export function registryOfAll(own: Registry, crew: Workers): Registry {
  const all = new Registry()
  const others = new Others(crew)
  for (const family of own.getMetricsAsArray() as unknown as readonly Readable[]) {
    const get = async () => {
      const [mine, theirs] = await Promise.all([family.get(), others.read()])
      return mergedRead([mine, ...theirs.flatMap((reads) => reads.get(family.name) ?? [])])
    }
    all.registerMetric({ name: family.name, get } as never)
  }
  return all
}

type Reads = ReadonlyMap<string, Read>

class Others {
  readonly #crew: Workers
  #last = new Map<number, Reads>()
  #ended: Reads = new Map()
  #current: Promise<Reads[]> | undefined

  constructor(crew: Workers) {
    this.#crew = crew
  }

  read(): Promise<Reads[]> {
    this.#current ??= this.#ask().finally(() => {
      setTimeout(() => {
        this.#current = undefined
      }, SHARED_MS).unref()
    })
    return this.#current
  }

  async #ask(): Promise<Reads[]> {
    const answers = await this.#crew.ask<Read[]>(METRICS, undefined)
    const fresh = new Map(answers.map(readsOf))
    const living = new Set(this.#crew.list().map(({ pid }) => pid))
    for (const [pid, reads] of this.#last) {
      if (fresh.has(pid)) continue
      // One that is too busy to answer keeps its last figures.
      if (living.has(pid)) fresh.set(pid, reads)
      else this.#retire(reads)
    }
    this.#last = fresh
    return [...fresh.values(), this.#ended]
  }

  #retire(reads: Reads): void {
    const ended = new Map(this.#ended)
    for (const read of reads.values()) {
      if (read.type === 'gauge') continue
      const before = ended.get(read.name)
      ended.set(read.name, mergedRead(before === undefined ? [read] : [before, read]))
    }
    this.#ended = ended
  }
}

function readsOf({ pid, body }: { readonly pid: number; readonly body: Read[] }): [number, Reads] {
  return [pid, new Map(body.map((read) => [read.name, read]))]
}

/** The first one gives the name and the help. */
export function mergedRead(reads: readonly [Read, ...Read[]]): Read {
  const [first, ...others] = reads
  const merge = mergeOf(first)
  if (merge === undefined || others.length === 0) return first
  const values = new Map<string, Value>()
  for (const { values: some } of reads) {
    for (const value of some) {
      const key = keyOf(value)
      const there = values.get(key)
      const number = there === undefined ? value.value : merge(there.value, value.value)
      values.set(key, { ...(there ?? value), value: number })
    }
  }
  return { ...first, values: [...values.values()] }
}

/** Undefined: the value of the first process. A process without a value has NaN. */
function mergeOf({ name, type, aggregator }: Read): ((a: number, b: number) => number) | undefined {
  if (aggregator === 'omit' || aggregator === 'first') return undefined
  const isOurGauge = type === 'gauge' && name.startsWith('gw_')
  if (aggregator === 'sum' && !LEAST.has(name) && (!isOurGauge || ADDED.has(name)))
    return (a, b) => a + b
  const pick = LEAST.has(name) || aggregator === 'min' ? Math.min : Math.max
  return (a, b) => (Number.isNaN(a) ? b : Number.isNaN(b) ? a : pick(a, b))
}

function keyOf({ metricName = '', sharedLabels = {}, labels = {} }: Value): string {
  const named = Object.entries({ ...sharedLabels, ...labels }).map(
    ([name, value]) => `${name}=${value}`,
  )
  return `${metricName}{${named.sort().join('\n')}}`
}
