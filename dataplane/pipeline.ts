/** The life of one chat completion, top-down: a line is a stage, a stage is a file of that name. */
import { understand } from './body/chat.ts'
import type { Caller, ChatRequest } from './call.ts'
import type { Route } from './config/snapshot.ts'
import type { Visit } from './gateway.ts'
import { chargeRefused } from './limits/decision.ts'
import { admit, admitsNone } from './stages/admit.ts'
import { attempt } from './stages/attempt.ts'
import { match, permit } from './stages/match.ts'
import { judgeHead, receive } from './stages/receive.ts'
import { relay } from './stages/relay.ts'
import { settle } from './stages/settle.ts'
import { identify } from './visit.ts'

export async function handle(visit: Visit): Promise<void> {
  const { max_request_bytes } = visit.active.snapshot.section.gateway
  const caller = identify(visit)
  judgeHead(visit, max_request_bytes)
  permit(caller)
  admitsNone(caller, visit)
  const held = visit.gateway.bodies.enter(caller.tenant)
  let isJudged = false
  try {
    const received = receive(held, caller, visit, max_request_bytes)
    // Most bodies come with their head.
    const scanned = received instanceof Promise ? await received : received
    const route = match(scanned.model, caller, visit.active.snapshot)
    visit.trace.model = scanned.model
    visit.response.route = route.name
    const understood = understand(scanned, secondsOf(visit))
    const request = understood instanceof Promise ? await understood : understood
    isJudged = true
    await serve(request, caller, route, visit)
  } catch (error) {
    if (!isJudged && held.isLarge) await chargeRefused(caller, visit)
    throw error
  } finally {
    held.leave()
  }
}

async function serve(
  request: ChatRequest,
  caller: Caller,
  route: Route,
  visit: Visit,
): Promise<void> {
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

function secondsOf({ gateway }: Visit): number {
  return Math.floor(gateway.clock.wall() / 1000)
}
