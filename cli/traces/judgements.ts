/** The judgements and waits in a trace: prompt difficulty, guardrails, and upstreams that were down. */
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

export const Waits = {
  waits: z
    .array(
      z.looseObject({
        upstream: z.string(),
        for: z.string().nullish(),
        started_ms: z.number(),
        ended_ms: z.number(),
        outcome: z.string(),
      }),
    )
    .nullish(),
}

type Waited = z.output<z.ZodObject<typeof Waits>>

export function waitsOf({ waits }: Waited): { readonly text: string }[] {
  return (waits ?? []).map(({ upstream, for: what, started_ms, ended_ms, outcome }) => {
    const seconds = ((ended_ms - started_ms) / 1000).toFixed(2)
    const awaited = what ? `a ${what} at ${upstream}` : upstream
    return { text: `waited for ${awaited}: ${outcome.replace('_', ' ')} after ${seconds} s` }
  })
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
