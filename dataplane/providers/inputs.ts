/** The inputs of embeddings, as providers want them. */
import { GatewayError } from '../base/errors.ts'
import type { EmbeddingsBody } from '../inner-form.ts'

/** Throws ERR_GW_INVALID_REQUEST for token numbers: a client counts them by another model's tokenizer. */
export function refuseTokens({ input }: EmbeddingsBody, provider: string): void {
  if (typeof input === 'string' || typeof input[0] === 'string') return
  throw new GatewayError(
    'ERR_GW_INVALID_REQUEST',
    `Upstreams of ${provider} take texts, not lists of tokens; send "input" as text.`,
    { param: 'input' },
  )
}

/** All texts in their order. Throws as `refuseTokens`. */
export function textsOf(body: EmbeddingsBody, provider: string): readonly string[] {
  refuseTokens(body, provider)
  // Lists of tokens have just been refused.
  const input = body.input as string | readonly string[]
  return typeof input === 'string' ? [input] : input
}
