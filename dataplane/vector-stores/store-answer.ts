/** Reads an answer of a vector store for the client library: a complete and bounded answer, or a failure. */

import { Decorator, type Handler, type ResponseStart } from '../connection/client.ts'
import { failureOf } from '../connection/connection-failures.ts'
import { withPlainNames } from '../json/parse.ts'
import { isRecord, parsed, recordOf, textOf } from '../json/values.ts'

const ANSWER_BYTES_MAX = 33_554_432
/** A thousand passages with their payloads. */
const VALUES_MAX = 1_000_000
const REASON_LENGTH_MAX = 500
/** The client reads every answer as JSON, regardless of its declared type. */
const HEADERS = { 'content-type': 'application/json' }

/** Keeps the members that a search needs; undefined if they are invalid. */
export type Reduce = (body: Readonly<Record<string, unknown>>) => object | undefined

export interface StoreQuestion {
  readonly reduce: Reduce | undefined
  /** Why there was no good answer. */
  failure?: Error
}

/** The store answered, but not with 2xx. */
export class StoreRefusal extends Error {
  readonly status: number

  constructor(status: number, body: unknown) {
    const { message, status: state } = recordOf(body)
    const reason = textOf(message) ?? textOf(recordOf(state).error)
    const words = reason === undefined ? '' : `: ${reason.slice(0, REASON_LENGTH_MAX)}`
    super(`it answered with ${status}${words}`)
    this.status = status
  }
}

type Controller = ResponseStart[0]

export class StoreAnswer extends Decorator {
  readonly #asked: StoreQuestion
  readonly #chunks: Buffer[] = []
  #bytes = 0
  #status = 0

  constructor(handler: Handler, asked: StoreQuestion) {
    super(handler)
    this.#asked = asked
  }

  override onResponseStart(...[, status]: ResponseStart): void {
    this.#status = status
  }

  override onResponseData(_: Controller, chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#bytes > ANSWER_BYTES_MAX) throw this.#failed(new Error('its answer is too long'))
    this.#chunks.push(chunk)
  }

  override onResponseEnd(controller: Controller, trailers: ResponseStart[2]): void {
    const bytes = this.#read()
    // Nothing is running that the client could pause.
    const ended = Object.assign(Object.create(controller), { pause() {}, resume() {} })
    super.onResponseStart(ended, this.#status, HEADERS)
    super.onResponseData(ended, bytes)
    super.onResponseEnd(ended, trailers)
  }

  override onResponseError(controller: Controller, error: Error): void {
    this.#failed(new Error(failureOf(error).message))
    super.onResponseError(controller, error)
  }

  #read(): Buffer {
    const bytes = Buffer.concat(this.#chunks)
    const text = bytes.toString()
    const body = parsed(text, VALUES_MAX)
    const status = this.#status
    if (status < 200 || status >= 300) throw this.#failed(new StoreRefusal(status, body))
    const { reduce } = this.#asked
    const needed = isRecord(body) && reduce !== undefined ? reduce(body) : body
    if (!isRecord(needed)) throw this.#failed(new Error('its answer is not valid'))
    return Buffer.from(reduce === undefined ? withPlainNames(text) : JSON.stringify(needed))
  }

  /** The first reason is the one that matters. */
  #failed(error: Error): Error {
    this.#asked.failure ??= error
    return error
  }
}
