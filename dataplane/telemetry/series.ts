/**
 * Counters, gauges and histograms whose cells are plain numbers. prom-client hashes the labels on every call; here a
 * request adds to a number after three Map look-ups, and prom-client reads the values only at a scrape.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { MetricObjectWithValues, MetricValue } from 'prom-client'

/** Buckets in seconds, from a fast local answer to a long generation. */
export const BUCKETS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300,
]

/** Series that are read in one turn of the event loop, so that requests do not wait for all of them. */
const READ_IN_A_TURN = 500

let turns: Promise<void> = Promise.resolve()

function turnOfItsOwn(): Promise<void> {
  turns = turns.then(() => turn())
  return turns
}

export interface Cell {
  value: number
}

export type Labels = readonly string[]

/** A family of at most three labels; absent labels are the empty string. */
class Family<C> {
  readonly name: string
  readonly help: string
  readonly labels: Labels
  readonly #cells = new Map<string, Map<string, Map<string, C>>>()
  readonly #make: () => C

  constructor(name: string, help: string, labels: Labels, make: () => C) {
    this.name = name
    this.help = help
    this.labels = labels
    this.#make = make
  }

  at(first = '', second = '', third = ''): C {
    const byFirst = this.#cells.get(first) ?? insert(this.#cells, first, new Map())
    const bySecond = byFirst.get(second) ?? insert(byFirst, second, new Map())
    return bySecond.get(third) ?? insert(bySecond, third, this.#make())
  }

  *entries(): Generator<[Record<string, string>, C]> {
    for (const [first, byFirst] of this.#cells) {
      for (const [second, bySecond] of byFirst) {
        for (const [third, cell] of bySecond) yield [this.#named(first, second, third), cell]
      }
    }
  }

  /** Drops the series with a label value that is no longer configured. */
  retain(label: string, known: (value: string) => boolean): void {
    const position = this.labels.indexOf(label)
    if (position === -1) return
    for (const [first, byFirst] of this.#cells) {
      if (position === 0 && !known(first)) this.#cells.delete(first)
      for (const [second, bySecond] of byFirst) {
        if (position === 1 && !known(second)) byFirst.delete(second)
        if (position !== 2) continue
        for (const third of bySecond.keys()) if (!known(third)) bySecond.delete(third)
      }
    }
  }

  /** Values of the first label: mostly a tenant or an upstream. */
  get size(): number {
    return this.#cells.size
  }

  #named(...values: string[]): Record<string, string> {
    const named: Record<string, string> = {}
    for (const [index, label] of this.labels.entries()) named[label] = values[index] ?? ''
    return named
  }
}

export interface NumbersRow {
  readonly kind: 'counter' | 'gauge'
  readonly name: string
  readonly help: string
  readonly labels: Labels
  readonly parts?: number
}

export class Numbers extends Family<Cell> {
  readonly type: 'counter' | 'gauge'
  readonly aggregator = 'sum'
  /** Cells count fractions of the shown unit, so that a sum of many small amounts stays exact. */
  readonly #parts: number
  /** Refreshes gauges with an external source, just before a scrape. */
  collect: (() => void | Promise<void>) | undefined

  constructor({ kind, name, help, labels, parts = 1 }: NumbersRow) {
    super(name, help, labels, () => ({ value: 0 }))
    this.type = kind
    this.#parts = parts
    if (labels.length === 0) this.at()
  }

  async get(): Promise<MetricObjectWithValues<MetricValue<string>>> {
    await this.collect?.()
    if (this.size > READ_IN_A_TURN) await turnOfItsOwn()
    const values = []
    for (const [labels, cell] of this.entries()) {
      values.push({ labels, value: cell.value / this.#parts })
      if (values.length % READ_IN_A_TURN === 0) await turnOfItsOwn()
    }
    // prom-client types `type` as an enum that its code never compares by identity.
    return { name: this.name, help: this.help, type: this.type, aggregator: 'sum', values } as never
  }
}

/** A trace that was sent to a collector, as an example of what a bucket has counted. */
interface Exemplar {
  readonly labelSet: { readonly trace_id: string }
  readonly value: number
  /** Seconds since the epoch. */
  readonly timestamp: number
}

export class Distribution {
  readonly counts = new Float64Array(BUCKETS.length + 1)
  sum = 0
  /** The last one of each bucket; undefined if no trace was sent. */
  exemplars: Exemplar[] | undefined

  /** Seconds. */
  observe(seconds: number): void {
    const bucket = bucketOf(seconds)
    this.counts[bucket] = (this.counts[bucket] as number) + 1
    this.sum += seconds
  }

  /** Links the bucket of an observation to its trace. */
  exemplify(seconds: number, trace_id: string, wallMs: number): void {
    this.exemplars ??= []
    const exemplar = { labelSet: { trace_id }, value: seconds, timestamp: wallMs / 1000 }
    this.exemplars[bucketOf(seconds)] = exemplar
  }
}

function bucketOf(seconds: number): number {
  let bucket = 0
  while (bucket < BUCKETS.length && seconds > (BUCKETS[bucket] as number)) bucket++
  return bucket
}

export class Histogram extends Family<Distribution> {
  readonly type = 'histogram'
  readonly aggregator = 'sum'

  constructor(name: string, help: string, labels: Labels) {
    super(name, help, labels, () => new Distribution())
  }

  async get(): Promise<MetricObjectWithValues<MetricValue<string>>> {
    const values = []
    for (const [sharedLabels, distribution] of this.entries()) {
      let total = 0
      for (const [index, bound] of [...BUCKETS, '+Inf'].entries()) {
        total += distribution.counts[index] ?? 0
        values.push({
          sharedLabels,
          labels: { le: bound },
          value: total,
          metricName: `${this.name}_bucket`,
          exemplar: distribution.exemplars?.[index] ?? null,
        })
      }
      values.push({ sharedLabels, value: distribution.sum, metricName: `${this.name}_sum` })
      values.push({ sharedLabels, value: total, metricName: `${this.name}_count` })
    }
    return {
      name: this.name,
      help: this.help,
      type: 'histogram',
      aggregator: 'sum',
      values,
    } as never
  }
}

function insert<V>(map: Map<string, V>, key: string, value: V): V {
  map.set(key, value)
  return value
}
