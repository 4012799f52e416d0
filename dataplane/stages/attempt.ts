/** Which upstream, how often, and when to stop: one attempt count and one deadline over retries and fallbacks. */
import type { ChatRequest } from '../call.ts'
import { GatewayError } from '../errors.ts'
import type { Visit } from '../gateway.ts'
import { Attempt, type Outcome } from '../upstream/attempt.ts'
import { refusalOf } from '../upstream/refusal.ts'
import type { Target } from '../upstream/targets.ts'
import type { Admission } from './admit.ts'
import type { Reply } from './relay.ts'

export async function attempt(
  request: ChatRequest,
  admission: Admission,
  visit: Visit,
): Promise<Reply> {
  const target = admission.targets[0]
  if (target === undefined) throw new GatewayError('ERR_GW_NO_HEALTHY_UPSTREAM', 'none')
  const outcome = await attemptOnce(request, target, admission, visit)
  if (outcome.kind === 'left') throw new GatewayError('ERR_GW_STREAM_ABORTED', 'The client left.')
  if (outcome.kind === 'failed')
    throw refusalOf(outcome.failure, target.name, [target.settings.credential])
  return outcome
}

async function attemptOnce(
  request: ChatRequest,
  target: Target,
  admission: Admission,
  visit: Visit,
): Promise<Outcome> {
  const { response, trace, gateway } = visit
  response.upstream = target.name
  const metered = admission.meter.begin(target.name, target.settings.model)
  const one = new Attempt(request, target, metered, gateway, admission.totalAt)
  one.send(trace.request_id, admission.maxTokens)
  response.onLeave = () => one.leave()
  const outcome = await one.outcome
  if (outcome.kind === 'whole') metered.usage = outcome.usage
  return outcome
}
