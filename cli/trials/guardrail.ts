/** `gw guardrail test`: asks the gateway what a guardrail says of a text. */
import { z } from 'zod'
import { withGateways } from '../asking/asked-gateways.ts'
import type { Place } from '../asking/place.ts'
import { EXIT, type Format, printLine, printRemark, printValue } from '../printing/output.ts'

const Answer = z.looseObject({
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
type Answer = z.output<typeof Answer>

const Refusal = z.object({ error: z.object({ message: z.string() }) })
const TIMEOUT_MS = 600_000

export interface GuardrailTest {
  readonly policy: string
  readonly input: string
  readonly side: string | undefined
  readonly output: Format
}

export async function testGuardrail({ policy, input, side, output }: GuardrailTest, place: Place) {
  const { status, body, gateway } = await withGateways(place, async ([first]) => {
    const text = JSON.stringify({ input, ...(side && { side }) })
    const asking = { method: 'POST', body: text, timeoutMs: TIMEOUT_MS } as const
    const path = `/guardrails/test?policy=${encodeURIComponent(policy)}`
    return { gateway: first.name, ...(await first.ask(path, asking)) }
  })
  if (status === 404) {
    process.exitCode = EXIT.no
    return printRemark(`error: ${Refusal.parse(body).error.message}`)
  }
  if (status !== 200) throw new Error(`The gateway at ${gateway} answered with ${status}.`)
  const answer = Answer.parse(body)
  if (!answer.ok) process.exitCode = EXIT.no
  if (output !== 'table') return await printValue(body, output)
  for (const line of linesOf(answer)) printLine(line)
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
}: Answer): string[] {
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
