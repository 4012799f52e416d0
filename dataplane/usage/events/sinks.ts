/** The sinks of usage events in the configuration: a file, a webhook, a collector. Absent if it names none. */
import { createHmac } from 'node:crypto'
import { VERSION } from '../../base/version.ts'
import type { Section } from '../../schema/index.ts'
import type { Observed } from '../../telemetry/observed.ts'
import { Followed } from '../../telemetry/otlp/followed.ts'
import { otlpReceiver } from '../../telemetry/otlp/receiver.ts'
import { Collector, type Receiver } from '../../telemetry/tracing/collector.ts'
import { Exporter, type ExporterOptions, LOST } from '../../telemetry/tracing/exporter.ts'
import { OtlpPage, PAGE_BYTES } from '../../telemetry/tracing/otlp-page.ts'
import { resourceOf } from '../../telemetry/tracing/tracers.ts'
import { BATCH_TYPE, BatchPage } from './batch-page.ts'
import type { UsageEvent } from './event.ts'
import { type Sink, UsageEvents } from './events.ts'
import { EventFile } from './file.ts'
import { writeRecord } from './log-record.ts'

const WEBHOOK_EVENTS = 100
const RECORDS = 512
/** The answers of a receiver that may accept the batch later. */
const WEBHOOK_AGAIN: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504])

/** `usageEvents` is set while the configuration names a sink. */
export type EventGateway = Observed & { usageEvents: UsageEvents | undefined }

type SinkSettings = NonNullable<Section['usage']['sinks']>

/** Follows the configuration: opens its sinks, keeps unchanged ones, and closes removed ones. */
export class UsageSinks {
  readonly #followed = new Followed()

  follow(gateway: EventGateway): void {
    const { snapshot } = gateway.active
    const { sinks = {} } = snapshot.section.usage
    const isNeeded = Object.values(sinks).some((sink) => sink !== undefined)
    this.#followed.follow(snapshot, isNeeded ? sinks : undefined, () => open(sinks, gateway))
  }
}

function open(sinks: SinkSettings, gateway: EventGateway): () => void {
  const opened = new Opened(gateway)
  opened.all(sinks)
  for (const sink of opened.sinks) gateway.deadlines.add(sink)
  gateway.usageEvents = new UsageEvents(opened.sinks)
  const waiting = gateway.metrics.usageEventsWaiting
  waiting.collect = () => {
    waiting.at().value = gateway.usageEvents?.waiting ?? 0
  }
  return () => {
    for (const sink of opened.sinks) {
      sink.flush()
      gateway.deadlines.remove(sink)
    }
    for (const close of opened.closes) close()
    gateway.usageEvents = undefined
  }
}

class Opened {
  readonly sinks: Sink[] = []
  readonly closes: (() => void)[] = []
  readonly #gateway: EventGateway

  constructor(gateway: EventGateway) {
    this.#gateway = gateway
  }

  all({ file, webhook, otlp }: SinkSettings): void {
    if (file !== undefined) this.#file(file)
    if (webhook !== undefined) this.#webhook(webhook)
    if (otlp !== undefined) this.#otlp(otlp)
  }

  #file(file: NonNullable<SinkSettings['file']>): void {
    const { clock, log, metrics } = this.#gateway
    const sink = new EventFile({
      ...file,
      clock,
      delivered: metrics.usageEvents.at('file', 'delivered'),
      dropped: metrics.usageEvents.at('file', 'queue_full'),
      onFailure(error) {
        if (error === undefined) log.event('info', 'usage', 'Usage events are written again.')
        else log.event('error', 'usage', `Usage events cannot be written: ${error.message}`)
      },
    })
    this.sinks.push(sink)
    this.closes.push(() => void sink.close().catch(() => undefined))
  }

  #webhook({
    webhook_url,
    headers,
    signing_key,
    timeout_ms,
  }: NonNullable<SinkSettings['webhook']>) {
    const { name = 'gw', namespace } = this.#gateway.active.snapshot.configuration.metadata ?? {}
    const source = namespace === undefined ? `/gw/${name}` : `/gw/${namespace}/${name}`
    const most = { bytes: PAGE_BYTES, items: WEBHOOK_EVENTS }
    this.#posted('webhook', () => new BatchPage(source), most, {
      url: webhook_url,
      headers: { 'content-type': BATCH_TYPE, ...headers },
      timeoutMs: timeout_ms,
      again: WEBHOOK_AGAIN,
      ...(signing_key !== undefined && {
        sign: (body) => ({ 'x-gw-signature': signatureOf(body, signing_key) }),
      }),
    })
  }

  #otlp({ otlp_endpoint, otlp_headers }: NonNullable<SinkSettings['otlp']>): void {
    const { env, active } = this.#gateway
    const { telemetry } = active.snapshot.section
    // Validation has refused it.
    if ((otlp_endpoint ?? telemetry.otlp_endpoint) === undefined) return
    const own = otlp_endpoint && { url: otlp_endpoint, headers: otlp_headers }
    const resource = resourceOf(active.snapshot, env)
    const most = { bytes: PAGE_BYTES, items: RECORDS }
    const open = () => new OtlpPage({ resource, version: VERSION }, writeRecord)
    this.#posted('otlp', open, most, otlpReceiver(telemetry, 'logs', own || undefined))
  }

  #posted(
    sink: 'webhook' | 'otlp',
    open: ExporterOptions<UsageEvent>['open'],
    most: ExporterOptions<UsageEvent>['most'],
    receiver: Receiver,
  ): void {
    const { active, clock, random, metrics, log } = this.#gateway
    const collector = new Collector(receiver, active.snapshot.section)
    for (const reason of LOST) metrics.usageEvents.at(sink, reason)
    const exporter = new Exporter<UsageEvent>({
      open,
      most,
      post: (body) => collector.post(body),
      clock,
      random,
      exported: metrics.usageEvents.at(sink, 'delivered'),
      dropped: (reason) => metrics.usageEvents.at(sink, reason),
      warn: (why) =>
        log.event('warn', 'usage', `The ${sink} of usage did not accept a batch: ${why}.`),
    })
    this.sinks.push(exporter)
    this.closes.push(() => collector.close())
  }
}

/** Signs the sent body, so that a receiver knows the sender. */
export function signatureOf(body: Uint8Array, key: string): string {
  return `sha256=${createHmac('sha256', key).update(body).digest('hex')}`
}
