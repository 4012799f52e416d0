/** A request whose body the gateway has changed: it is written anew for every upstream. */

import { conversationEstimate } from '../tokens/count.ts'
import type { ModelRequest } from '../wire/inner-form.ts'

/** No upstream speaks it, so no upstream gets the bytes that the client sent. */
const REWRITTEN = 'rewritten'

export function rewritten<Request extends ModelRequest>(
  request: Request,
  body: Request['body'],
): Request {
  const changed = { ...request, body, wire: REWRITTEN, isRewritten: true }
  if (changed.operation !== 'chat' || changed.promptTokens === undefined) return changed
  return { ...changed, promptTokens: conversationEstimate(changed) }
}
