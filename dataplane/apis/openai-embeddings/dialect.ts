/** Writes OpenAI's embeddings from the inner form, for upstreams with another wire. */

import { toBase64 } from '../../json/vectors.ts'
import type { Dialect } from '../../wire/dialect.ts'
import type { EmbeddingsAnswer, EmbeddingsRequest, Sent, Usage } from '../../wire/inner-form.ts'
import { embeddingsReading, OPENAI_EMBEDDINGS } from './reading.ts'

export const openAiEmbeddingsDialect: Dialect<'embeddings'> = {
  wire: OPENAI_EMBEDDINGS,
  operation: 'embeddings',
  reading: embeddingsReading,
  writeAnswer,
}

function writeAnswer(
  { model, vectors }: EmbeddingsAnswer,
  usage: Usage | undefined,
  { format, inputTokens }: Sent<EmbeddingsRequest>,
): object {
  const written = format === 'base64' ? toBase64 : Array.from<number>
  // Clients read the usage without a check.
  const tokens = usage?.promptTokens ?? inputTokens.sum
  return {
    object: 'list',
    data: vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: written(vector),
    })),
    model,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  }
}
