/** POST /v1/responses, the count of tokens that it would read, and the conversation made compact. */

import type { Api } from '../../request/api.ts'
import { handle } from '../../request/pipeline.ts'
import { countWork } from '../count-tokens.ts'
import { compactDialect, inputTokensDialect, openAiResponsesDialect } from './dialect.ts'
import { respond, stateless } from './kept/work.ts'
import { responsesSocket } from './socket/api.ts'
import { responsesWire as wire } from './wire.ts'

export const openAiResponses: Api = {
  method: 'POST',
  path: '/v1/responses',
  summary: 'A response through a route; the gateway stores none.',
  wire,
  run: (visit) => handle(visit, openAiResponsesDialect, respond),
  socket: responsesSocket,
}

export const openAiInputTokens: Api = {
  method: 'POST',
  path: '/v1/responses/input_tokens',
  summary:
    'About how many tokens the input of a response has; it costs one request of the rate and no budget.',
  wire,
  run: (visit) =>
    handle(
      visit,
      inputTokensDialect,
      stateless(countWork((input_tokens) => ({ object: 'response.input_tokens', input_tokens }))),
    ),
}

export const openAiCompaction: Api = {
  method: 'POST',
  path: '/v1/responses/compact',
  summary: 'A long conversation made compact, by an upstream that can.',
  wire,
  run: (visit) => handle(visit, compactDialect, respond),
}
