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
    .describe(
      'Model that embeds questions; it must be the model that made the vectors in the store.',
    ),
  tenant_field: text()
    .optional()
    .describe('Payload field that must equal the tenant; `a.b` is the member b of a.'),
  shared: z
    .boolean()
    .default(false)
    .describe('Every tenant may read the whole collection; replaces tenant_field.'),
  vector_field: text().optional().describe('Named vector or column; needed if there are several.'),
  timeout_ms: count(60_000)
    .default(2000)
    .describe('Deadline in milliseconds, once for the embedding and once for the search.'),
})

const OverflowStrategy = z.enum(['truncate_lowest_score'])

export const Retrieval = z.strictObject({
  name: name().describe('Unique; routes refer to it.'),
  store: name()
    .optional()
    .describe('Vector store. Default: the store with the same name, else the only store.'),
  top_k: count(1000).default(5).describe('Number of passages to look up.'),
  max_context_tokens: count(10_000_000)
    .optional()
    .describe('Most tokens that the passages may use.'),
  overflow_strategy: OverflowStrategy.default('truncate_lowest_score').describe(
    'Which passages to drop if they do not fit.',
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
    .describe('Tokens of the context window that are kept free for the answer.'),
  overflow_strategy: OverflowStrategy.default('truncate_lowest_score').describe(
    'How to shorten a context that does not fit.',
  ),
})

export const Guardrail = z.strictObject({
  name: name().describe('Unique; routes refer to it.'),
  endpoint: url().describe('Base URL of the sidecar.'),
  protocol: z.enum(['webhook', 'litellm']).default('webhook').describe('Protocol of the sidecar.'),
  stage: z
    .enum(['input', 'output', 'both'])
    .default('input')
    .describe('Whether the guardrail judges requests, answers or both.'),
  timeout_ms: count(600_000).default(1000).describe('Deadline in milliseconds.'),
  on_error: z
    .enum(['allow', 'block'])
    .default('block')
    .describe('Decision if the sidecar does not answer.'),
  parallel: z
    .boolean()
    .default(false)
    .describe(
      'Judge a request while the upstream answers; the client gets nothing before the verdict.',
    ),
  redact: z
    .boolean()
    .default(false)
    .describe('Whether the text that the sidecar changed replaces the original.'),
  headers: headers().optional().describe('Headers sent to the sidecar.'),
})
