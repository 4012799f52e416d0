/** POST /v1/messages, and the count of a request's tokens. */

import type { Api } from '../../request/api.ts'
import { handle } from '../../request/pipeline.ts'
import { countWork } from '../count-tokens.ts'
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
  summary:
    'An estimate of the tokens in a message; it costs one request of the rate, and needs no budget and no slot.',
  wire: anthropicWire,
  run: (visit) =>
    handle(
      visit,
      anthropicCountDialect,
      countWork((input_tokens) => ({ input_tokens })),
    ),
}
