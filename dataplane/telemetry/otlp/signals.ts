/** Sends metrics and log records to the collector of the configuration; keeps the exporter if its settings did not change. */
import type { Registry } from 'prom-client'
import { VERSION } from '../../base/version.ts'
import type { Observed } from '../observed.ts'
import { Collector } from '../tracing/collector.ts'
import { Exporter, LOST } from '../tracing/exporter.ts'
import { OtlpPage, PAGE_BYTES } from '../tracing/otlp-page.ts'
import { resourceOf } from '../tracing/tracers.ts'
import type { Writer } from '../tracing/writer.ts'
import { Followed } from './followed.ts'
import { writeLogRecord } from './log-records.ts'
import type { LogEntry, LogTap } from './log-tap.ts'
import { MetricsFeed } from './metrics-feed.ts'
import { type MetricPiece, writePiece } from './points.ts'
import { otlpReceiver } from './receiver.ts'
import type { Sending } from './sending.ts'

/** `sending` is set while metrics or logs are sent. */
type Signalled = Observed & { sending?: Sending | undefined }

/** Points or records of one batch. */
const ITEMS = 512

export interface SignalSources {
  /** The metrics of `/metrics`; absent in a worker, whose first process sends them. */
  readonly registry?: Registry
  /** The log of the process. */
  readonly tap: LogTap
  /** Start of the counters, in milliseconds since the epoch. */
  readonly startedAt: number
}

export class Signals {
  readonly #sources: SignalSources
  readonly #followed = new Followed()

  constructor(sources: SignalSources) {
    this.#sources = sources
  }

  follow(gateway: Signalled): void {
    const { snapshot } = gateway.active
    const { telemetry } = snapshot.section
    const wanted = telemetry.otlp_endpoint === undefined ? [] : telemetry.otlp_signals
    const isNeeded = wanted.includes('metrics') || wanted.includes('logs')
    this.#followed.follow(snapshot, isNeeded ? wanted : undefined, () => {
      const opened = new Opened(gateway)
      const { registry, startedAt } = this.#sources
      if (wanted.includes('metrics') && registry) opened.metrics({ registry, startedAt })
      if (wanted.includes('logs')) opened.logs(this.#sources)
      gateway.sending = opened
      return () => {
        opened.close()
        gateway.sending = undefined
      }
    })
  }
}

/** The exporters of one configuration. */
class Opened implements Sending {
  readonly #gateway: Observed
  readonly #parts: Sending[] = []
  readonly #closes: (() => void)[] = []

  constructor(gateway: Signalled) {
    this.#gateway = gateway
  }

  get isIdle(): boolean {
    return this.#parts.every(({ isIdle }) => isIdle)
  }

  flush(): void {
    for (const part of this.#parts) part.flush()
  }

  close(): void {
    for (const close of this.#closes) close()
  }

  metrics({ registry, startedAt }: Required<Omit<SignalSources, 'tap'>>): void {
    const { clock, deadlines, active, log } = this.#gateway
    const exporter = this.#exporter<MetricPiece>('metrics', writePiece)
    const everyMs = active.snapshot.section.telemetry.otlp_metrics_seconds * 1000
    const feed = new MetricsFeed({
      registry,
      exporter,
      everyMs,
      startedAt,
      clock,
      onFailure: ({ message }) =>
        log.event('error', 'otlp', `Metrics could not be read for the collector: ${message}`),
    })
    deadlines.add(feed)
    this.#closes.push(() => deadlines.remove(feed))
    this.#parts.push(feed)
  }

  logs({ tap }: SignalSources): void {
    const exporter = this.#exporter<LogEntry>('logs', writeLogRecord)
    tap.hear = (entry) => exporter.add(entry)
    this.#closes.unshift(() => {
      tap.hear = undefined
      exporter.flush()
    })
    this.#parts.push(exporter)
  }

  #exporter<Item>(
    signal: 'metrics' | 'logs',
    write: (out: Writer, item: Item) => number,
  ): Exporter<Item> {
    const { active, env, clock, random, metrics, log, deadlines } = this.#gateway
    const { section } = active.snapshot
    const resource = resourceOf(active.snapshot, env)
    const collector = new Collector(otlpReceiver(section.telemetry, signal), section)
    for (const reason of LOST) metrics.otlpItems.at(signal, reason)
    const exporter = new Exporter<Item>({
      open: () => new OtlpPage({ resource, version: VERSION }, write),
      most: { bytes: PAGE_BYTES, items: ITEMS },
      post: (body) => collector.post(body),
      clock,
      random,
      exported: metrics.otlpItems.at(signal, 'delivered'),
      dropped: (reason) => metrics.otlpItems.at(signal, reason),
      warn: (why) =>
        log.event('warn', 'otlp', `The collector of ${signal} did not accept a batch: ${why}.`),
    })
    deadlines.add(exporter)
    this.#closes.push(() => {
      deadlines.remove(exporter)
      collector.close()
    })
    return exporter
  }
}
