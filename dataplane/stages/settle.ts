/** What did it use? Always, exactly once, and never throwing. */

import { charge } from '../budgets/charging.ts'
import type { ChatRequest } from '../call.ts'
import type { Visit } from '../gateway.ts'
import type { Admission } from './admit.ts'

export function settle(
  request: ChatRequest,
  admission: Admission,
  { trace, gateway }: Visit,
): void {
  charge(admission.lease, gateway)
  const { metrics } = gateway
  const route = admission.route.name
  admission.inFlight.value--
  for (const { attempt, usage } of admission.meter.charges(request)) {
    metrics.tokens.at(route, attempt.upstream, 'prompt').value += usage.promptTokens
    metrics.tokens.at(route, attempt.upstream, 'completion').value += usage.completionTokens
    trace.prompt_tokens = (trace.prompt_tokens ?? 0) + usage.promptTokens
    trace.completion_tokens = (trace.completion_tokens ?? 0) + usage.completionTokens
    if (usage.estimated) trace.usage_estimated = true
  }
}
