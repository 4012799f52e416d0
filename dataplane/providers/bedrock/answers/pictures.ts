/** Pictures of the model: one block of an answer, in several pieces in a stream. */
import type { KeptText } from '../../../base/kept-text.ts'
import { isRecord, type Json, recordOf, textOf } from '../../../json/values.ts'
import type { Picture } from '../../../wire/inner-form.ts'
import type { Failure } from '../../../wire/provider.ts'
import { Blocks } from '../../answers/blocks.ts'
import { unfitting, unlikeAsked } from '../../failures/classify.ts'

const OTHERS = ['audio', 'document', 'video'] as const

export function pictureIn({ image }: Json): Picture | undefined {
  const { format, source } = recordOf(image)
  const data = textOf(recordOf(source).bytes)
  return data === undefined ? undefined : pictureOf(format, data)
}

/** The failure for a block that no API here supports, or for a picture that the model could not create. */
export function mediaFailure(block: Json): Failure | undefined {
  const isLost = OTHERS.some((name) => isRecord(block[name]))
  const { error } = recordOf(block.image)
  if (!isLost && error === undefined) return undefined
  if (isLost)
    return unfitting(
      'The model answered with media other than pictures, which no API of the gateway supports.',
    )
  return unlikeAsked(textOf(recordOf(error).message) ?? 'The model could not create its picture.')
}

export class PictureReader {
  readonly #kept: KeptText
  readonly #open: Blocks<{ readonly format: unknown; readonly pieces: Buffer[] }>

  constructor(kept: KeptText) {
    this.#kept = kept
    this.#open = new Blocks(kept)
  }

  /** Returns false for an index that no block can have. Throws AnswerTooLarge. */
  begin(index: unknown, { format }: Json): boolean {
    return this.#open.begin(index, { format, pieces: [] })
  }

  /** Throws AnswerTooLarge. */
  add(index: unknown, { source }: Json): void {
    const data = textOf(recordOf(source).bytes) ?? ''
    this.#kept.keep(data)
    this.#open.get(index)?.pieces.push(Buffer.from(data, 'base64'))
  }

  end(index: unknown): Picture | undefined {
    const open = this.#open.get(index)
    this.#open.end(index)
    return open && pictureOf(open.format, Buffer.concat(open.pieces).toString('base64'))
  }
}

function pictureOf(format: unknown, data: string): Picture {
  return { url: `data:image/${textOf(format) ?? 'png'};base64,${data}` }
}
