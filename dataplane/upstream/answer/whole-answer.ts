/** The bytes of an answer that is read whole, as far as they are worth keeping. */
import { Gathered } from '../../base/gathered.ts'
import { LARGE_BYTES } from '../../base/heavy-work.ts'
import { Bounds } from '../../json/bounds.ts'
import type { Encoding } from './decoding.ts'

/** Largest whole answer; no chat completion is near it. */
const ANSWER_BYTES_MAX = 33_554_432
const FAILURE_BYTES_MAX = 65_536

/** The words for an answer of which no more is wanted. */
export const TOO_LONG = {
  'too large': 'The answer is larger than 32 MiB.',
  'too much': 'The upstream answered with something else than a JSON object.',
} as const

export class WholeAnswer {
  readonly bytesMax: number
  readonly #isJson: boolean
  readonly #body = new Gathered({ ownsPieces: true })
  #bytes = 0
  #bounds: Bounds | undefined

  /** The encoding of a failure is looked at when all of it is there. */
  constructor(status: number, encoding: Encoding | undefined) {
    this.bytesMax = status < 300 ? ANSWER_BYTES_MAX : FAILURE_BYTES_MAX
    this.#isJson = status < 300 && encoding === 'identity'
  }

  /** Why no more of it is wanted, if so: it is too large, or holds more than would be parsed. */
  add(chunk: Buffer): keyof typeof TOO_LONG | undefined {
    this.#bytes += chunk.length
    if (this.#bytes > this.bytesMax) return 'too large'
    this.#body.add(chunk)
    if (!this.#isJson || this.#bytes <= LARGE_BYTES) return undefined
    return this.#holds(chunk) ? undefined : 'too much'
  }

  #holds(chunk: Buffer): boolean {
    if (this.#bounds !== undefined) return this.#bounds.holds(chunk)
    this.#bounds = new Bounds()
    const sofar = this.#body.take()
    this.#body.add(sofar)
    return this.#bounds.holds(sofar)
  }

  take(): Buffer {
    return this.#body.take()
  }
}
