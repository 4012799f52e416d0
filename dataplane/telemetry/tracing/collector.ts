/** Sends batches to a receiver such as a collector, by the same proxy and TLS settings as requests to upstreams. */
import type { Dispatcher } from 'undici'
import { readBounded } from '../../connection/bounded-body.ts'
import { openPool } from '../../connection/client.ts'
import type { Section } from '../../schema/index.ts'
import type { Posted } from './exporter.ts'

const ANSWER_BYTES_MAX = 65_536
const RETRY_AFTER_MS_MAX = 300_000

export interface Receiver {
  readonly url: string
  /** Appended to a URL that does not end with it. */
  readonly path?: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  /** Statuses of answers after which a batch is sent again. */
  readonly again: ReadonlySet<number>
  /** Encodes the body, as the headers declare. */
  readonly encode?: (body: Uint8Array) => Promise<Uint8Array>
  /** Headers that depend on the body. */
  readonly sign?: (body: Uint8Array) => Readonly<Record<string, string>>
  /** Number of rejected items of an accepted batch. */
  readonly rejectedOf?: (answer: Buffer) => number
}

export class Collector {
  readonly #pool: Dispatcher
  readonly #origin: string
  readonly #path: string
  readonly #receiver: Receiver

  constructor(receiver: Receiver, section: Section) {
    const { url, path = '', timeoutMs } = receiver
    const { origin, pathname, search } = new URL(url)
    const base = path === '' ? pathname : pathname.replace(/\/+$/, '')
    this.#origin = origin
    this.#path = (base.endsWith(path) ? base : base + path) + search
    this.#receiver = receiver
    const destination = {
      origin,
      timeoutMs,
      section: { connect_timeout_seconds: timeoutMs / 1000 },
    }
    this.#pool = openPool(destination, section, 1)
  }

  async post(body: Uint8Array): Promise<Posted> {
    const { headers: given, timeoutMs, again, encode, sign, rejectedOf } = this.#receiver
    try {
      const sent = encode === undefined ? body : await encode(body)
      const answer = await this.#pool.request({
        origin: this.#origin,
        path: this.#path,
        method: 'POST',
        headers: { ...given, ...sign?.(sent) },
        body: sent,
        signal: AbortSignal.timeout(timeoutMs),
      })
      const said = await readBounded(answer.body, ANSWER_BYTES_MAX, 'its answer is too long')
      const { statusCode, headers } = answer
      if (statusCode >= 200 && statusCode < 300)
        return { kind: 'taken', rejected: rejectedOf?.(said) ?? 0 }
      const why = `it answered with ${statusCode}`
      if (!again.has(statusCode)) return { kind: 'refused', why }
      return { kind: 'away', why, afterMs: retryAfterMs(headers['retry-after']) }
    } catch (error) {
      const isLate = (error as Error).name === 'TimeoutError'
      const why = isLate ? `it did not answer within ${timeoutMs} ms` : (error as Error).message
      return { kind: 'away', why, afterMs: undefined }
    }
  }

  close(): void {
    void this.#pool.close()
  }
}

/** Reads only seconds; for a date the exporter uses its own wait. */
function retryAfterMs(header: string | string[] | undefined): number | undefined {
  if (typeof header !== 'string' || !/^\d{1,6}$/.test(header)) return undefined
  return Math.min(Number(header) * 1000, RETRY_AFTER_MS_MAX)
}
