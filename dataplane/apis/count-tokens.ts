/** The work of paths that count the tokens of a request: it costs one request of the tenant's rate, and no upstream is asked. */
import { chargeRequest } from '../limits/decision.ts'
import type { Work } from '../pipeline.ts'
import { estimatePromptTokens } from '../tokens/count.ts'
import { describeLimits } from '../visit.ts'

export function countWork(answerOf: (tokens: number) => object): Work {
  return async ({ call, request, caller, rules }, _dialect, visit) => {
    const { gateway, response } = visit
    await chargeRequest({ tenant: caller.tenant, id: call.id }, rules, gateway)
    await describeLimits(visit)
    const answer = answerOf(estimatePromptTokens(request))
    response.send(200, 'application/json', JSON.stringify(answer))
  }
}
