/** The token limit that a request carries. */
import type { ChatBody } from '../wire/inner-form.ts'
import type { Capabilities } from '../wire/models/capabilities.ts'

/** The client's limit, else the gateway's, at most the model's limit of output. */
export function limitOf(
  body: Pick<ChatBody, 'max_completion_tokens' | 'max_tokens'>,
  bound: number | undefined,
  { outputMost = Number.POSITIVE_INFINITY }: Capabilities,
): number | undefined {
  const limit = body.max_completion_tokens ?? body.max_tokens ?? bound
  return limit === undefined ? undefined : Math.min(limit, outputMost)
}
