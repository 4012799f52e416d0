/** The order of documents as Cohere and Jina write it: each of their clients finds its own members. */

import type { Dialect } from '../../wire/dialect.ts'
import type { RerankAnswer, RerankRequest, Sent, Usage } from '../../wire/inner-form.ts'
import { RERANK, rerankReading } from './reading.ts'

export const rerankDialect: Dialect<'rerank'> = {
  wire: RERANK,
  operation: 'rerank',
  reading: rerankReading,
  writeAnswer,
}

function writeAnswer(
  { id, model, ranking, searchUnits }: RerankAnswer,
  usage: Usage | undefined,
  { shown, inputTokens }: Sent<RerankRequest>,
): object {
  // Clients read the usage without asking whether it is there.
  const tokens = usage?.promptTokens ?? inputTokens.sum
  return {
    id,
    model,
    results: ranking.map(({ index, score }) => ({
      index,
      relevance_score: score,
      ...(shown && { document: { text: shown[index] } }),
    })),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
    ...(searchUnits !== undefined && { meta: { billed_units: { search_units: searchUnits } } }),
  }
}
