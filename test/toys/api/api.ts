/** A toy that proves the contract of APIs: POST /v1/places, read into the inner form and written out of it. */

import { openAiWire } from '../../../dataplane/apis/openai/wire.ts'
import { invalid } from '../../../dataplane/body/request.ts'
import type { Api } from '../../../dataplane/request/api.ts'
import { handle } from '../../../dataplane/request/pipeline.ts'
import { inputTokens } from '../../../dataplane/tokens/count.ts'
import type { Dialect } from '../../../dataplane/wire/dialect.ts'
import type { EmbeddingsBody, EmbeddingsRequest } from '../../../dataplane/wire/inner-form.ts'
import type { BodyFacts, Reading } from '../../../dataplane/wire/reading.ts'

const reading: Reading<EmbeddingsRequest> = {
  members: new Set(['input', 'model']),
  request(tree, { bytes, found, spans, createdSeconds, sparse }: BodyFacts) {
    // The next line checks what is read of it.
    const body = tree as EmbeddingsBody
    if (typeof body.input !== 'string' && !Array.isArray(body.input)) {
      throw invalid('"input" must be a text or a list of texts.', 'input')
    }
    return {
      operation: 'embeddings',
      wire: 'toy-embeddings',
      bytes,
      body,
      found,
      spans,
      stream: false,
      maxTokens: undefined,
      choices: 1,
      items: [body.input].flat().length,
      dimensions: undefined,
      format: 'float',
      inputTokens: inputTokens(body.input, sparse),
      promptTokensMax: bytes.length,
      createdSeconds,
      sparse,
    }
  },
}

const dialect: Dialect<'embeddings'> = {
  wire: 'toy-embeddings',
  operation: 'embeddings',
  reading,
  writeAnswer: ({ model, vectors }, usage) => ({
    object: 'list',
    model,
    data: vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })),
    usage: { prompt_tokens: usage?.promptTokens, total_tokens: usage?.promptTokens },
  }),
}

export const toy: Api = {
  method: 'POST',
  path: '/v1/places',
  summary: 'A toy.',
  wire: openAiWire,
  run: (visit) => handle(visit, dialect),
}
