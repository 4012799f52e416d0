/** POST /v1/chat/completions: the whole pipeline. */

import type { Api } from '../../request/api.ts'
import { handle } from '../../request/pipeline.ts'
import { openAiWire } from '../openai/wire.ts'
import { openAiChatDialect } from './dialect.ts'

export const openAiChat: Api = {
  method: 'POST',
  path: '/v1/chat/completions',
  summary: 'A chat completion through a route.',
  wire: openAiWire,
  run: (visit) => handle(visit, openAiChatDialect),
}
