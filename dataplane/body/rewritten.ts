/** A request whose body the gateway has changed, so that it is written again for every upstream. */

import { conversationEstimate } from '../tokens/count.ts'
import type { ModelRequest } from '../wire/inner-form.ts'

/** No upstream uses this dialect, so none gets the bytes of the client. */
const REWRITTEN = 'rewritten'

export function rewritten<Request extends ModelRequest>(
  request: Request,
  body: Request['body'],
): Request {
  const changed = { ...request, body, wire: REWRITTEN, isRewritten: true }
  if (changed.operation !== 'chat' || changed.promptTokens === undefined) return changed
  return { ...changed, promptTokens: conversationEstimate(changed) }
}
