/** The keys of a pod: accepted in the order of their sequence, in any state of the configuration. */
import { KeysBook } from '../delivery/keys-book.ts'
import { type KeyRecord, keysHashOf } from '../delivery/signed.ts'
import type { ReadKeys } from '../delivery/signed-shape.ts'
import { type PodResponse, refuse } from './proof.ts'

export class PodKeys {
  readonly book = new KeysBook()
  /** 0: none have arrived. */
  sequence = 0
  #documentHash = ''

  async take(document: ReadKeys, documentHash: string): Promise<PodResponse> {
    if (documentHash === this.#documentHash) return this.#taken([])
    const refusal = 'changes' in document ? this.#unfit(document) : this.#outdated(document)
    if (refusal !== undefined) return refusal
    const isKnown = !('changes' in document) && document.sequence === this.sequence
    const problems = isKnown
      ? []
      : 'changes' in document
        ? await this.book.change(document.changes.put, document.changes.remove)
        : await this.book.replace(document.keys)
    this.sequence = document.sequence
    this.#documentHash = documentHash
    return this.#taken(problems)
  }

  status() {
    const { book, sequence } = this
    if (sequence === 0) return { sequence, hash: null, setHash: null, count: book.size }
    // Operators of releases up to 1.4 read `hash`.
    return { sequence, hash: book.legacyHash, setHash: book.hash, count: book.size }
  }

  #taken(problems: readonly unknown[]): PodResponse {
    return { status: 200, body: { ...this.status(), problems } }
  }

  #unfit({ sequence, changes }: Extract<ReadKeys, { changes: unknown }>): PodResponse | undefined {
    if (sequence <= changes.base) {
      return refuse(400, 'malformed', 'The sequence must be above the base of the changes.')
    }
    if (changes.base === this.sequence) return undefined
    const message = `The changes begin at sequence ${changes.base}; send the full copy.`
    return refuse(409, 'other_base', message, { have: this.sequence })
  }

  #outdated({ sequence, keys }: Extract<ReadKeys, { keys: unknown }>): PodResponse | undefined {
    const have = this.sequence
    if (sequence > have) return undefined
    if (sequence < have) {
      const message = `Newer keys are in force; send a sequence above ${have}.`
      return refuse(409, 'older_sequence', message, { have })
    }
    // Compares records of the signer's release, with any members.
    if (keysHashOf(keys as readonly KeyRecord[]) === this.book.hash) return undefined
    const message = `Other keys have this sequence; send them with one above ${have}.`
    return refuse(409, 'sequence_conflict', message, { have })
  }
}
