/** Sends the operator's spans to a collector of OpenTelemetry: in the background, bounded, with useful retries. */
import { Exporter, type Posted } from '../../dataplane/telemetry/tracing/exporter.ts'
import { OtlpPage, PAGE_BYTES } from '../../dataplane/telemetry/tracing/otlp-page.ts'
import { Transport } from '../kube/transport.ts'
import type { Log } from '../log.ts'
import type { Telemetry } from '../telemetry.ts'
import { type OperatorSpan, writeSpan } from './spans.ts'
import { Tracer } from './tracer.ts'

const ITEMS = 512
const LOOK_MS = 250
const TIMEOUT_MS = 10_000
/** The end of the process waits at most this long for a collector. */
const FLUSH_MS = 2000
const ANSWER_BYTES_MAX = 65_536
/** The statuses that the specification of OTLP allows to retry. */
const AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504])

export interface CollectorOptions {
  /** Base URL; /v1/traces is appended. */
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  readonly namespace: string
  /** Names this process among the operators. */
  readonly identity: string
  readonly version: string
  readonly log: Log
  readonly telemetry: Pick<Telemetry, 'spans'>
}

export interface Tracing {
  readonly tracer: Tracer
  /** Sends what waits. */
  stop(): Promise<void>
}

export function startTracing(options: CollectorOptions): Tracing {
  const { namespace, identity, version, log, telemetry } = options
  const transport = new Transport({ connections: 1, bodyBytesMax: ANSWER_BYTES_MAX })
  const resource = {
    'service.name': 'gw-operator',
    'service.version': version,
    'service.instance.id': identity,
    'k8s.namespace.name': namespace,
  }
  const clock = { now: () => performance.now(), wall: () => Date.now() }
  const count = (result: string) => ({
    get value() {
      return 0
    },
    // The exporter adds to it.
    set value(more: number) {
      telemetry.spans.inc({ result }, more)
    },
  })
  const exporter = new Exporter<OperatorSpan>({
    open: () => new OtlpPage({ resource, version }, writeSpan),
    most: { bytes: PAGE_BYTES, items: ITEMS },
    post: (body) => post(body, options, transport),
    clock,
    random: Math.random,
    exported: count('delivered'),
    dropped: count,
    warn: (why) => log.event('warn', 'otlp', `The collector did not accept a batch: ${why}.`),
  })
  const timer = setInterval(() => {
    if (exporter.due <= clock.now()) exporter.expire()
  }, LOOK_MS).unref()
  return {
    tracer: new Tracer((span) => exporter.add(span), Date.now),
    async stop() {
      clearInterval(timer)
      exporter.flush()
      const end = clock.now() + FLUSH_MS
      while (!exporter.isIdle && clock.now() < end)
        await new Promise((resolve) => setTimeout(resolve, 20))
      await transport.close()
    },
  }
}

async function post(
  body: Uint8Array,
  { endpoint, headers }: CollectorOptions,
  transport: Transport,
): Promise<Posted> {
  const { origin, pathname } = new URL(endpoint)
  try {
    const answer = await transport.call({
      origin,
      path: `${pathname.replace(/\/+$/, '').replace(/\/v1\/traces$/, '')}/v1/traces`,
      method: 'POST',
      headers: { 'content-type': 'application/x-protobuf', ...headers },
      body: Buffer.from(body),
      deadlineMs: TIMEOUT_MS,
    })
    if (answer.status >= 200 && answer.status < 300) return { kind: 'taken', rejected: 0 }
    const why = `it answered with ${answer.status}`
    if (!AGAIN.has(answer.status)) return { kind: 'refused', why }
    const seconds = Number(answer.headers['retry-after'])
    const isTold = Number.isInteger(seconds) && seconds >= 0 && seconds <= 300
    return { kind: 'away', why, afterMs: isTold ? seconds * 1000 : undefined }
  } catch (error) {
    return { kind: 'away', why: (error as Error).message, afterMs: undefined }
  }
}
