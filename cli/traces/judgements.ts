/** The judgements of a request in its trace: how hard its prompt was, and the verdicts of guardrails. */
import { z } from 'zod'

export const Judgements = {
  semantic: z
    .looseObject({
      classifier: z.string(),
      score: z.number(),
      side: z.string(),
      reason: z.string().nullish(),
    })
    .nullish(),
  guardrails: z
    .array(
      z.looseObject({
        name: z.string(),
        side: z.string(),
        verdict: z.string(),
        ms: z.number(),
        reason: z.string().nullish(),
      }),
    )
    .nullish(),
}

type Judged = z.output<z.ZodObject<typeof Judgements>>

export function judgementsOf({ semantic, guardrails }: Judged): { readonly text: string }[] {
  const texts = (guardrails ?? []).map(({ name, side, verdict, ms, reason }) =>
    withReason(`guardrail ${name} (${side}): ${verdict} in ${Math.round(ms)} ms`, reason),
  )
  if (semantic) {
    const { classifier, score, side, reason } = semantic
    texts.push(withReason(`prompt: ${side}, score ${score.toFixed(3)} (${classifier})`, reason))
  }
  return texts.map((text) => ({ text }))
}

function withReason(text: string, reason: string | null | undefined): string {
  return reason ? `${text}: ${reason}` : text
}
