/**
 * The connections of the clients of vector stores, with the same proxy, trusted authorities and denied addresses as
 * upstreams.
 */
import type { Dispatcher } from 'undici'
import { openPool } from '../connection/client.ts'
import type { Section } from '../schema/index.ts'
import type { StoreSection } from './contract.ts'
import { type Reduce, StoreAnswer, type StoreQuestion } from './store-answer.ts'

const CONNECTIONS = 32
/** Passed to clients as the host. It never resolves, so that a request that bypasses these connections fails. */
export const NO_HOST = 'store.invalid'
/** Headers that a fetch adds for browsers. */
const OF_BROWSERS = ['accept-language', 'sec-fetch-mode']

export class HttpStore {
  readonly #pool: Dispatcher
  readonly #origin: string
  readonly #base: string
  readonly #reduce: Reduce | undefined

  constructor(
    { endpoint, timeout_ms: timeoutMs }: Pick<StoreSection, 'endpoint' | 'timeout_ms'>,
    whole: Section,
    reduce?: Reduce,
  ) {
    const { origin, pathname } = new URL(endpoint)
    this.#origin = origin
    this.#base = pathname.replace(/\/+$/, '')
    this.#reduce = reduce
    const section = { connect_timeout_seconds: timeoutMs / 1000 }
    this.#pool = openPool({ origin, timeoutMs, section }, whole, CONNECTIONS)
  }

  /**
   * Sends a client's request with these options. Throws the reason that was found here, because clients hide it, or
   * name addresses.
   */
  async ask<T>(signal: AbortSignal, question: (options: RequestInit) => Promise<T>): Promise<T> {
    const asked: StoreQuestion = { reduce: this.#reduce }
    const dispatcher = this.#pool.compose((dispatch) => (options, handler) => {
      const path = this.#base + options.path
      const headers = plainHeaders(options.headers)
      const own = { ...options, origin: this.#origin, path, headers }
      return dispatch(own, new StoreAnswer(handler, asked))
    })
    // The types of Node's fetch are of another version of undici.
    const typed = dispatcher as unknown as NonNullable<RequestInit['dispatcher']>
    try {
      // A redirect is an answer like any other that is not 2xx.
      return await question({ dispatcher: typed, signal, redirect: 'manual' })
    } catch (error) {
      throw asked.failure ?? error
    }
  }

  close(): void {
    void this.#pool.close()
  }
}

/** An uncompressed answer can be bounded while it arrives. */
function plainHeaders(given: Dispatcher.DispatchOptions['headers']): Record<string, string> {
  // A fetch passes an object.
  const headers: Record<string, string> = { ...(given as Record<string, string>) }
  for (const name of OF_BROWSERS) delete headers[name]
  return { ...headers, 'accept-encoding': 'identity' }
}
