/** POST /v1/rerank and /v2/rerank: the whole pipeline. Cohere's SDKs use both paths, Jina's clients the first. */

import type { Api } from '../../request/api.ts'
import { handle } from '../../request/pipeline.ts'
import { openAiWire } from '../openai/wire.ts'
import { rerankDialect } from './dialect.ts'

export const rerank: Api = {
  method: 'POST',
  path: '/v1/rerank',
  summary: 'Documents in the order of their relevance to a query, through a route.',
  wire: openAiWire,
  run: (visit) => handle(visit, rerankDialect),
}

export const rerankV2: Api = {
  ...rerank,
  path: '/v2/rerank',
  summary: "The same, under Cohere's second path.",
}
