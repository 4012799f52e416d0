/**
 * Paths that count the tokens of a request. The route's first upstream counts them if it can, as for a client of the
 * same API. Otherwise the gateway counts them for that upstream. A count costs one request of the tenant's rate.
 */

import { inSteps } from '../base/steps.ts'
import { recall } from '../body/request.ts'
import type { Route } from '../config/snapshot.ts'
import { Unwritten } from '../json/unwritten.ts'
import { countOf, parsed, recordOf } from '../json/values.ts'
import { chargeRequest } from '../limits/decision.ts'
import { refuseExtras } from '../providers/extras/asked.ts'
import { isNoPath } from '../providers/native/no-path.ts'
import type { Visit } from '../request/api.ts'
import type { Work } from '../request/pipeline.ts'
import { totalOf } from '../request/stages/admit.ts'
import { describeLimits } from '../request/visit.ts'
import { ESTIMATE } from '../tokens/counter.ts'
import { pairOf } from '../translation/pair.ts'
import { isLacking, noteLacking } from '../upstream/answer/lacking-wires.ts'
import { askBeside } from '../upstream/answer/side-question.ts'
import { refusalOf } from '../upstream/attempt/refusal.ts'
import type { Target } from '../upstream/live/targets.ts'
import { laneOf } from '../upstream/named/lanes.ts'
import type { Dialect } from '../wire/dialect.ts'
import type { ModelRequest } from '../wire/inner-form.ts'
import { Unsupported } from '../wire/unsupported.ts'

export function countWork(answerOf: (tokens: number) => object): Work {
  return async ({ call, request, caller, route, rules }, dialect, visit) => {
    const { active, gateway, notes, response } = visit
    await chargeRequest({ tenant: caller.tenant, id: call.id }, rules, gateway)
    await describeLimits(visit)
    const [first] = laneOf(route, active.lanes).targets
    let answer = first && (await countAt(first, request, dialect, { route, visit }))
    if (answer === undefined) {
      await recall(request, dialect.reading)
      const { tokens, exact } = await (first?.counter ?? ESTIMATE).count(request)
      notes.countedTokens(exact ? 'exact' : 'estimated')
      answer = answerOf(tokens)
    } else notes.countedTokens('upstream')
    response.send(200, 'application/json', JSON.stringify(answer))
  }
}

interface Where {
  readonly route: Route
  readonly visit: Visit
}

/** The upstream's own answer; undefined if it does not count. Throws if it refuses the request. */
async function countAt(
  target: Target,
  request: ModelRequest,
  dialect: Dialect,
  { route, visit: { call, gateway, response } }: Where,
): Promise<object | undefined> {
  const { settings, state, name } = target
  const pair = pairOf(dialect, settings.provider, settings.native)
  const path = pair?.counts
  // Guardrails have not judged the texts that this call would send.
  if (pair === undefined || path === undefined || route.section.guardrails.length > 0)
    return undefined
  const asked = dialect.wire + path
  if (isLacking(state, asked) || state.outBecause(gateway.clock.now()) !== undefined)
    return undefined
  const { presence } = response
  const now = gateway.clock.now()
  // An upstream that is too slow leaves the gateway time for its own count.
  const dueAt = (now + totalOf({ stream: false }, route, call.receivedAt, now)) / 2
  try {
    refuseExtras(request, settings.provider, settings.allow)
    const answer = await askBeside(
      target,
      async (current) => {
        const sent = pair.encode(request, current, undefined)
        const body = sent.body instanceof Unwritten ? await inSteps(sent.body.whole()) : sent.body
        return { method: 'POST', path: sent.path + path, headers: sent.headers, body }
      },
      { clock: gateway.clock, presence, dueAt },
    )
    if (answer.kind === 'answer') {
      response.upstream = name
      const counted = recordOf(parsed(answer.body.toString()))
      return countOf(counted.input_tokens) === undefined ? undefined : counted
    }
    const { failure } = answer
    if (isNoPath(failure)) noteLacking(state, asked)
    if (failure.class !== 'client' && failure.class !== 'context') return undefined
    throw refusalOf(failure, name, request)
  } catch (error) {
    if (error instanceof Unsupported) return undefined
    throw error
  }
}
