/** The way to a collector: OTLP over HTTP with protobuf, over the same way out as requests to upstreams. */
import type { Dispatcher } from 'undici'
import type { Section } from '../../config/schema/index.ts'
import { openPool } from '../../upstream/connection/client.ts'
import { readBounded } from '../../upstream/target/bounded-body.ts'
import type { Posted } from './exporter.ts'

const ANSWER_BYTES_MAX = 65_536
const PATH = '/v1/traces'
/** The specification names these, and no other, as worth a repetition. */
const AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504])
const RETRY_AFTER_MS_MAX = 300_000

type Settings = Section['telemetry'] & { readonly otlp_endpoint: string }

export class Collector {
  readonly #pool: Dispatcher
  readonly #origin: string
  readonly #path: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #timeoutMs: number

  constructor(settings: Settings, section: Section) {
    const { origin, pathname } = new URL(settings.otlp_endpoint)
    const base = pathname.replace(/\/+$/, '')
    this.#origin = origin
    this.#path = base.endsWith(PATH) ? base : base + PATH
    this.#headers = settings.otlp_headers ?? {}
    this.#timeoutMs = settings.otlp_timeout_ms
    const destination = {
      origin,
      timeoutMs: this.#timeoutMs,
      section: { connect_timeout_seconds: this.#timeoutMs / 1000 },
    }
    this.#pool = openPool(destination, section, 1)
  }

  async post(body: Uint8Array): Promise<Posted> {
    try {
      const answer = await this.#pool.request({
        origin: this.#origin,
        path: this.#path,
        method: 'POST',
        headers: { 'content-type': 'application/x-protobuf', ...this.#headers },
        body,
        signal: AbortSignal.timeout(this.#timeoutMs),
      })
      const said = await readBounded(answer.body, ANSWER_BYTES_MAX, 'its answer is too long')
      const { statusCode, headers } = answer
      if (statusCode >= 200 && statusCode < 300)
        return { kind: 'taken', rejected: rejectedSpans(said) }
      const why = `it answered with ${statusCode}`
      if (!AGAIN.has(statusCode)) return { kind: 'refused', why }
      return { kind: 'away', why, afterMs: retryAfterMs(headers['retry-after']) }
    } catch (error) {
      const isLate = (error as Error).name === 'TimeoutError'
      const why = isLate
        ? `it did not answer within ${this.#timeoutMs} ms`
        : (error as Error).message
      return { kind: 'away', why, afterMs: undefined }
    }
  }

  close(): void {
    void this.#pool.close()
  }
}

/** Seconds; a date is not worth its parser, because the exporter's own wait will do. */
function retryAfterMs(header: string | string[] | undefined): number | undefined {
  if (typeof header !== 'string' || !/^\d{1,6}$/.test(header)) return undefined
  return Math.min(Number(header) * 1000, RETRY_AFTER_MS_MAX)
}

/** `ExportTraceServiceResponse.partial_success.rejected_spans`; 0 where it cannot be read. */
function rejectedSpans(bytes: Buffer): number {
  // Field 1 is a message that begins with its own field 1, a number, unless that is 0.
  if (bytes[0] !== 0x0a || bytes[2] !== 0x08) return 0
  let value = 0
  for (let at = 3, factor = 1; at < bytes.length && at < 11; at++, factor *= 128) {
    const byte = bytes[at] ?? 0
    value += (byte & 0x7f) * factor
    if (byte < 128) return value
  }
  return 0
}
