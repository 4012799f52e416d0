/** POST /v1/messages, and the count of tokens that it would read. */
import { chargeRequest } from '../../limits/decision.ts'
import { handle, type Work } from '../../pipeline.ts'
import { estimatePromptTokens } from '../../tokens/count.ts'
import { describeLimits } from '../../visit.ts'
import type { Api } from '../contract.ts'
import { anthropicCountDialect, anthropicMessagesDialect } from './dialect.ts'
import { anthropicWire } from './wire.ts'

export const anthropicMessages: Api = {
  method: 'POST',
  path: '/v1/messages',
  summary: "A message through a route, as Anthropic's SDKs ask for it.",
  wire: anthropicWire,
  run: (visit) => handle(visit, anthropicMessagesDialect),
}

export const anthropicCountTokens: Api = {
  method: 'POST',
  path: '/v1/messages/count_tokens',
  summary: 'About how many tokens a message has; it costs one request of the rate and no budget.',
  wire: anthropicWire,
  run: (visit) => handle(visit, anthropicCountDialect, answerCount),
}

const answerCount: Work = async ({ call, request, caller, rules }, _dialect, visit) => {
  const { gateway, response } = visit
  await chargeRequest({ tenant: caller.tenant, id: call.id }, rules, gateway)
  await describeLimits(visit)
  const input_tokens = estimatePromptTokens(request)
  response.send(200, 'application/json', JSON.stringify({ input_tokens }))
}
