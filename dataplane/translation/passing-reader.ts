/** Reads a stream that passes to a client of the same wire, and applies the changes of its API to each event. */

import type { KeptText } from '../base/kept-text.ts'
import type { StreamPasser } from '../wire/dialect.ts'
import type { Usage } from '../wire/inner-form.ts'
import type { WireEvent, WireMeaning, WireReader } from '../wire/provider.ts'

/** Most bytes of events that are held before the first content. */
const HELD_BYTES_MAX = 1_048_576

export class PassingReader implements WireReader {
  readonly passesComments = false
  readonly facts: WireReader['facts']
  readonly #reader: WireReader
  readonly #passer: StreamPasser
  readonly #kept: KeptText
  #hasContent = false
  #heldBytes = 0

  constructor(reader: WireReader, passer: StreamPasser, kept: KeptText) {
    this.#reader = reader
    this.facts = reader.facts
    this.#passer = passer
    this.#kept = kept
  }

  read(event: WireEvent): WireMeaning {
    const meaning = this.#reader.read(event)
    if (meaning.failure !== undefined || meaning.out !== 'same') return meaning
    this.#hasContent ||= meaning.content || meaning.done
    if (!this.#hasContent && this.#isTooMuch(event)) {
      const message = 'The upstream sent 1 MiB without any content.'
      return { ...meaning, out: '', failure: { class: 'malformed', message } }
    }
    return { ...meaning, out: this.#passer.write(event, this.#hasContent) }
  }

  end(usage: Usage | undefined): string {
    return this.#reader.end(usage)
  }

  /** Empty events count too. Throws AnswerTooLarge. */
  #isTooMuch({ event, data }: WireEvent): boolean {
    this.#kept.keepEntry(event, data)
    this.#heldBytes += data.length
    return this.#heldBytes > HELD_BYTES_MAX
  }
}
