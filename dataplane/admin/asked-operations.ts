/** The APIs that a question about a request may name. */

/** Responses and messages are conversations. */
export const OPERATIONS = [
  'chat',
  'responses',
  'messages',
  'completions',
  'embeddings',
  'rerank',
  'transcription',
] as const
export type AskedOperation = (typeof OPERATIONS)[number]
