/** `gw vector test`: asks the gateway to search a vector store for passages. */
import { z } from 'zod'
import type { Place } from '../asking/place.ts'
import type { Format } from '../printing/formats.ts'
import { printLine } from '../printing/output.ts'
import { tryOut } from './trial.ts'

export const VectorTrial = z.looseObject({
  name: z.string(),
  provider: z.string(),
  collection: z.string(),
  tenant: z.string().optional(),
  query: z.string(),
  ok: z.boolean(),
  ms: z.number(),
  passages: z
    .array(
      z.looseObject({
        id: z.string(),
        score: z.number(),
        source: z.string().optional(),
        text: z.string(),
      }),
    )
    .default([]),
  without_text: z.number().default(0),
  failure: z.string().optional(),
})
type VectorAnswer = z.output<typeof VectorTrial>

const TIMEOUT_MS = 150_000

export interface VectorTest {
  readonly store: string
  readonly query: string | undefined
  readonly tenant: string | undefined
  readonly output: Format
}

export async function testVectorStore({ store, query, tenant, output }: VectorTest, place: Place) {
  const body = JSON.stringify({ query, tenant })
  const trial = {
    path: `/vector-stores/test?store=${encodeURIComponent(store)}`,
    asking: { method: 'POST', body, timeoutMs: TIMEOUT_MS } as const,
    output,
    read: (answered: unknown) => VectorTrial.parse(answered),
    isGood: ({ ok }: VectorAnswer) => ok,
    namesOf: ({ passages }: VectorAnswer) => passages.map(({ id }) => id),
    print: (answer: VectorAnswer) => linesOf(answer, tenant).forEach(printLine),
  }
  await tryOut(trial, place)
}

function linesOf(answer: VectorAnswer, asked: string | undefined): string[] {
  const { name, provider, collection, tenant, ok, ms, passages, without_text, failure } = answer
  const whose = tenant === undefined ? 'for every tenant' : `as tenant ${tenant}`
  const found = ok ? passagesIn(passages.length) : 'no answer'
  const head = `${name} (${provider}, ${collection}): ${found} in ${Math.round(ms)} ms, asked ${whose}`
  if (failure !== undefined) return [head, `  ${failure}`]
  const lines = passages.map(({ id, score, source, text }) => {
    const from = source === undefined ? '' : `, ${source}`
    return `  ${score.toFixed(3)}  ${id}${from}: ${text.replace(/\s+/g, ' ')}`
  })
  if (without_text > 0) lines.push(`  ${without_text} without a text; see text_field`)
  if (passages.length === 0 && tenant !== undefined && asked === undefined)
    lines.push('  name a tenant that has passages with --tenant')
  return [head, ...lines]
}

function passagesIn(count: number): string {
  return count === 1 ? '1 passage' : `${count} passages`
}
