/** The open blocks of an answer, by the upstream's index. */
import type { KeptText } from '../../base/kept-text.ts'
import { countOf } from '../../json/values.ts'
import type { Failure } from '../../wire/provider.ts'
import { malformed } from '../failures/classify.ts'

/** Most blocks, and most tool calls, in one answer; models create far fewer. */
export const CALLS_MAX = 4_096

/** The failure for an index that is not a whole number below the bound. */
export const BAD_INDEX: Failure = malformed(
  `An index in the upstream's answer is not a whole number below ${CALLS_MAX}.`,
)

export function indexIn(value: unknown): number | undefined {
  const index = countOf(value)
  return index !== undefined && index < CALLS_MAX ? index : undefined
}

/** Counts the bytes that it stores. */
export class Blocks<Block> {
  readonly #kept: KeptText
  readonly #blocks = new Map<number, Block>()

  constructor(kept: KeptText) {
    this.#kept = kept
  }

  get size(): number {
    return this.#blocks.size
  }

  get(index: unknown): Block | undefined {
    return this.#blocks.get(index as number)
  }

  /** `texts`: the texts of the block. Returns false for an index that no block can have. Throws AnswerTooLarge. */
  begin(index: unknown, block: Block, ...texts: readonly string[]): boolean {
    const place = indexIn(index)
    if (place === undefined) return false
    this.#kept.keepEntry(...texts)
    this.#blocks.set(place, block)
    return true
  }

  end(index: unknown): void {
    this.#blocks.delete(index as number)
  }
}
