/** Prepares the inputs of embeddings for providers. */
import type { EmbeddingsBody } from '../wire/inner-form.ts'
import { Unsupported, unsupported } from '../wire/unsupported.ts'

/** Throws `unsupported` for token numbers, because they come from the tokenizer of another model. */
export function refuseTokens({ input }: EmbeddingsBody, provider: string): void {
  if (typeof input === 'string' || typeof input[0] === 'string') return
  throw unsupported(provider, 'input', 'send texts instead of lists of tokens')
}

/** All texts in order. Throws the errors of `refuseTokens`. */
export function textsOf(body: EmbeddingsBody, provider: string): readonly string[] {
  refuseTokens(body, provider)
  // `refuseTokens` has just refused lists of tokens.
  const input = body.input as string | readonly string[]
  return typeof input === 'string' ? [input] : input
}

/** Most calls in one batch. */
const CALLS_MAX = 64

/** The upstream accepts a limited number of inputs per call, so a batch may need several calls. */
export class TooManyInputs extends Unsupported {
  readonly most: number

  constructor(provider: string, most: number) {
    const fix = `send at most ${most * CALLS_MAX} texts`
    super(unsupported(provider, 'input', fix).message, ['input'])
    this.most = most
  }

  /** Whether this many inputs need too many calls. */
  isBeyond(items: number): boolean {
    return items > this.most * CALLS_MAX
  }
}

/** Throws `TooManyInputs`. */
export function boundInputs({ length }: readonly string[], most: number, provider: string): void {
  if (length > most) throw new TooManyInputs(provider, most)
}
