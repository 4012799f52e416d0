/** The inputs of embeddings, as providers want them. */
import type { EmbeddingsBody } from '../inner-form.ts'
import { unsupported } from './unsupported.ts'

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
