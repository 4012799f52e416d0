/** Log probabilities in OpenAI's form. */
import { type Json, listOf, recordOf, textOf } from '../../../json/values.ts'

/** The member of a choice or a delta; empty if the answer has none. */
export function logprobsIn({ logprobsResult }: Json): { readonly logprobs?: unknown } {
  const result = recordOf(logprobsResult)
  const chosen = listOf(result.chosenCandidates)
  if (chosen.length === 0) return {}
  const top = listOf(result.topCandidates)
  const content = chosen.map((token, index) => ({
    ...tokenOf(token),
    top_logprobs: listOf(recordOf(top[index]).candidates).map(tokenOf),
  }))
  return { logprobs: { content, refusal: null } }
}

function tokenOf(candidate: unknown): Json {
  const { token, logProbability } = recordOf(candidate)
  const logprob = typeof logProbability === 'number' ? logProbability : 0
  return { token: textOf(token) ?? '', logprob, bytes: null }
}
