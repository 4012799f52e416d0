/** JSON over HTTP to a vector store, on the way out that upstreams take: proxy, trusted authorities, denied addresses. */
import type { Dispatcher } from 'undici'
import type { Section } from '../config/schema/index.ts'
import { parsed, recordOf, textOf } from '../json/values.ts'
import { openPool } from '../upstream/connection/client.ts'
import { failureOf } from '../upstream/connection/connection-failures.ts'
import { readBounded } from '../upstream/target/bounded-body.ts'
import type { StoreSection } from './contract.ts'

const CONNECTIONS = 32
const ANSWER_BYTES_MAX = 33_554_432
/** A thousand passages with their payloads. */
const VALUES_MAX = 1_000_000
const REASON_LENGTH_MAX = 500

export interface Answered {
  readonly status: number
  readonly body: unknown
}

export class HttpStore {
  readonly #pool: Dispatcher
  readonly #origin: string
  readonly #base: string
  readonly #headers: Readonly<Record<string, string>>

  constructor(
    { endpoint, timeout_ms: timeoutMs }: Pick<StoreSection, 'endpoint' | 'timeout_ms'>,
    whole: Section,
    headers: Readonly<Record<string, string>>,
  ) {
    const { origin, pathname } = new URL(endpoint)
    this.#origin = origin
    this.#base = pathname.replace(/\/+$/, '')
    this.#headers = { 'content-type': 'application/json', accept: 'application/json', ...headers }
    const section = { connect_timeout_seconds: timeoutMs / 1000 }
    this.#pool = openPool({ origin, timeoutMs, section }, whole, CONNECTIONS)
  }

  /** Without a body, GET. Throws where no answer comes; answers that are not 2xx are returned. */
  async ask(path: string, signal: AbortSignal, body?: object): Promise<Answered> {
    const { statusCode, bytes } = await this.#send(path, signal, body).catch((error: Error) => {
      throw new Error(failureOf(error).message)
    })
    return { status: statusCode, body: parsed(bytes.toString(), VALUES_MAX) }
  }

  close(): void {
    void this.#pool.close()
  }

  async #send(path: string, signal: AbortSignal, body: object | undefined) {
    const { statusCode, body: answer } = await this.#pool.request({
      origin: this.#origin,
      path: this.#base + path,
      method: body === undefined ? 'GET' : 'POST',
      headers: this.#headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal,
    })
    const bytes = await readBounded(answer, ANSWER_BYTES_MAX, 'its answer is too long')
    return { statusCode, bytes }
  }
}

/** The body of a good answer. Throws with the store's own words otherwise. */
export function bodyOf({ status, body }: Answered): Readonly<Record<string, unknown>> {
  if (status >= 200 && status < 300) return recordOf(body)
  const { message, status: state } = recordOf(body)
  const reason = textOf(message) ?? textOf(recordOf(state).error)
  const words = reason === undefined ? '' : `: ${reason.slice(0, REASON_LENGTH_MAX)}`
  throw new Error(`it answered with ${status}${words}`)
}

/** A name as one part of a path. */
export function pathPart(name: string): string {
  return encodeURIComponent(name)
}
