/** Follows the configuration: opens the exporter of traces, keeps an unchanged one, and closes a removed one. */
import { randomFillSync } from 'node:crypto'
import { hostname } from 'node:os'
import { VERSION } from '../../base/version.ts'
import type { Snapshot } from '../../config/snapshot.ts'
import type { Observed } from '../observed.ts'
import { Followed } from '../otlp/followed.ts'
import { otlpReceiver } from '../otlp/receiver.ts'
import { Collector } from './collector.ts'
import { Exporter, LOST } from './exporter.ts'
import { OtlpPage, PAGE_BYTES } from './otlp-page.ts'
import { RandomIds } from './sampling.ts'
import { type Decision, writeSpans } from './spans.ts'
import { Tracing } from './tracing.ts'

/** `tracing` is set while traces are sent. */
type Traced = Observed & { tracing: Tracing | undefined }

const PAGE_SPANS = 512

export class Tracers {
  readonly #followed = new Followed()

  follow(gateway: Traced): void {
    const { snapshot } = gateway.active
    const { otlp_endpoint, otlp_signals } = snapshot.section.telemetry
    const isWanted = otlp_endpoint !== undefined && otlp_signals.includes('traces')
    this.#followed.follow(snapshot, isWanted ? otlp_endpoint : undefined, () => open(gateway))
  }
}

function open(gateway: Traced): () => void {
  const { snapshot } = gateway.active
  const { section } = snapshot
  const { telemetry } = section
  const collector = new Collector(otlpReceiver(telemetry, 'traces'), section)
  const exporter = exporterTo(collector, resourceOf(snapshot, gateway.env), gateway)
  gateway.deadlines.add(exporter)
  const ids = new RandomIds(randomFillSync)
  gateway.tracing = new Tracing(telemetry, exporter, ids, gateway.clock)
  return () => {
    exporter.flush()
    gateway.deadlines.remove(exporter)
    collector.close()
    gateway.tracing = undefined
  }
}

function exporterTo(
  collector: Collector,
  resource: Readonly<Record<string, string>>,
  { clock, random, metrics, log }: Traced,
): Exporter<Decision> {
  for (const reason of LOST) metrics.spansDropped.at(reason)
  for (const result of ['taken', 'refused', 'away']) metrics.spanExports.at(result)
  return new Exporter({
    open: () => new OtlpPage({ resource, version: VERSION }, writeSpans),
    most: { bytes: PAGE_BYTES, items: PAGE_SPANS },
    post: (body) => collector.post(body),
    clock,
    random,
    exported: metrics.spansExported.at(),
    dropped: (reason) => metrics.spansDropped.at(reason),
    posts: (result) => metrics.spanExports.at(result),
    warn: (why) =>
      log.event('warn', 'otlp', `The collector of traces did not accept a batch: ${why}.`),
  })
}

/** The resource of spans and usage records. */
export function resourceOf(
  { section, configuration }: Pick<Snapshot, 'section' | 'configuration'>,
  env: Observed['env'],
): Record<string, string> {
  const { telemetry } = section
  const { name, namespace } = configuration.metadata ?? {}
  const pod = env.GW_POD_NAME
  return {
    'service.name': telemetry.service_name,
    'service.version': VERSION,
    'service.instance.id': pod || hostname(),
    ...(name !== undefined && { 'gw.gateway': name }),
    ...(namespace !== undefined && pod && { 'k8s.namespace.name': namespace }),
    ...(pod && { 'k8s.pod.name': pod }),
  }
}
