/** Follows the configuration: opens the way to its collector, keeps one that did not change, and ends one that is gone. */
import { randomFillSync } from 'node:crypto'
import { hostname } from 'node:os'
import { VERSION } from '../../base/version.ts'
import type { Section } from '../../config/schema/index.ts'
import type { Gateway } from '../../gateway.ts'
import { otlpReceiver } from '../otlp/receiver.ts'
import { Collector } from './collector.ts'
import { Exporter } from './exporter.ts'
import { OtlpPage, PAGE_BYTES } from './otlp-page.ts'
import { RandomIds } from './sampling.ts'
import { type Decision, writeSpans } from './spans.ts'
import { Tracing } from './tracing.ts'

type Traced = Pick<
  Gateway,
  'active' | 'clock' | 'deadlines' | 'env' | 'log' | 'metrics' | 'random' | 'tracing'
>

const PAGE_SPANS = 512

export class Tracers {
  /** Everything that the present one depends on. */
  #identity: string | undefined
  #close: () => void = () => {}

  follow(gateway: Traced): void {
    const { section, configuration } = gateway.active.snapshot
    const { telemetry, http_proxy, no_proxy, tls } = section
    const { otlp_endpoint, otlp_signals } = telemetry
    const isWanted = otlp_endpoint !== undefined && otlp_signals.includes('traces')
    const identity = isWanted ? JSON.stringify([telemetry, http_proxy, no_proxy, tls]) : undefined
    if (identity === this.#identity) return
    this.#identity = identity
    this.#close()
    this.#close = () => {}
    gateway.tracing = undefined
    if (!isWanted) return
    const collector = new Collector(otlpReceiver(telemetry, 'traces'), section)
    const { name, namespace } = configuration.metadata ?? {}
    const resource = resourceOf(section, gateway.env, { name, namespace })
    const exporter = exporterTo(collector, resource, gateway)
    gateway.deadlines.add(exporter)
    this.#close = () => {
      exporter.flush()
      gateway.deadlines.remove(exporter)
      collector.close()
    }
    const ids = new RandomIds(randomFillSync)
    gateway.tracing = new Tracing(telemetry, exporter, ids, gateway.clock)
  }
}

function exporterTo(
  collector: Collector,
  resource: Readonly<Record<string, string>>,
  { clock, random, metrics, log }: Traced,
): Exporter<Decision> {
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
      log.event('warn', 'otlp', `The collector of traces did not take a batch: ${why}.`),
  })
}

interface Named {
  readonly name: string | undefined
  readonly namespace: string | undefined
}

/** Where spans and records of usage come from. */
export function resourceOf(
  { telemetry }: Section,
  env: Gateway['env'],
  { name, namespace }: Named,
): Record<string, string> {
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
