/** Collects the bytes of an answer that is read whole, within bounds. */
import { Gathered } from '../../base/gathered.ts'
import { LARGE_BYTES } from '../../base/heavy-work.ts'
import { ANSWER_BYTES_MAX, AnswerTooLarge } from '../../base/kept-text.ts'
import { Bounds, valuesMaxOf } from '../../json/bounds.ts'
import type { ModelRequest, Sent } from '../../wire/inner-form.ts'
import { decodeBody, type Encoding } from './decoding.ts'
import { parseEarly } from './early-parse.ts'

/** 2,048 vectors of 1,536 numbers with a line for each are 70 MiB. */
const VECTOR_BYTES_MAX = 36_864
const FAILURE_BYTES_MAX = 65_536

type SizeFault = 'too large' | 'too much'

export class WholeAnswer {
  readonly bytesMax: number
  readonly #isJson: boolean
  readonly #body = new Gathered({ ownsPieces: true })
  #bytes = 0
  #bounds: Bounds | undefined

  readonly valuesMax: number

  /** The encoding of a failure is checked after its last byte. */
  constructor(status: number, encoding: Encoding | undefined, request: Sent<ModelRequest>) {
    const vectors = request.operation === 'embeddings' ? request.items : 0
    this.valuesMax = valuesMaxOf(vectors)
    const bytesMax = Math.max(ANSWER_BYTES_MAX, vectors * VECTOR_BYTES_MAX)
    this.bytesMax = status < 300 ? bytesMax : FAILURE_BYTES_MAX
    // Subtitles of a recording are not JSON.
    const isText = request.operation === 'transcription' && !request.isJson
    this.#isJson = status < 300 && encoding === 'identity' && !isText
  }

  /** Why the rest is not read: it is too large, or has more values than the parser accepts. */
  add(chunk: Buffer): SizeFault | undefined {
    this.#bytes += chunk.length
    if (this.#bytes > this.bytesMax) return 'too large'
    this.#body.add(chunk)
    if (!this.#isJson || this.#bytes <= LARGE_BYTES) return undefined
    return this.#holds(chunk) ? undefined : 'too much'
  }

  #holds(chunk: Buffer): boolean {
    if (this.#bounds !== undefined) return this.#bounds.holds(chunk)
    this.#bounds = new Bounds(this.valuesMax)
    const sofar = this.#body.take()
    this.#body.add(sofar)
    return this.#bounds.holds(sofar)
  }

  /** The text for an answer whose rest is not read. */
  words(fault: SizeFault): string {
    return fault === 'too large'
      ? new AnswerTooLarge(this.bytesMax).message
      : 'The answer of the upstream is not a JSON object.'
  }

  take(): Buffer {
    return this.#body.take()
  }
}

/**
 * Calls back with the decoded answer; undefined: it cannot be decoded, or is too large. Answers of megabytes are parsed
 * before the call.
 */
export function decodeWhole(
  answer: WholeAnswer | undefined,
  encoding: Encoding | undefined,
  callback: (decoded: Buffer | undefined) => void,
): void {
  decodeBody(answer?.take() ?? Buffer.alloc(0), encoding, answer?.bytesMax ?? 0, (decoded) => {
    const parsing = decoded && parseEarly(decoded, answer?.valuesMax)
    if (parsing === undefined) callback(decoded)
    else {
      void parsing.then(
        () => callback(decoded),
        () => callback(undefined),
      )
    }
  })
}
