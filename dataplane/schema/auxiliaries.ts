/** Vector stores, retrieval, context assembly and guardrails: services beside the model. */
import { z } from 'zod'
import { count, headers, name, text, url } from './fields.ts'

export const VectorStore = z.strictObject({
  name: name().describe('Unique; retrieval sections refer to it.'),
  provider: z.enum(['qdrant', 'pgvector', 'chroma']).describe('Software at the endpoint.'),
  endpoint: text().describe('Base URL or connection string.'),
  collection: text().describe('Collection or table.'),
  api_key: text().optional().describe('Credential as a reference; never a literal.'),
  embedding: z
    .strictObject({
      upstream: name().describe('Upstream that embeds the query.'),
      model: text().optional().describe("Embedding model. Default: the upstream's."),
    })
    .optional()
    .describe('The model that made the vectors of the store, for those of questions.'),
  tenant_field: text()
    .optional()
    .describe('Payload field that must equal the tenant; `a.b` is the member b of a.'),
  shared: z
    .boolean()
    .default(false)
    .describe('Every tenant may read the whole collection. Stands in place of tenant_field.'),
  vector_field: text()
    .optional()
    .describe('Named vector, or column; needed where there are several.'),
  timeout_ms: count(60_000)
    .default(2000)
    .describe('Deadline of the embedding and of the search, each, in milliseconds.'),
})

const OverflowStrategy = z.enum(['truncate_lowest_score'])

export const Retrieval = z.strictObject({
  name: name().describe('Unique; routes refer to it.'),
  store: name()
    .optional()
    .describe('Vector store; absent: the one of the same name, else the only one.'),
  top_k: count(1000).default(5).describe('Passages asked for.'),
  max_context_tokens: count(10_000_000).optional().describe('Tokens that passages may take.'),
  overflow_strategy: OverflowStrategy.default('truncate_lowest_score').describe(
    'Which passages go if they do not fit.',
  ),
  text_field: text()
    .optional()
    .describe(
      'Payload field with the passage. Default: the first of text, content, page_content, document.',
    ),
  on_error: z
    .enum(['fail', 'skip'])
    .default('fail')
    .describe('fail: 503; skip: answer without passages.'),
})

export const Context = z.strictObject({
  reserve_completion_tokens: z
    .int()
    .min(0)
    .max(10_000_000)
    .optional()
    .describe('Taken from the window before assembling context.'),
  overflow_strategy: OverflowStrategy.default('truncate_lowest_score').describe(
    'Which part goes if the context does not fit.',
  ),
})

export const Guardrail = z.strictObject({
  name: name().describe('Unique; routes refer to it.'),
  endpoint: url().describe('Base URL of the sidecar.'),
  protocol: z.enum(['webhook', 'litellm']).default('webhook').describe('Protocol of the sidecar.'),
  stage: z.enum(['input', 'output', 'both']).default('input').describe('Side that it judges.'),
  timeout_ms: count(600_000).default(1000).describe('Deadline in milliseconds.'),
  on_error: z.enum(['allow', 'block']).default('block').describe('Decision if it does not answer.'),
  parallel: z
    .boolean()
    .default(false)
    .describe('Judge requests while an upstream is asked; nothing is sent before the verdict.'),
  redact: z.boolean().default(false).describe('Whether its changed text replaces the original.'),
  headers: headers().optional().describe('Headers sent to the sidecar.'),
})
