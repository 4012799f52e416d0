/** POST /v1/responses, the count of a request's tokens, and the compaction of a long conversation. */

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
    'An estimate of the tokens in the input of a response; it costs one request of the rate, and needs no budget and no slot.',
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
  summary: 'Compacts a long conversation, at an upstream that supports it.',
  wire,
  run: (visit) => handle(visit, compactDialect, respond),
}
