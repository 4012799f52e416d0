/**
 * The limits for requests that use no model: they cost a request of the rate, and their bodies have the usual bounds.
 */

import type { Rules } from '../../../accounts/store.ts'
import { readObject } from '../../../body/request.ts'
import type { Caller } from '../../../call/call.ts'
import { chargeRequest, refuseKnown } from '../../../limits/decision.ts'
import type { Visit } from '../../../request/api.ts'
import { judgeHead, receive } from '../../../request/stages/receive.ts'
import { describeLimits } from '../../../request/visit.ts'

interface KeptAsker {
  readonly caller: Caller
  readonly rules: Rules
  readonly visit: Visit
}

/** Takes one request from the rate. Throws if the tenant's rate is used up. */
export async function charge({ tenant, key }: Caller, visit: Visit): Promise<Rules> {
  const { call, active, gateway } = visit
  const rules = active.snapshot.limits.rules.of(tenant, key.record.id)
  refuseKnown(tenant, rules, gateway, true)
  await chargeRequest({ tenant, id: call.id }, rules, gateway)
  await describeLimits(visit)
  return rules
}

/** Runs the work on the JSON object of the request. Its bytes count as held until the work ends. */
export async function withObject(
  { caller, rules, visit }: KeptAsker,
  work: (body: Readonly<Record<string, unknown>>) => Promise<void>,
): Promise<void> {
  const { call, active, gateway } = visit
  const settings = active.snapshot.section.gateway
  judgeHead(call.incoming, settings.max_request_bytes)
  const held = gateway.bodies.enter(caller.tenant, true)
  try {
    await work(await readObject(await receive(call, held, { settings, rules }, gateway)))
  } finally {
    held.leave()
  }
}
