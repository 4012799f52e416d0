/** Log probabilities as OpenAI's typed clients expect them: each token with its `bytes`, known or not. */
import { isRecord, listOf } from './json-values.ts'

export function withBytes(logprobs: unknown): unknown {
  if (!isRecord(logprobs) || !Array.isArray(logprobs.content)) return logprobs
  return { ...logprobs, content: logprobs.content.map(withTokenBytes) }
}

function withTokenBytes(token: unknown): unknown {
  if (!isRecord(token)) return token
  const top = listOf(token.top_logprobs)
  return { bytes: null, ...token, ...(top.length > 0 && { top_logprobs: top.map(withTokenBytes) }) }
}
