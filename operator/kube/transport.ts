/** HTTP to the API server and to pods, each call with a deadline and a bound. The only file that knows undici. */
import { Agent, type Dispatcher, ProxyAgent } from 'undici'

export interface TlsSettings {
  readonly ca?: string | Buffer | undefined
  readonly cert?: string | Buffer | undefined
  readonly key?: string | Buffer | undefined
  readonly servername?: string | undefined
  readonly rejectUnauthorized?: boolean | undefined
}

export interface Request {
  readonly origin: string
  readonly path: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  /** Time from sending the request to the last byte of the answer; for a stream, to its head. */
  readonly deadlineMs: number
  readonly signal?: AbortSignal
}

export interface ApiResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** An answer that continues: read at the reader's pace, ended by `close`. */
export interface Stream {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly chunks: AsyncIterable<Buffer>
  close(): void
}

export interface TransportOptions {
  readonly tls?: TlsSettings
  readonly connections?: number
  readonly connectTimeoutMs?: number
  readonly bodyBytesMax?: number
  /** URL of the proxy for all calls. */
  readonly proxy?: string | undefined
}

/** Idle time after which the system probes the peer. */
const KEEPALIVE_DELAY_MS = 15_000

export class Transport {
  #agent: Dispatcher
  readonly #options: TransportOptions

  constructor(options: TransportOptions = {}) {
    this.#options = options
    this.#agent = this.#open(options.tls)
  }

  /** Later calls use these certificates; running calls finish on their connections. */
  secureWith(tls: TlsSettings): void {
    const old = this.#agent
    this.#agent = this.#open(tls)
    old.close().catch(() => old.destroy())
  }

  async call(request: Request): Promise<ApiResponse> {
    const deadline = AbortSignal.timeout(request.deadlineMs)
    const signal = request.signal ? AbortSignal.any([request.signal, deadline]) : deadline
    const { statusCode, headers, body } = await this.#agent.request(this.#dispatch(request, signal))
    const bytesMax = this.#options.bodyBytesMax ?? 64 * 1024 * 1024
    const chunks: Buffer[] = []
    let length = 0
    for await (const chunk of body as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length > bytesMax) {
        body.destroy()
        throw new Error(`the answer is larger than ${bytesMax} bytes`)
      }
      chunks.push(chunk)
    }
    return { status: statusCode, headers: plain(headers), body: Buffer.concat(chunks) }
  }

  async stream(request: Request): Promise<Stream> {
    const closing = new AbortController()
    const timer = setTimeout(
      () => closing.abort(new Error('no answer in time')),
      request.deadlineMs,
    )
    const signal = request.signal
      ? AbortSignal.any([request.signal, closing.signal])
      : closing.signal
    try {
      const { statusCode, headers, body } = await this.#agent.request(
        this.#dispatch(request, signal),
      )
      // Aborting after the end of the loop must not become an error without a listener.
      body.on('error', () => {})
      // `Readable` is typed as an iterable of unknown chunks; without an encoding they are Buffers.
      const chunks = body as AsyncIterable<Buffer>
      return { status: statusCode, headers: plain(headers), chunks, close: () => closing.abort() }
    } finally {
      clearTimeout(timer)
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }

  #open(tls: TlsSettings = {}): Dispatcher {
    const { connections = 64, connectTimeoutMs = 10_000, proxy } = this.#options
    const settings = Object.entries(tls).filter(([, value]) => value !== undefined)
    const connect = {
      timeout: connectTimeoutMs,
      keepAlive: true,
      keepAliveInitialDelay: KEEPALIVE_DELAY_MS,
      ...Object.fromEntries(settings),
    }
    const options = {
      connections,
      pipelining: 1,
      allowH2: false,
      headersTimeout: 0,
      // No timeout of the body, because a watch may be silent; every call has a separate deadline.
      bodyTimeout: 0,
      keepAliveTimeout: 30_000,
      keepAliveMaxTimeout: 60_000,
    }
    if (proxy === undefined) return new Agent({ ...options, connect })
    return new ProxyAgent({ ...options, uri: proxy, proxyTunnel: true, requestTls: connect })
  }

  #dispatch(request: Request, signal: AbortSignal): Dispatcher.RequestOptions {
    const { origin, path, method, headers, body } = request
    return { origin, path, method, headers: headers ?? {}, body: body ?? null, signal }
  }
}

function plain(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(', ') : (value ?? ''),
  ])
  return Object.fromEntries(entries)
}

/** A refusal is short; the rest is not read. */
export async function readStart(stream: Stream): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of stream.chunks) {
    chunks.push(chunk)
    length += chunk.length
    if (length > 65_536) break
  }
  stream.close()
  return Buffer.concat(chunks)
}
