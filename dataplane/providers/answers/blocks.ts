/** The blocks of an answer that have begun, by the index that the upstream gives them. */
import type { KeptText } from '../../base/kept-text.ts'
import { countOf } from '../../json/values.ts'
import type { Failure } from '../../wire/provider.ts'
import { malformed } from '../failures/classify.ts'

/** Blocks, and calls of tools, that one answer may have: many times as many as any model makes. */
export const CALLS_MAX = 4_096

/** For an event whose index is not a whole number below the bound. */
export const BAD_INDEX: Failure = malformed(
  `The upstream numbered a part of its answer with something else than a whole number below ${CALLS_MAX}.`,
)

export function indexIn(value: unknown): number | undefined {
  const index = countOf(value)
  return index !== undefined && index < CALLS_MAX ? index : undefined
}

/** Counts what it keeps. */
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

  /** `texts` are those that the block holds. False for an index that no block can have. Throws AnswerTooLarge. */
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
