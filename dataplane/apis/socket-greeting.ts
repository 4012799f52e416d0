/** Answers a WebSocket handshake: a caller that may send requests gets a connection. */
import type { Visit } from '../request/api.ts'
import { permit } from '../request/stages/match.ts'
import { identify } from '../request/visit.ts'
import { acceptance } from '../websocket/handshake.ts'

/** Throws the refusals of a request before its body is read. */
export async function greet(visit: Visit): Promise<void> {
  permit(await identify(visit))
  visit.response.upgrade(acceptance(visit.call.incoming))
}
