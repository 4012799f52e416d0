/** The limit of tokens that a request is sent with. */
import type { ChatBody } from '../wire/inner-form.ts'
import type { Capabilities } from '../wire/models/capabilities.ts'

/** The client's limit, else the gateway's; a model is known to answer with no more than `outputMost`. */
export function limitOf(
  body: Pick<ChatBody, 'max_completion_tokens' | 'max_tokens'>,
  bound: number | undefined,
  { outputMost = Number.POSITIVE_INFINITY }: Capabilities,
): number | undefined {
  const limit = body.max_completion_tokens ?? body.max_tokens ?? bound
  return limit === undefined ? undefined : Math.min(limit, outputMost)
}
