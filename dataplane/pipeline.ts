/** The life of one chat completion, top-down: a line is a stage, a stage is a file of that name. */
import type { Visit } from './gateway.ts'
import { admit } from './stages/admit.ts'
import { attempt } from './stages/attempt.ts'
import { authenticate } from './stages/authenticate.ts'
import { match } from './stages/match.ts'
import { receive } from './stages/receive.ts'
import { relay } from './stages/relay.ts'
import { settle } from './stages/settle.ts'

export async function handle(visit: Visit): Promise<void> {
  const { snapshot } = visit.active
  const caller = authenticate(visit)
  const received = receive(visit, snapshot.section.gateway.max_request_bytes)
  // Most bodies come with their head.
  const request = received instanceof Promise ? await received : received
  const route = match(request.body.model, caller, visit)
  const decided = admit(request, caller, route, visit)
  // A store in this process answers at once; only a shared one is waited for.
  const admission = decided instanceof Promise ? await decided : decided
  try {
    const reply = await attempt(request, admission, visit)
    const relayed = relay(reply, visit)
    if (relayed !== undefined) await relayed
  } finally {
    settle(request, admission, visit)
  }
}
