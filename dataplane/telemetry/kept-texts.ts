/**
 * The texts of a prompt, kept with its trace if the route has keep_texts. Logs, metrics and exports never contain them.
 */
import { deserialize, serialize } from 'node:v8'

export interface KeptText {
  readonly role: string
  readonly text: string
  /** Present if the text is longer. */
  readonly cut?: true
}

export interface ShownTexts {
  /** In their order; only the last ones if they do not all fit. */
  readonly messages: readonly KeptText[]
  /** Number of earlier texts that were not kept. */
  readonly left_out: number
  /** By index of the passages; undefined if they did not fit. */
  readonly passages: readonly (string | undefined)[]
}

interface Said {
  readonly role: string
  readonly text: string
}

/** For one request. A character takes at most two bytes. */
const CHARACTERS_MAX = 32_768
const TEXTS_MAX = 200
const PASSAGES_MAX = 100
/** A client may write any role. */
const ROLE_LENGTH_MAX = 32

/** Stored as bytes, whose size is known and which keep nothing else of the request in memory. */
export class KeptTexts {
  readonly #bytes: Buffer

  constructor(messages: readonly Said[], passages: readonly { readonly text: string }[]) {
    let left = CHARACTERS_MAX
    const take = (text: string) => {
      const taken = text.slice(0, left).toWellFormed()
      left -= taken.length
      return taken
    }
    const kept: KeptText[] = []
    // Passages and the question come last.
    for (const { role, text } of messages.slice(-TEXTS_MAX).reverse()) {
      if (left === 0) break
      const taken = take(text)
      const isCut = taken.length < text.length
      kept.unshift({
        role: role.slice(0, ROLE_LENGTH_MAX),
        text: taken,
        ...(isCut && { cut: true }),
      })
    }
    const beside = passages
      .slice(0, PASSAGES_MAX)
      .map(({ text }) => (left === 0 ? undefined : take(text)))
    const shown: ShownTexts = {
      messages: kept,
      left_out: messages.length - kept.length,
      passages: beside,
    }
    this.#bytes = serialize(shown)
  }

  get bytes(): number {
    return this.#bytes.length
  }

  read(): ShownTexts {
    return deserialize(this.#bytes)
  }
}
