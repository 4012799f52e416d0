/**
 * The work of paths that count the tokens of a request, as the route's first upstream counts them. It costs one request of
 * the tenant's rate.
 */
import { chargeRequest } from '../limits/decision.ts'
import type { Work } from '../pipeline.ts'
import { ESTIMATE } from '../tokens/counter.ts'
import { describeLimits } from '../visit.ts'

export function countWork(answerOf: (tokens: number) => object): Work {
  return async ({ call, request, caller, route, rules }, _dialect, visit) => {
    const { active, gateway, response } = visit
    await chargeRequest({ tenant: caller.tenant, id: call.id }, rules, gateway)
    await describeLimits(visit)
    const [first] = active.lanes.get(route.name)?.targets ?? []
    const { tokens } = await (first?.counter ?? ESTIMATE).count(request)
    const answer = answerOf(tokens)
    response.send(200, 'application/json', JSON.stringify(answer))
  }
}
