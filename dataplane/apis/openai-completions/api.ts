/** POST /v1/completions: the whole pipeline. */

import type { Api } from '../../request/api.ts'
import { handle } from '../../request/pipeline.ts'
import { openAiWire } from '../openai/wire.ts'
import { openAiCompletionsDialect } from './dialect.ts'

export const openAiCompletions: Api = {
  method: 'POST',
  path: '/v1/completions',
  summary: 'A legacy completion of a text or several, through a route.',
  wire: openAiWire,
  run: (visit) => handle(visit, openAiCompletionsDialect),
}
