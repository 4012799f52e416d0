/** The inputs of embeddings, as providers want them. */
import type { EmbeddingsBody } from '../wire/inner-form.ts'
import { Unsupported, unsupported } from '../wire/unsupported.ts'

/** Throws `unsupported` for token numbers: a client counts them by another model's tokenizer. */
export function refuseTokens({ input }: EmbeddingsBody, provider: string): void {
  if (typeof input === 'string' || typeof input[0] === 'string') return
  throw unsupported(provider, 'input', 'send texts instead of lists of tokens')
}

/** All texts in their order. Throws as `refuseTokens`. */
export function textsOf(body: EmbeddingsBody, provider: string): readonly string[] {
  refuseTokens(body, provider)
  // Lists of tokens have just been refused.
  const input = body.input as string | readonly string[]
  return typeof input === 'string' ? [input] : input
}

/** Calls that one batch may become. */
const CALLS_MAX = 64

/** An upstream takes fewer inputs a call: the batch may become several calls. */
export class TooManyInputs extends Unsupported {
  readonly most: number

  constructor(provider: string, most: number) {
    const fix = `send at most ${most * CALLS_MAX} texts`
    super(unsupported(provider, 'input', fix).message, ['input'])
    this.most = most
  }

  /** Whether as many inputs become too many calls. */
  isBeyond(items: number): boolean {
    return items > this.most * CALLS_MAX
  }
}

/** Throws `TooManyInputs`. */
export function boundInputs({ length }: readonly string[], most: number, provider: string): void {
  if (length > most) throw new TooManyInputs(provider, most)
}
