/** Writes a ranking in the form of Cohere and Jina, so that clients of both find their members. */

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
  // Clients read the usage without a check.
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
