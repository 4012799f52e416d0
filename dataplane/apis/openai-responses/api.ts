/** POST /v1/responses, and the count of tokens that it would read. */
import { handle } from '../../pipeline.ts'
import type { Api } from '../contract.ts'
import { countWork } from '../count-tokens.ts'
import { openAiWire } from '../openai/wire.ts'
import { openAiResponsesDialect } from './dialect.ts'

/** Clients lose the code of a failure behind which the connection breaks. */
const wire = { ...openAiWire, endsCleanly: true }

export const openAiResponses: Api = {
  method: 'POST',
  path: '/v1/responses',
  summary: 'A response through a route; nothing is stored.',
  wire,
  run: (visit) => handle(visit, openAiResponsesDialect),
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
      openAiResponsesDialect,
      countWork((input_tokens) => ({ object: 'response.input_tokens', input_tokens })),
    ),
}
