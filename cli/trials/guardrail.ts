/** `gw guardrail test`: asks the gateway for a guardrail's verdict on a text. */
import { z } from 'zod'
import type { Place } from '../asking/place.ts'
import type { Format } from '../printing/formats.ts'
import { printLine } from '../printing/output.ts'
import { tryOut } from './trial.ts'

export const GuardrailTrial = z.looseObject({
  name: z.string(),
  side: z.string(),
  ok: z.boolean(),
  ms: z.number(),
  redact: z.boolean(),
  on_error: z.string(),
  verdict: z.string().optional(),
  text: z.string().optional(),
  reason: z.string().optional(),
  failure: z.string().optional(),
})
type GuardrailAnswer = z.output<typeof GuardrailTrial>

const TIMEOUT_MS = 600_000

export interface GuardrailTest {
  readonly policy: string
  readonly input: string
  readonly side: string | undefined
  readonly output: Format
}

export async function testGuardrail({ policy, input, side, output }: GuardrailTest, place: Place) {
  const body = JSON.stringify({ input, ...(side && { side }) })
  const trial = {
    path: `/guardrails/test?policy=${encodeURIComponent(policy)}`,
    asking: { method: 'POST', body, timeoutMs: TIMEOUT_MS } as const,
    output,
    read: (answered: unknown) => GuardrailTrial.parse(answered),
    isGood: ({ ok }: GuardrailAnswer) => ok,
    namesOf: ({ name }: GuardrailAnswer) => [name],
    print: (answer: GuardrailAnswer) => linesOf(answer).forEach(printLine),
  }
  await tryOut(trial, place)
}

function linesOf({
  name,
  side,
  ms,
  verdict,
  text,
  reason,
  failure,
  redact,
  on_error,
}: GuardrailAnswer): string[] {
  const head = `${name} (${side}): ${verdict ?? 'no verdict'} in ${Math.round(ms)} ms`
  if (failure !== undefined) {
    const then =
      on_error === 'allow' ? 'requests pass all the same' : 'requests are refused with 503'
    return [head, `  ${failure}; on_error is ${on_error}, so ${then}`]
  }
  if (verdict === 'mask')
    return [head, `  ${text}`, ...(redact ? [] : ['  redact is false, so such a text is blocked'])]
  return reason === undefined ? [head] : [head, `  ${reason}`]
}
