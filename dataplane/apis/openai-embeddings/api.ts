/** POST /v1/embeddings: the whole pipeline. */

import type { Api } from '../../request/api.ts'
import { handle } from '../../request/pipeline.ts'
import { openAiWire } from '../openai/wire.ts'
import { openAiEmbeddingsDialect } from './dialect.ts'

export const openAiEmbeddings: Api = {
  method: 'POST',
  path: '/v1/embeddings',
  summary: 'Vectors of one text or several, through a route.',
  wire: openAiWire,
  run: (visit) => handle(visit, openAiEmbeddingsDialect),
}
