/** Sends the metrics to a collector at an interval. */
import { setImmediate as turn } from 'node:timers/promises'
import type { Registry } from 'prom-client'
import type { Clock, Deadline } from '../../base/clock.ts'
import type { Exporter } from '../tracing/exporter.ts'
import { type MetricPiece, piecesOf } from './points.ts'
import type { Sending } from './sending.ts'

export interface MetricsFeedOptions {
  readonly registry: Registry
  readonly exporter: Exporter<MetricPiece>
  readonly everyMs: number
  /** Start of the counters, in milliseconds since the epoch. */
  readonly startedAt: number
  readonly clock: Clock
  /** The numbers could not be read. */
  readonly onFailure: (error: Error) => void
}

export class MetricsFeed implements Deadline, Sending {
  due: number
  seat = -1
  readonly #options: MetricsFeedOptions
  #reading: Promise<void> | undefined

  constructor(options: MetricsFeedOptions) {
    this.#options = options
    this.due = options.clock.now() + options.everyMs
  }

  get isIdle(): boolean {
    return this.#reading === undefined && this.#options.exporter.isIdle
  }

  expire(now: number): void {
    this.due = now + this.#options.everyMs
    this.#read()
  }

  /** Reads the metrics once more at the end of the process. */
  flush(): void {
    this.#read()
  }

  #read(): void {
    const { exporter, onFailure } = this.#options
    this.#reading ??= this.#readAll()
      .catch(onFailure)
      .finally(() => {
        this.#reading = undefined
        exporter.flush()
      })
  }

  async #readAll(): Promise<void> {
    const { registry, exporter, startedAt, clock } = this.#options
    for await (const piece of piecesOf(registry, startedAt, () => clock.wall())) {
      exporter.add(piece)
      // Lets requests run between two families.
      await turn()
    }
  }
}
