/**
 * Pictures of a model for a client whose API has no pictures: the answer fails with their name, because a part would
 * be missing.
 */
import { unfitting } from '../providers/failures/classify.ts'
import type { Answer, ModelRequest, Sent } from '../wire/inner-form.ts'
import type { Decoded } from '../wire/provider.ts'

export const PICTURED = unfitting(
  'The model answered with a picture, which this API does not support: use /v1/chat/completions or /v1/responses.',
)

/** A whole answer for this client. */
export function carried<A extends Answer>(
  decoded: Decoded<A>,
  request: Sent<ModelRequest>,
): Decoded<A> {
  if (decoded.kind === 'failure' || request.takesPictures) return decoded
  const choices = 'choices' in decoded.answer ? decoded.answer.choices : []
  const isLost = choices.some((choice) => 'pictures' in choice)
  return isLost ? { kind: 'failure', failure: PICTURED } : decoded
}
