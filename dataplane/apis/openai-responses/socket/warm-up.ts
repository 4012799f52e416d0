/** Reads and stores a message that prepares a conversation, without a model. It costs one request of the rate. */
import { invalid } from '../../../body/request.ts'
import { chargeRequest } from '../../../limits/decision.ts'
import type { Work } from '../../../request/pipeline.ts'
import { describeLimits } from '../../../request/visit.ts'
import type { ChatRequest } from '../../../wire/inner-form.ts'
import { usageOf } from '../output.ts'
import { sessionOf } from '../session.ts'

const NO_USAGE = usageOf({
  promptTokens: 0,
  completionTokens: 0,
  cachedTokens: 0,
  reasoningTokens: 0,
  estimated: false,
})

export const warmUp: Work = async ({ call, request, caller, rules }, _dialect, visit) => {
  const { gateway, notes, response } = visit
  const session = sessionOf(request as ChatRequest)
  const { state } = session
  if (state?.previous !== undefined || state?.conversation !== undefined)
    throw invalid(`"generate" must not be false with "${state.param}".`, 'generate')
  notes.asks(request)
  await chargeRequest({ tenant: caller.tenant, id: call.id }, rules, gateway)
  await describeLimits(visit)
  response.commit({ drained() {} })
  const completed = session.response('completed', { usage: NO_USAGE })
  const events = session.begun() + session.event('response.completed', { response: completed })
  response.write(Buffer.from(events))
  response.end()
}
