/** Pictures of a model for a client whose API has no place for them: the answer fails by name, because it would have a gap. */
import { unfitting } from '../providers/failures/classify.ts'
import type { Answer, ModelRequest, Sent } from '../wire/inner-form.ts'
import type { Decoded } from '../wire/provider.ts'

export const PICTURED = unfitting(
  'The model answered with a picture, for which this API has no place: ask it through /v1/chat/completions or /v1/responses.',
)

/** A whole answer as this client can have it. */
export function carried<A extends Answer>(
  decoded: Decoded<A>,
  request: Sent<ModelRequest>,
): Decoded<A> {
  if (decoded.kind === 'failure' || request.takesPictures) return decoded
  const choices = 'choices' in decoded.answer ? decoded.answer.choices : []
  const isLost = choices.some((choice) => 'pictures' in choice)
  return isLost ? { kind: 'failure', failure: PICTURED } : decoded
}
