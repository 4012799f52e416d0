/** The searches in a trace, and the passages that they found. */
import { z } from 'zod'

export const Passages = {
  retrieval: z
    .array(
      z.looseObject({
        name: z.string(),
        store: z.string(),
        outcome: z.string(),
        ms: z.number(),
        reason: z.string().nullish(),
      }),
    )
    .nullish(),
  passages: z
    .array(
      z.looseObject({
        store: z.string(),
        id: z.string(),
        score: z.number(),
        source: z.string().nullish(),
        tokens: z.number(),
        kept: z.boolean(),
        reason: z.string().nullish(),
      }),
    )
    .nullish(),
}

type Retrieved = z.output<z.ZodObject<typeof Passages>>

interface Branch {
  readonly text: string
  readonly below?: readonly Branch[]
}

export function searchesOf({ retrieval, passages }: Retrieved): Branch[] {
  const searches = (retrieval ?? []).map(({ name, store, outcome, ms, reason }) => {
    const why = reason ? `: ${reason}` : ''
    return { text: `retrieval ${name} in ${store}: ${outcome} in ${Math.round(ms)} ms${why}` }
  })
  const all = passages ?? []
  if (all.length === 0) return searches
  const kept = all.filter((one) => one.kept)
  const tokens = kept.reduce((sum, one) => sum + one.tokens, 0)
  const text = `passages: ${kept.length} of ${all.length}, ${tokens} tokens`
  const below = all.map(({ store, id, score, source, tokens: own, kept: isKept, reason }) => {
    const from = source ? ` (${source})` : ''
    const fate = isKept ? '' : `, left out by ${reason ?? 'the gateway'}`
    return { text: `${store} ${id}${from}: score ${score.toFixed(3)}, ${own} tokens${fate}` }
  })
  return [...searches, { text, below }]
}
