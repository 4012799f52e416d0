/** Ids of the calls in one answer: each is new in its conversation and uses letters that the client's API accepts. */
import { createHash } from 'node:crypto'
import type { KeptText } from '../../base/kept-text.ts'
import type { ChatRequest, Sent } from '../../wire/inner-form.ts'

/** The part of a request that names the existing ids of its conversation. */
export type Asked = Pick<Sent<ChatRequest>, 'bytes' | 'wire'>

/** Clients of Anthropic's API send back only ids of this form. */
const OF_MESSAGES = /^[a-zA-Z0-9_-]{1,64}$/
export const MESSAGES = 'anthropic-messages'
/** Enough text to distinguish two requests: the newest message comes last. */
const SEED_BYTES_MAX = 4_096
/** An answer with thousands of calls must not search a large request for each. Generated ids need no search. */
const SEARCHED_BYTES_MAX = 67_108_864

export class CallIds {
  readonly #asked: Asked
  readonly #given = new Set<string>()
  readonly #kept: KeptText | undefined
  #seed: string | undefined
  #searchedBytes = 0

  /** `kept` counts the ids, for readers that store nothing else about a call. */
  constructor(asked: Asked, kept?: KeptText) {
    this.#asked = asked
    this.#kept = kept
  }

  /**
   * The upstream's own id if the client can use it. Otherwise an id derived from it and from the call's `place`. The
   * result is not random, so reading the answer again gives the same id. Throws AnswerTooLarge.
   */
  of(own: string | undefined, place: string): string {
    if (own && this.#fits(own)) return this.#take(own)
    for (let round = 0; ; round++) {
      const made = this.#made(`${place} ${own ?? ''} ${round}`)
      if (!this.#isTaken(made)) return this.#take(made)
    }
  }

  #fits(own: string): boolean {
    if (this.#searchedBytes > SEARCHED_BYTES_MAX) return false
    const isWritten = this.#asked.wire !== MESSAGES || OF_MESSAGES.test(own)
    return isWritten && !this.#isTaken(own)
  }

  #take(id: string): string {
    this.#kept?.keepEntry(id)
    this.#given.add(id)
    return id
  }

  /** An id of the conversation is a string in the request. */
  #isTaken(id: string): boolean {
    if (this.#given.has(id)) return true
    if (this.#searchedBytes > SEARCHED_BYTES_MAX) return false
    const { bytes } = this.#asked
    this.#searchedBytes += bytes.length
    return bytes.includes(JSON.stringify(id))
  }

  #made(seed: string): string {
    const { bytes, wire } = this.#asked
    this.#seed ??= createHash('sha256').update(bytes.subarray(-SEED_BYTES_MAX)).digest('base64url')
    const hash = createHash('sha256').update(`${this.#seed} ${seed}`).digest('hex')
    return `${wire === MESSAGES ? 'toolu' : 'call'}_${hash.slice(0, 24)}`
  }
}

/** A server that numbers its calls repeats the same ids in each answer. */
export function isNumber(id: string): boolean {
  return /^[0-9]+$/.test(id)
}
